"""When the windows of a cron expression are, on the clock of a time zone.

cronsim tells which times of a wall clock an expression means; which moments those are is told here,
by the rules of Debian's cron, which most people know without knowing them:

- An expression with a plain minute and hour means one moment for each of its times. A time that
  does not exist, since clocks are set forward over it, is the moment of that change; one that comes
  twice is the first of the two.
- One whose minute or hour begins with `*` follows the passing of time: a time that does not exist
  is left out, one that comes twice is meant twice.

A window lasts its duration in seconds that pass. Windows that touch or overlap are one. Moments are
epoch seconds; everything is worked out and kept by UTC days, so that a call costs a look-up.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_DAY: Final = 86_400

LOOK_SECONDS: Final = 8 * _DAY
"""How far beyond a day the end of touching windows is looked for; a week's pattern fits in."""

_LATEST: Final = 100_000_000_000
"""No moment later than this (year 5138) is asked about: `datetime` ends in the year 9999."""

_NEVER: Final = timedelta(days=50 * 366)
"""What does not come in this time never comes; a Monday on 29 February comes after 40 years at the
latest."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """When windows begin and how long they last.

    Attributes:
        cron: Five fields.
        zone: Name of an IANA time zone.
        seconds: Length of a window, more than 0.
    """

    cron: str
    zone: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Touching windows as one; a bound is `None` when it lies farther away than was looked."""

    start: float | None
    end: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """A rhythm at one moment: the span that is open, and the one that opens next."""

    current: Span | None
    following: Span | None


@lru_cache(maxsize=4096)
def trouble(cron: str, zone: str) -> str | None:
    """Return why the windows cannot be told, in words that name the way out; `None` if they can."""
    if time_zone(zone) is None:
        return (
            f"timeZone is {zone!r}, which the IANA database does not have: use a name such as "
            "Europe/Berlin"
        )
    try:
        CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return f"cron is {cron!r}: {error}; use times that exist, and ranges that run forwards"
    return None


