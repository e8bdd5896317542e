"""What happens to memory between decisions: a switch ends or is given up, time passes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ridgeline.policy.memory import Crossing, FastMemory, Memory, SlowMemory, Switch
from ridgeline.policy.settings import PolicySettings

DAY_SECONDS: Final = 86_400.0

HISTORY_LENGTH: Final = 10
"""Switches that are remembered; a daily budget beyond it could not be counted."""

CLOCK_TOLERANCE_SECONDS: Final = 300.0
"""How far ahead of now a remembered time may lie before it is taken for a wrong clock's.

Kubernetes itself tolerates no such drift (Leases run for seconds), so minutes are a fault.
"""


def finish_switch(memory: Memory, now: float) -> Memory:
    """Return memory in which the last unfinished switch ended at `now`; cooldown starts there."""
    return _edit_last_unfinished(
        memory, lambda switch: (replace(switch, finished_at=max(now, switch.started_at)),)
    )


def abandon_switch(memory: Memory, now: float) -> Memory:
    """Return memory without the last unfinished switch, as if it had never been decided.

    Its place in the daily budget is free again, and the dwell starts anew from `now` on.
    """
    trimmed = _edit_last_unfinished(memory, lambda _: ())
    if trimmed is memory:
        return memory
    return replace(trimmed, fast=FastMemory(crossing=_restarted(memory.fast.crossing, now)))


def _edit_last_unfinished(memory: Memory, edit: Callable[[Switch], tuple[Switch, ...]]) -> Memory:
    switches = memory.slow.switches
    for index in reversed(range(len(switches))):
        if switches[index].finished_at is None:
            edited = switches[:index] + edit(switches[index]) + switches[index + 1 :]
            return replace(memory, slow=replace(memory.slow, switches=edited))
    return memory


def remember_switch(memory: Memory, switch: Switch) -> Memory:
    """Return memory with a new switch, at most ten in all, and no crossing under way."""
    switches = (*memory.slow.switches, switch)[-HISTORY_LENGTH:]
    return replace(memory, slow=replace(memory.slow, switches=switches), fast=FastMemory())


def unfinished_switch(memory: Memory) -> Switch | None:
    """Return the newest switch whose roll has not ended."""
    return next((each for each in reversed(memory.slow.switches) if each.finished_at is None), None)


def last_finish(memory: Memory) -> float | None:
    """Return when the last roll ended, in epoch seconds; `None` when none is remembered."""
    ends = [each.finished_at for each in memory.slow.switches if each.finished_at is not None]
    return max(ends, default=None)


def learned_roll_seconds(slow: SlowMemory) -> float | None:
    """Return how long the longest of the remembered rolls took; `None` while none has ended."""
    lasted = [
        each.finished_at - each.started_at for each in slow.switches if each.finished_at is not None
    ]
    return max(lasted, default=None)


def daily_budget(settings: PolicySettings) -> int:
    """Return the switches allowed in 24 hours: as asked, at most what the history can count."""
    return min(settings.max_switches_per_day, HISTORY_LENGTH)


def switches_left(memory: Memory, settings: PolicySettings, now: float) -> int:
    """Return how many switches the 24 hours before `now` leave; a switch counts from its start."""
    used = sum(1 for each in memory.slow.switches if now - each.started_at < DAY_SECONDS)
    return max(0, daily_budget(settings) - used)


def budget_wait(memory: Memory, settings: PolicySettings, now: float, needed: int) -> float | None:
    """Return the seconds until `needed` switches are left; `None` when they never will be."""
    if needed > daily_budget(settings):
        return None
    missing = needed - switches_left(memory, settings, now)
    if missing <= 0:
        return 0.0
    running_out = sorted(
        each.started_at + DAY_SECONDS - now
        for each in memory.slow.switches
        if now - each.started_at < DAY_SECONDS
    )
    # Of those beyond the budget (it may have been lowered), as many more must run out first.
    beyond = max(0, len(running_out) - daily_budget(settings))
    return running_out[beyond + missing - 1]


def cooldown_left(memory: Memory, settings: PolicySettings, now: float) -> float:
    """Return the seconds in which nothing may be switched on yet; 0 when there are none.

    While a roll runs its cooldown has not begun, so all of it is left.
    """
    if unfinished_switch(memory) is not None:
        return settings.cooldown_seconds
    ended = last_finish(memory)
    if ended is None:
        return 0.0
    return max(0.0, settings.cooldown_seconds - max(0.0, now - ended))


def mend_times(memory: Memory, now: float) -> Memory:
    """Return memory without times from a clock that was wrong.

    A time further ahead of `now` than the tolerance becomes `now`: what waits for it starts again,
    and does not wait for ever. Smaller steps back are left alone, so that a clock that jitters
    never shortens a wait.
    """
    latest = now + CLOCK_TOLERANCE_SECONDS
    crossing = memory.fast.crossing
    wrong_crossing = crossing is not None and not crossing.since <= latest
    calm_since = memory.fast.calm_since
    wrong_calm = calm_since is not None and not calm_since <= latest
    wrong_switches = any(
        not each.started_at <= latest
        or (each.finished_at is not None and not each.finished_at <= latest)
        for each in memory.slow.switches
    )
    if not (wrong_crossing or wrong_calm or wrong_switches):
        return memory
    switches = tuple(_mended(each, now, latest) for each in memory.slow.switches)
    return replace(
        memory,
        slow=replace(memory.slow, switches=switches),
        fast=FastMemory(
            crossing=_restarted(crossing, now) if wrong_crossing else crossing,
            calm_since=now if wrong_calm else calm_since,
        ),
    )


def _mended(switch: Switch, now: float, latest: float) -> Switch:
    started = switch.started_at if switch.started_at <= latest else now
    finished = switch.finished_at
    if finished is not None and not finished <= latest:
        finished = now
    return replace(switch, started_at=started, finished_at=finished)


def _restarted(crossing: Crossing | None, now: float) -> Crossing | None:
    return None if crossing is None else replace(crossing, since=now)
