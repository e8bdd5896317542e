"""What a move teaches: the ratchet, the detector of oscillation, and how long a start takes.

Ratchet: servers that filled up at a steady demand *below* D_off show that D_off is too high. It is
lowered to just under that demand, by at most 15 % at a time, and D_on to well under it. Demand that
is still growing teaches nothing: the smoothed one is then behind the real one.

Detector: the opposite of the last decision, within six hours and at the same load (demand or
concurrency within 15 %: a fixed number of users keeps its concurrency and changes its demand with
the profile) means that the two profiles disagree about where the border is. Going busier is always
allowed; from then on D_on and B_on lie below that load, and switching on is locked for six hours.

Both are forgotten with a time constant of 45 days: a load that never changes is tried again about
once a week.
"""

import math
from dataclasses import replace

from ridgeline.policy.law.borders import growth_since, taught_at
from ridgeline.policy.law.capacity import batches
from ridgeline.policy.law.inputs import MOST, LawInputs
from ridgeline.policy.law.memory import Learned, SlowMemory, Turn
from ridgeline.policy.law.settings import LawSettings

MOST_BORDERS = 16
"""Borders that something is remembered of; a table has at most as many rows."""

_BELOW_SATURATION = 0.95


def alike(one: float, other: float, settings: LawSettings) -> bool:
    """Tell whether two loads are the same within the detector's tolerance."""
    low, high = sorted((one, other))
    return low >= settings.alike * high


def is_busier(inputs: LawInputs, turn: Turn) -> bool | None:
    """Tell whether a move went towards a busier profile; `None` when a profile is gone."""
    before, after = inputs.row_of(turn.from_profile), inputs.row_of(turn.to_profile)
    return None if before is None or after is None else after > before


def recent_alike(
    slow: SlowMemory, *, demand: float, concurrency: float, now: float, settings: LawSettings
) -> Turn | None:
    """Return the last move, if it was made at the same load within the detector's time."""
    turn = slow.turn
    if turn is None or now - turn.at >= settings.detector_seconds:
        return None
    same = alike(turn.demand, demand, settings) or alike(turn.concurrency, concurrency, settings)
    return turn if same else None


def with_turn(slow: SlowMemory, turn: Turn, inputs: LawInputs, settings: LawSettings) -> SlowMemory:
    """Return memory after a move was seen: the detector looks at it and the one before."""
    before = recent_alike(
        slow,
        demand=turn.demand,
        concurrency=turn.concurrency,
        now=turn.at,
        settings=settings,
    )
    went_busier = is_busier(inputs, turn)
    slow = replace(slow, turn=turn)
    if before is None or went_busier is not True or is_busier(inputs, before) is not False:
        return slow
    return with_lock(slow, turn, inputs, settings, turn.at)


def with_lock(
    slow: SlowMemory, turn: Turn, inputs: LawInputs, settings: LawSettings, now: float
) -> SlowMemory:
    """Return memory in which switching on is locked, and needs a lower load than a move's."""
    rows = sorted(
        row
        for row in (inputs.row_of(turn.from_profile), inputs.row_of(turn.to_profile))
        if row is not None
    )
    if len(rows) < 2:
        return slow
    for row in range(rows[0], rows[1]):
        slow = _taught(
            slow,
            Learned(
                quieter=inputs.curves[row].profile,
                busier=inputs.curves[row + 1].profile,
                at=now,
                on_demand=settings.alike * turn.demand,
                on_concurrency=settings.alike * turn.concurrency,
            ),
            settings,
        )
    return replace(slow, locked_until=now + settings.detector_seconds)


def with_ratchet(
    slow: SlowMemory,
    *,
    quieter: str,
    busier: str,
    demand: float,
    off_demand: float,
    now: float,
    settings: LawSettings,
) -> SlowMemory:
    """Return memory in which D_off lies below a demand that filled the servers.

    Args:
        slow: Memory until now.
        quieter: Profile beneath the border.
        busier: Profile above.
        demand: Demand that filled the servers, tokens per second and engine.
        off_demand: D_off as it was, tokens per second and engine.
        now: Epoch seconds.
        settings: The constants.
    """
    lowered = max(settings.ratchet_step * off_demand, _BELOW_SATURATION * demand)
    if not lowered < off_demand:
        return slow
    lesson = Learned(
        quieter=quieter,
        busier=busier,
        at=now,
        off_demand=lowered,
        on_demand=settings.alike * demand,
    )
    return _taught(slow, lesson, settings)


def _taught(slow: SlowMemory, lesson: Learned, settings: LawSettings) -> SlowMemory:
    """Return memory with a lesson; what it does not speak of stays as far as it is remembered."""
    before = taught_at(slow, lesson.quieter, lesson.busier)
    if before is not None:
        growth = growth_since(before.at, lesson.at, settings)
        lesson = replace(
            lesson,
            off_demand=_least(before.off_demand, growth, lesson.off_demand),
            on_demand=_least(before.on_demand, growth, lesson.on_demand),
            on_concurrency=_least(before.on_concurrency, growth, lesson.on_concurrency),
        )
    others = tuple(each for each in slow.learned if each != before)
    return replace(slow, learned=(*others, lesson)[-MOST_BORDERS:])


def _least(before: float | None, growth: float, lesson: float | None) -> float | None:
    limits = [] if lesson is None else [lesson]
    if before is not None and before * growth < MOST:
        limits.append(before * growth)
    return min(limits, default=None)


def with_start(slow: SlowMemory, inputs: LawInputs) -> SlowMemory:
    """Return memory that has learned from the last roll how long a replica takes to start.

    A roll of n batches lasts n starts; the newest counts as much as all before it.
    """
    began, ended = inputs.roll.started_at, inputs.roll.finished_at
    count = batches(inputs.strategy)
    if inputs.roll.rolling or began is None or ended is None or count == 0:
        return slow
    if slow.roll_seen == began or not 0.0 < ended - began < math.inf:
        return slow
    seconds = (ended - began) / count
    starts = dict(slow.starts)
    before = starts.pop(inputs.running, seconds)
    starts[inputs.running] = 0.5 * (before + seconds)
    return replace(slow, roll_seen=began, starts=tuple(starts.items())[-MOST_BORDERS:])
