"""The week's peak: the demand per engine below which 99.5 % of its five-minute slots stay.

What is kept: for today, the eleven highest slots (11 slots are 0.5 % of a week, so no more of any
day can matter); for each of the seven days before, the 1st, 4th and 11th of them; and how many
slots each day was seen. Ranks between are filled in evenly. A day is 86,400 s of epoch time.
Demand is kept per engine, so the peak outlives a scaling, and not relative to the cut-off, so it
outlives a new prediction.

Slots that nobody saw are missing from the count, and raise no percentile and lower none.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

SLOT_SECONDS = 300
DAY_SECONDS = 86_400
TOP = 11
DAYS_BEFORE = 7
SLOTS_OF_A_WEEK = DAYS_BEFORE * DAY_SECONDS // SLOT_SECONDS

PERCENTILE = 0.995

_KEPT_RANKS = (0, 3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakDay:
    """One day.

    Attributes:
        day: Epoch day.
        slots: Slots seen.
        highest: Highest slots, tokens per second and engine, falling: the first eleven of the
            newest day; the 1st, 4th and 11th of a day before (fewer where fewer were seen).
    """

    day: int
    slots: int
    highest: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakSketch:
    """The days seen, oldest first, at most eight, and the first day that was ever seen."""

    days: tuple[PeakDay, ...] = ()
    first_day: int | None = None


def with_slot(sketch: PeakSketch, slot: int, demand: float) -> PeakSketch:
    """Return the sketch after one more slot; one that is older than the newest day is left out.

    Args:
        sketch: The sketch.
        slot: Epoch seconds ÷ 300, rounded down.
        demand: Mean demand in it, tokens per second and engine.
    """
    if not (math.isfinite(demand) and demand >= 0):
        return sketch
    day = slot * SLOT_SECONDS // DAY_SECONDS
    newest = sketch.days[-1] if sketch.days else None
    if newest is not None and day < newest.day:
        return sketch
    value = _rounded(demand)
    if newest is not None and day == newest.day:
        highest = tuple(sorted((*newest.highest, value), reverse=True)[:TOP])
        days = (*sketch.days[:-1], PeakDay(day=day, slots=newest.slots + 1, highest=highest))
    else:
        closed = (_closed(newest),) if newest is not None else ()
        days = (*sketch.days[:-1], *closed, PeakDay(day=day, slots=1, highest=(value,)))
    return PeakSketch(
        days=tuple(each for each in days if each.day >= day - DAYS_BEFORE),
        first_day=day if sketch.first_day is None else min(sketch.first_day, day),
    )


def from_history(slots: Iterable[tuple[int, float]]) -> PeakSketch:
    """Return the sketch of a history of (slot, demand per engine), in any order."""
    sketch = PeakSketch()
    for slot, demand in sorted(slots):
        sketch = with_slot(sketch, slot, demand)
    return sketch


def merged(one: PeakSketch, other: PeakSketch) -> PeakSketch:
    """Return both sketches as one: of each day the account that saw more of it.

    So a history may be merged in again and again without counting a slot twice.
    """
    best: dict[int, PeakDay] = {}
    for each in (*one.days, *other.days):
        known = best.get(each.day)
        if known is None or (each.slots, each.highest) > (known.slots, known.highest):
            best[each.day] = each
    newest = max(best, default=0)
    days = [
        each if day == newest else _closed(each)
        for day, each in sorted(best.items())
        if day >= newest - DAYS_BEFORE
    ]
    firsts = [each for each in (one.first_day, other.first_day) if each is not None]
    return PeakSketch(days=tuple(days), first_day=min(firsts, default=None))


def peak(sketch: PeakSketch, now: float) -> float | None:
    """Return the week's peak demand per engine; `None` until a week was seen, half of it at least.

    Args:
        sketch: The sketch.
        now: Epoch seconds.
    """
    today = math.floor(now / DAY_SECONDS)
    days = [each for each in sketch.days if today - DAYS_BEFORE <= each.day <= today]
    count = sum(each.slots for each in days)
    if sketch.first_day is None or today - sketch.first_day < DAYS_BEFORE:
        return None
    if 2 * count < SLOTS_OF_A_WEEK:
        return None
    highest = sorted((value for each in days for value in _filled(each)), reverse=True)
    rank = min(int((1.0 - PERCENTILE) * count), len(highest) - 1)
    return highest[rank]


def _closed(day: PeakDay) -> PeakDay:
    if len(day.highest) <= len(_KEPT_RANKS):
        return day
    kept = sorted({min(rank, len(day.highest) - 1) for rank in _KEPT_RANKS})
    return PeakDay(day=day.day, slots=day.slots, highest=tuple(day.highest[rank] for rank in kept))


def _filled(day: PeakDay) -> tuple[float, ...]:
    """Return the eleven highest slots of a day, as well as they are known."""
    if len(day.highest) != len(_KEPT_RANKS) or day.slots <= len(_KEPT_RANKS):
        return day.highest
    last = min(_KEPT_RANKS[-1], day.slots - 1)
    ranks = (*_KEPT_RANKS[:-1], last)
    values = [day.highest[0]]
    for (low, high), (above, below) in zip(pairwise(ranks), pairwise(day.highest), strict=True):
        steps = high - low
        values += [above + (below - above) * step / steps for step in range(1, steps + 1)]
    return tuple(values)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
