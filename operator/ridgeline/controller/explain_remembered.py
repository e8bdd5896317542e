"""What a serving's pass remembers, as facts: without it no one can tell why it waits."""

from collections.abc import Iterator

from ridgeline.controller.explain_fact import Fact
from ridgeline.controller.view import View
from ridgeline.policy.lifecycle import DAY_SECONDS, daily_budget
from ridgeline.policy.memory import Memory
from ridgeline.policy.wording import number
from ridgeline.terms.times import timestamp


def remembered(view: View, memory: Memory) -> tuple[Fact, ...]:
    """Return what counts of a memory; ages are those of the pass.

    Args:
        view: What the pass knew.
        memory: What it left to be remembered.
    """
    return (*_fast(view, memory), *_law(view, memory), *_slow(view, memory))


def _fast(view: View, memory: Memory) -> Iterator[Fact]:
    crossing, calm = memory.fast.crossing, memory.fast.calm_since
    if crossing is not None:
        times = view.settings.stabilization
        dwells = (
            f"{number(times.busier_seconds)} s busier, {number(times.quieter_seconds)} s quieter"
        )
        yield Fact(
            what=f"dwelling towards {crossing.towards}",
            value=f"beyond the border without a break; dwells: {dwells}",
            age_seconds=_age(view, crossing.since),
        )
    if calm is not None:
        yield Fact(
            what="calm enough to compare anew", value="since then", age_seconds=_age(view, calm)
        )


def _law(view: View, memory: Memory) -> Iterator[Fact]:
    if view.settings.prediction is None:
        return
    fast, slow = memory.law.fast, memory.law.slow
    for name, value, unit in (
        ("demand, smoothed", fast.demand, "tokens/s"),
        ("output, smoothed", fast.served, "tokens/s"),
        ("concurrency, smoothed", fast.concurrency, "requests per engine"),
        ("regret so far", fast.regret or None, "request-seconds"),
    ):
        if value is not None:
            yield Fact(what=name, value=f"{number(value)} {unit}")
    for name, since in (
        ("busier wished", fast.busier_since),
        ("quieter wished", fast.quieter_since),
        ("servers saturated", fast.saturated_since),
    ):
        if since is not None:
            yield Fact(what=name, value="without a break since", age_seconds=_age(view, since))
    turn, locked = slow.turn, slow.locked_until
    if turn is not None:
        told = f"{turn.from_profile} to {turn.to_profile} at {number(turn.concurrency)} requests"
        yield Fact(what="last move", value=told, age_seconds=_age(view, turn.at))
    if locked is not None and locked > view.now:
        yield Fact(what="switching on is locked", value=f"until {timestamp(locked)}")


def _slow(view: View, memory: Memory) -> Iterator[Fact]:
    switches = memory.slow.switches
    used = sum(1 for each in switches if view.now - each.started_at < DAY_SECONDS)
    told = f"{used} of {daily_budget(view.settings)} in the last 24 hours"
    yield Fact(what="switches", value=told)
    for each in memory.slow.quarantine:
        yield Fact(
            what=f"{each.profile} is left alone",
            value=f"until {timestamp(each.until)}: {each.reason.value}: {each.message}",
            age_seconds=_age(view, each.since),
        )
    for proof in memory.slow.proofs:
        yield Fact(
            what=f"proof of {proof.profile}",
            value=proof.result.value,
            age_seconds=_age(view, proof.at),
        )


def _age(view: View, at: float) -> float:
    return max(0.0, view.now - at)
