"""Memory brought up to now: times of a wrong clock, and a profile that has changed since."""

from dataclasses import replace

from ridgeline.policy.law.experience import with_ratchet, with_start, with_turn
from ridgeline.policy.law.inputs import LawInputs
from ridgeline.policy.law.look import Look
from ridgeline.policy.law.memory import LawMemory, SlowMemory, Turn
from ridgeline.policy.law.settings import LawSettings


def mended(memory: LawMemory, settings: LawSettings, now: float) -> LawMemory:
    """Return memory without slow times from a clock that ran ahead; fast ones a gap forgets."""
    slow = memory.slow
    latest = now + settings.detector_seconds
    until, turn = slow.locked_until, slow.turn
    wrong_lock = until is not None and not until <= latest
    wrong_turn = turn is not None and not turn.at <= now
    if not (wrong_lock or wrong_turn):
        return memory
    return replace(
        memory,
        slow=replace(
            slow,
            locked_until=latest if wrong_lock else until,
            turn=replace(turn, at=now) if turn is not None and wrong_turn else turn,
        ),
    )


def with_profile_seen(
    memory: LawMemory,
    inputs: LawInputs,
    seen: Look | None,
    settings: LawSettings,
    now: float,
    *,
    restarted: bool,
) -> LawMemory:
    """Return memory that has noticed a change of the running profile, and what it teaches.

    A change that the law asked for is remembered with the load that led to it; after a restart,
    with the load that is seen. Somebody else's change, or a schedule's, says nothing about it.
    """
    slow, asked = with_start(memory.slow, inputs), memory.fast.asked
    before = slow.running
    if before == inputs.running:
        return memory if slow is memory.slow else replace(memory, slow=slow)
    slow = replace(slow, running=inputs.running)
    if before is None:
        return replace(memory, slow=slow)
    load = None
    if asked is not None and asked.profile == inputs.running:
        load = (asked.demand, asked.concurrency)
        if asked.off_demand is not None:
            slow = _ratcheted(slow, before, inputs, asked.demand, asked.off_demand, settings, now)
    elif restarted and seen is not None and inputs.schedule.profile != inputs.running:
        load = (seen.demand / seen.engines, seen.concurrency)
    if load is None:
        slow = replace(slow, turn=None)
    else:
        turn = Turn(
            at=now,
            from_profile=before,
            to_profile=inputs.running,
            demand=load[0],
            concurrency=load[1],
        )
        slow = with_turn(slow, turn, inputs, settings)
    return LawMemory(slow=slow, fast=replace(memory.fast, asked=None))


def _ratcheted(
    slow: SlowMemory,
    before: str,
    inputs: LawInputs,
    demand: float,
    off_demand: float,
    settings: LawSettings,
    now: float,
) -> SlowMemory:
    row = inputs.row_of(before)
    if row is None or row + 1 >= len(inputs.curves):
        return slow
    return with_ratchet(
        slow,
        quieter=before,
        busier=inputs.curves[row + 1].profile,
        demand=demand,
        off_demand=off_demand,
        now=now,
        settings=settings,
    )
