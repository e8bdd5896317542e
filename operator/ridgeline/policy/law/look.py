"""One look at the fleet: the signals of this tick, smoothed into memory, or too little to see."""

import math
from dataclasses import dataclass, replace

from ridgeline.policy.law.demand import observed_demand, recent_high, smooth, with_high
from ridgeline.policy.law.inputs import SHARE_FOR_BUSIER, LawInputs, known
from ridgeline.policy.law.memory import FastMemory, LawMemory, Slot
from ridgeline.policy.law.peak import SLOT_SECONDS, with_slot
from ridgeline.policy.law.saturation import is_saturated
from ridgeline.policy.law.settings import LawSettings

_DRAINING = 0.97
"""Below this share of what is served, demand lets a queue shrink; nearer to it noise would tell."""

_STEADY = 0.1
_STEADY_MINUTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is seen now.

    Attributes:
        demand: Smoothed demand D, tokens per second of the fleet.
        high: Highest smoothed demand of the last five minutes.
        concurrency: Smoothed concurrency B per engine.
        steady: Whether demand has been about the same for minutes.
        served: Smoothed output, tokens per second of the fleet.
        saturated: Whether servers are full.
        draining: Whether more is served than asked for: a queue is being worked off.
        complete: Whether every replica is seen.
        engines: Engines that serve now.
        mean_output: Mean answer in tokens; `None` when not known.
        seconds: Time since the look before that counts as seen; 0 after a gap.
    """

    demand: float
    high: float
    concurrency: float
    steady: bool
    served: float
    saturated: bool
    draining: bool
    complete: bool
    engines: float
    mean_output: float | None
    seconds: float


def look(
    inputs: LawInputs, settings: LawSettings, memory: LawMemory, now: float
) -> tuple[Look | None, LawMemory]:
    """Return what is seen and the memory of it; `None` and memory as it was when blind."""
    generated, concurrency = known(inputs.generated_tokens_per_second), known(inputs.concurrency)
    usable = inputs.seen_share >= SHARE_FOR_BUSIER and inputs.engines > 0 and inputs.replicas > 0
    if generated is None or concurrency is None or not usable:
        return None, memory
    fast = memory.fast
    since = now - fast.seen_at if fast.seen_at is not None else math.inf
    if not 0.0 <= since <= settings.gap_seconds:
        fast, since = FastMemory(asked=fast.asked), 0.0
    share, waiting = min(1.0, inputs.seen_share), _waiting(inputs)
    sample = observed_demand(
        generated=generated / share,
        waiting_before=fast.waiting if share == fast.share else None,
        waiting_now=waiting,
        mean_output=known(inputs.mean_output_tokens),
        seconds=since,
    )
    demand = smooth(fast.demand, sample, since, settings.window_seconds)
    fast = replace(
        fast,
        seen_at=now,
        share=share,
        waiting=waiting,
        demand=demand,
        served=smooth(fast.served, generated / share, since, settings.window_seconds),
        concurrency=smooth(fast.concurrency, concurrency, since, settings.window_seconds),
        highs=with_high(fast.highs, max(0.0, demand), now, settings.high_slot_seconds),
    )
    per_engine = sample / _engines_when_whole(inputs)
    memory = _with_time(replace(memory, fast=fast), per_engine, since, now)
    return _seen(inputs, settings, fast, sample, since), memory


def _seen(
    inputs: LawInputs, settings: LawSettings, fast: FastMemory, sample: float, since: float
) -> Look:
    demand, served = fast.demand or 0.0, fast.served or 0.0
    return Look(
        demand=max(0.0, demand),
        high=recent_high(fast.highs),
        concurrency=fast.concurrency or 0.0,
        steady=_steady(fast.highs, demand, sample),
        served=served,
        saturated=is_saturated(inputs, settings),
        draining=demand < _DRAINING * served,
        complete=inputs.complete,
        engines=float(inputs.engines),
        mean_output=known(inputs.mean_output_tokens) or None,
        seconds=since,
    )


def _waiting(inputs: LawInputs) -> float | None:
    waiting = known(inputs.waiting_requests)
    return None if waiting is None else waiting / min(1.0, inputs.seen_share)


def _steady(highs: tuple[tuple[int, float], ...], demand: float, sample: float) -> bool:
    """Tell whether the smoothed demand can be taken for the real one."""
    lowest = min(high for _, high in highs)
    near = 1.0 - _STEADY
    return len(highs) >= _STEADY_MINUTES and lowest >= near * demand and near * sample <= demand


def without_timers(fast: FastMemory) -> FastMemory:
    """Return memory in which nothing has lasted yet: what was not watched did not last."""
    return replace(fast, busier_since=None, quieter_since=None, saturated_since=None)


def _engines_when_whole(inputs: LawInputs) -> float:
    """Return the engines that serve when no roll is under way: a roll is no peak."""
    if not inputs.roll.rolling:
        return float(inputs.engines)
    whole = max(inputs.strategy.replicas, inputs.replicas)
    return inputs.engines * whole / inputs.replicas


def _with_time(memory: LawMemory, per_engine: float, seconds: float, now: float) -> LawMemory:
    """Return memory with the time since the look before in the five-minute slots of the peak."""
    index = math.floor(now / SLOT_SECONDS)
    slot, slow = memory.fast.slot, memory.slow
    if slot is None or slot.index != index:
        if slot is not None and 2 * slot.seconds >= SLOT_SECONDS:
            mean = max(0.0, slot.tokens / slot.seconds)
            slow = replace(slow, peak=with_slot(slow.peak, slot.index, mean))
        slot = Slot(index=index)
    slot = Slot(
        index=index, seconds=slot.seconds + seconds, tokens=slot.tokens + per_engine * seconds
    )
    return LawMemory(slow=slow, fast=replace(memory.fast, slot=slot))
