"""The windows of a serving's schedules at a moment, and what is wrong with the schedules."""

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import combinations, islice
from typing import Final

from ridgeline.api.schedules import Schedule
from ridgeline.policy.facts import Problem
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.settings import cron
from ridgeline.settings.cron import Rhythm, Span
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction

_DAY: Final = 86_400

OVERLAP_SECONDS: Final = 400 * _DAY
"""How far ahead windows that overlap are looked for: what recurs every year is found."""

OVERLAP_SPANS: Final = 64
"""Most windows of one schedule that are looked at for it: two months of daily ones."""

_PROTECTING: Final = frozenset({ScheduleAction.FREEZE, ScheduleAction.FORBID_SWITCH_ON})


def schedule_state(
    schedules: tuple[Schedule, ...],
    now: float,
    lead_seconds: float,
    profiles: Collection[str] | None = None,
) -> ScheduleState:
    """Return which windows are open, which profile's lead time has begun, and what opens next.

    A schedule that cannot be read (`schedule_findings` tells) is not followed, but where it would
    protect the target (a freeze, no switching on) it counts as open: what was to be kept from
    happening does not happen.

    Args:
        schedules: In the order of a person.
        now: Epoch seconds.
        lead_seconds: How long before its window a profile is wanted.
        profiles: Names of the serving's profiles; windows that name another are left out. `None`
            leaves none out.

    Raises:
        ValueError: When `now` is no moment that a calendar has.
    """
    active: list[Window] = []
    coming: list[Window] = []
    for order, schedule in enumerate(schedules):
        if _names_unknown(schedule, profiles):
            continue
        current, following = _windows(schedule, order, now)
        active += [current] if current is not None else []
        coming += [following] if following is not None else []
    return ScheduleState(
        active=tuple(active),
        leading=next((each for each in coming if _leads(each, now, lead_seconds)), None),
        upcoming=min(coming, key=_opens_at, default=None),
    )