@lru_cache(maxsize=1024)
def time_zone(name: str) -> ZoneInfo | None:
    """Return a time zone, `None` when there is none of that name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: a folder of the database, such as Europe
        return None


def at(rhythm: Rhythm, now: float) -> Now:
    """Return the span that is open at a moment and the one that opens after it.

    Args:
        rhythm: One that `trouble` says nothing about.
        now: Epoch seconds.

    Raises:
        ValueError: When `now` is not finite, before 1970 or thousands of years ahead.
    """
    if not (math.isfinite(now) and 0 <= now < _LATEST):
        raise ValueError(f"now must be epoch seconds from 0 to {_LATEST}, not {now}")
    current = _containing(rhythm, now)
    if current is not None and current.end is None:
        return Now(current=current, following=None)
    closed_at = now if current is None or current.end is None else current.end
    begin = _next_start(rhythm, closed_at)
    following = _containing(rhythm, begin) if begin is not None and begin < _LATEST else None
    return Now(current=current, following=following)


def spans_from(rhythm: Rhythm, now: float, until: float) -> Iterator[Span]:
    """Yield the spans that are open at `now` or open before `until`, in order."""
    seen = at(rhythm, now)
    if seen.current is not None:
        yield seen.current
    span = seen.following
    while span is not None and span.start is not None and span.start < until:
        yield span
        if span.end is None:
            return
        span = at(rhythm, span.start).following


def _containing(rhythm: Rhythm, moment: float) -> Span | None:
    spans = _spans(rhythm, int(moment // _DAY))
    found = bisect_right(spans, moment, key=_start)
    if found == 0:
        return None
    span = spans[found - 1]
    return span if span.end is None or moment < span.end else None


def _start(span: Span) -> float:
    return -math.inf if span.start is None else span.start


@lru_cache(maxsize=16_384)
def _spans(rhythm: Rhythm, day: int) -> tuple[Span, ...]:
    """Return the spans that touch a UTC day, in order."""
    low, high = float(day * _DAY), float((day + 1) * _DAY)
    before = _last_start(rhythm, low)
    starts = [*([] if before is None else [before]), *_starts(rhythm.cron, rhythm.zone, day)[0]]
    spans: list[Span] = []
    for start in starts:
        if spans and (spans[-1].end is None or start <= spans[-1].end):
            continue
        end = _end_of(rhythm, start, high + LOOK_SECONDS)
        spans.append(Span(start=start, end=end))
    if before is not None:
        spans[0] = Span(start=_start_of(rhythm, before, low - LOOK_SECONDS), end=spans[0].end)
    return tuple(span for span in spans if span.end is None or span.end > low)


def _end_of(rhythm: Rhythm, start: float, latest: float) -> float | None:
    """Return where the windows that touch one another from `start` on end."""
    end = start + rhythm.seconds
    while end <= latest:
        onward = _latest_start(rhythm, end)
        if onward is None or onward + rhythm.seconds <= end:
            return end
        end = onward + rhythm.seconds
    return None


def _start_of(rhythm: Rhythm, start: float, earliest: float) -> float | None:
    """Return where the windows that touch one another up to `start` begin."""
    while start >= earliest:
        back = _earliest_start(rhythm, start - rhythm.seconds)
        if back >= start:
            return start
        start = back
    return None


def _last_start(rhythm: Rhythm, low: float) -> float | None:
    """Return the last begin before `low` of a window that reaches it."""
    for day in range(int(low // _DAY) - 1, int((low - rhythm.seconds) // _DAY) - 1, -1):
        starts, _ = _starts(rhythm.cron, rhythm.zone, day)
        if starts:
            return starts[-1] if starts[-1] + rhythm.seconds >= low else None
    return None


def _latest_start(rhythm: Rhythm, moment: float) -> float | None:
    """Return the last begin up to `moment`; `None` when a window's length holds none."""
    for day in range(int(moment // _DAY), int((moment - rhythm.seconds) // _DAY) - 1, -1):
        starts, _ = _starts(rhythm.cron, rhythm.zone, day)
        found = bisect_right(starts, moment)
        if found:
            return starts[found - 1]
    return None


def _earliest_start(rhythm: Rhythm, moment: float) -> float:
    """Return the first begin from `moment` on, of those that are known to come."""
    starts, beyond = _starts(rhythm.cron, rhythm.zone, int(moment // _DAY))
    found = bisect_left(starts, moment)
    if found < len(starts):
        return starts[found]
    return math.inf if beyond is None else beyond


def _next_start(rhythm: Rhythm, moment: float) -> float | None:
    """Return the first begin after `moment`, `None` when there is none any more."""
    starts, beyond = _starts(rhythm.cron, rhythm.zone, int(moment // _DAY))
    found = bisect_right(starts, moment)
    return starts[found] if found < len(starts) else beyond


@lru_cache(maxsize=2048)
def _starts(cron: str, zone: str, day: int) -> tuple[tuple[float, ...], float | None]:
    """Return the begins in a UTC day, and the first one after it."""
    low, high = float(day * _DAY), float((day + 1) * _DAY)
    clock = ZoneInfo(zone)
    plain = not any(field.startswith("*") for field in cron.split()[:2])
    offsets = _offsets(clock, day)
    first = _EPOCH + timedelta(days=day) + min(offsets)
    steady_before = first + timedelta(days=2) if len(offsets) == 1 else first
    inside: set[float] = set()
    beyond: list[float] = []
    for wall in CronSim(cron, first - timedelta(seconds=1)):
        if wall < steady_before:  # what `_moments` finds too, at a tenth of the time
            moments: tuple[float, ...] = ((wall - min(offsets)).timestamp(),)
        else:
            moments = _moments(wall, clock, plain=plain)
        inside.update(moment for moment in moments if low <= moment < high)
        beyond.extend(moment for moment in moments if moment >= high)
        if (moments and moments[0] >= high) or wall - first > _NEVER:
            break
    return tuple(sorted(inside)), min(beyond, default=None)


def _offsets(clock: ZoneInfo, day: int) -> set[timedelta]:
    """Return how far the clock is ahead of UTC from the day before a UTC day to the day after."""
    begin = _EPOCH + timedelta(days=day)
    around = (begin + timedelta(days=apart) for apart in (-1, 0, 1, 2, 3))
    return {moment.astimezone(clock).utcoffset() or timedelta() for moment in around}


def _moments(wall: datetime, clock: ZoneInfo, *, plain: bool) -> tuple[float, ...]:
    """Return the moments that a time of the wall stands for, in order."""
    shown = wall.replace(tzinfo=None)
    first, second = (shown.replace(tzinfo=clock, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first.astimezone(clock).replace(tzinfo=None) != shown:
        return (_clock_change(second, first, clock),) if plain else ()
    if plain or first == second:
        return (first.timestamp(),)
    return (first.timestamp(), second.timestamp())


def _clock_change(before: datetime, after: datetime, clock: ZoneInfo) -> float:
    """Return the moment between two at which the clock is set."""
    shown = before.astimezone(clock).utcoffset()
    low, high = int(before.timestamp()), int(after.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        same = datetime.fromtimestamp(middle, clock).utcoffset() == shown
        low, high = (middle, high) if same else (low, middle)
    return float(high)