def schedule_findings(
    schedules: tuple[Schedule, ...],
    profiles: Collection[str] | None,
    now: float,
    source: str = "",
) -> tuple[Problem, ...]:
    """Return what no rule of the API server could tell about schedules, in their order.

    An unknown time zone, times that never come, a profile that the serving does not define, and
    two profiles that are wanted at once (the first schedule wins, and more often than not nobody
    meant it).

    Args:
        schedules: In the order of a person.
        profiles: Names of the serving's profiles; `None` when there is no serving (a policy alone).
        now: Epoch seconds.
        source: Who wrote them, such as `policy shared`; empty for the serving itself.
    """
    of = f" of {source}" if source else ""
    single = (
        Problem(
            reason=Reason.SCHEDULE_INVALID,
            message=f"spec.schedules[{order}]{of} ({schedule.name}): {wrong}",
        )
        for order, schedule in enumerate(schedules)
        if (wrong := _wrong(schedule, profiles, now)) is not None
    )
    followed = tuple(each for each in schedules if not _names_unknown(each, profiles))
    pairs = (
        Problem(
            reason=Reason.SCHEDULES_OVERLAP,
            message=f"spec.schedules{of}: {first} and {second} want different profiles at the same "
            f"time, and {first} wins, since it stands first: let their windows not overlap, or "
            "leave the order as it is if it is meant",
        )
        for first, second in _overlaps(followed, int(now // _DAY))
    )
    return (*single, *pairs)


def schedule_of(resolved: ResolvedSpec, now: float, lead_seconds: float) -> ScheduleState | None:
    """Return the windows of a serving at a moment; `None` when it has no schedule.

    Args:
        resolved: Its resolved spec.
        now: Epoch seconds.
        lead_seconds: How long before its window a profile is wanted.
    """
    schedules = resolved.schedules.value
    if not schedules:
        return None
    return schedule_state(schedules, now, lead_seconds, _profiles(resolved))


def findings_of(resolved: ResolvedSpec, now: float) -> tuple[Problem, ...]:
    """Return what is wrong with the schedules of a serving, its policy's included."""
    source = resolved.schedules.source
    return schedule_findings(
        resolved.schedules.value,
        _profiles(resolved),
        now,
        source=str(source) if source.policy else "",
    )


def _profiles(resolved: ResolvedSpec) -> tuple[str, ...]:
    return tuple(profile.name for profile in resolved.own.profiles)


def _names_unknown(schedule: Schedule, profiles: Collection[str] | None) -> bool:
    named = schedule.profile
    return profiles is not None and named is not None and named not in profiles


def _leads(window: Window, now: float, lead_seconds: float) -> bool:
    return window.action is ScheduleAction.PROFILE and _opens_at(window) - lead_seconds <= now


def _opens_at(window: Window) -> float:
    if window.starts_at is None:
        raise AssertionError("a window that is yet to open has a begin")
    return window.starts_at


def _windows(schedule: Schedule, order: int, now: float) -> tuple[Window | None, Window | None]:
    """Return the open and the next window of a schedule."""
    rhythm = _rhythm(schedule)
    (action,) = schedule.actions
    wrong = cron.trouble(rhythm.cron, rhythm.zone)
    if wrong is not None:
        if action not in _PROTECTING:
            return None, None
        remark = f"{wrong}; until then it counts as open"
        return Window(schedule=schedule.name, order=order, action=action, remark=remark), None
    seen = cron.at(rhythm, now)

    def window(span: Span | None) -> Window | None:
        if span is None:
            return None
        return Window(
            schedule=schedule.name,
            order=order,
            action=action,
            profile=schedule.profile,
            starts_at=span.start,
            ends_at=span.end,
            starts=_told(span.start, rhythm.zone, now),
            ends=_told(span.end, rhythm.zone, now),
        )

    return window(seen.current), window(seen.following)


def _rhythm(schedule: Schedule) -> Rhythm:
    return Rhythm(
        cron=schedule.cron, zone=schedule.resolved_time_zone, seconds=schedule.duration_seconds
    )


def _told(moment: float | None, zone: str, now: float) -> str:
    """Return a moment as people of its time zone say it; with the date where it is not near."""
    return "" if moment is None else _on_the_wall(moment, zone, abs(moment - now) <= _DAY)


@lru_cache(maxsize=4096)
def _on_the_wall(moment: float, zone: str, near: bool) -> str:
    local = datetime.fromtimestamp(moment, cron.time_zone(zone))
    return f"{local:{'%H:%M' if near else '%Y-%m-%d %H:%M'}} {zone}"


def _wrong(schedule: Schedule, profiles: Collection[str] | None, now: float) -> str | None:
    rhythm = _rhythm(schedule)
    wrong = cron.trouble(rhythm.cron, rhythm.zone)
    if wrong is not None:
        return wrong
    if _names_unknown(schedule, profiles):
        return (
            f"profile is {schedule.profile!r}, which this serving does not define (it has: "
            f"{', '.join(profiles or ())}), so the schedule is not followed: add the profile, or "
            "correct the schedule"
        )
    seen = cron.at(rhythm, now)
    if seen.current is None and seen.following is None:
        return f"cron is {schedule.cron!r}, which never comes: use a time that exists"
    return None


@lru_cache(maxsize=1024)
def _overlaps(schedules: tuple[Schedule, ...], day: int) -> tuple[tuple[str, str], ...]:
    """Return the names of every two schedules that want different profiles at once."""
    readable = [
        each
        for each in schedules
        if each.profile is not None and cron.trouble(each.cron, each.resolved_time_zone) is None
    ]
    spans = {each.name: _spans_ahead(each, float(day * _DAY)) for each in readable}
    return tuple(
        (first.name, second.name)
        for first, second in combinations(readable, 2)
        if first.profile != second.profile and _meet(spans[first.name], spans[second.name])
    )


def _spans_ahead(schedule: Schedule, now: float) -> tuple[Span, ...]:
    ahead = cron.spans_from(_rhythm(schedule), now, now + OVERLAP_SECONDS)
    return tuple(islice(ahead, OVERLAP_SPANS))


def _meet(one: tuple[Span, ...], other: tuple[Span, ...]) -> bool:
    """Tell whether two rows of spans, each in order, have a moment in common."""
    left, right = _bounds(one), _bounds(other)
    a, b = next(left, None), next(right, None)
    while a is not None and b is not None:
        if a[0] < b[1] and b[0] < a[1]:
            return True
        if a[1] <= b[1]:
            a = next(left, None)
        else:
            b = next(right, None)
    return False


def _bounds(spans: tuple[Span, ...]) -> Iterator[tuple[float, float]]:
    for span in spans:
        start = float("-inf") if span.start is None else span.start
        yield start, float("inf") if span.end is None else span.end
