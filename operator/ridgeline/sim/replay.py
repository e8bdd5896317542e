"""Pure: decide again what was recorded, with the code and the settings of today.

What the world did stays as it was recorded: facts, and the switches that really happened. What the
policy remembers of its own (dwells, smoothed signals) it remembers anew from one tick to the next,
so that another law or other settings are judged by what they would have remembered. A replay does
not follow where other decisions would have led: `simulate` does.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import TargetFacts
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.telemetry.record import RecordedTick

Asked = PolicySettings | Callable[[RecordedTick], PolicySettings]
"""What is asked instead of what the record says: the same for all ticks, or by tick."""

_TOLD_BY_TARGET: Final = frozenset({"target", "replicas.profile"})


def replay(ticks: Iterable[RecordedTick], settings: Asked | None = None) -> list[Decision]:
    """Return what is decided now for each tick, in their order.

    With the settings of the record and the policy that wrote it, these are the recorded decisions,
    as long as no restart lies between: a restart forgets dwells, a replay does not.

    Args:
        ticks: As recorded, of one serving or several.
        settings: Decide everything by these instead of those of the record.

    Raises:
        ValueError: A tick has no settings (it is of the past) and none are given.
    """
    memories: dict[tuple[str, str], Memory] = {}
    decisions = []
    for tick in ticks:
        key = (tick.namespace, tick.serving)
        asked = settings_of(tick, settings)
        memory = _with_what_happened(memories.get(key), tick.memory)
        decision = decide(tick.facts, asked, memory, tick.at)
        decisions.append(decision)
        # A switch that had to wait for others was not begun, and its dwell went on.
        waited = tick.overruled is not None and decision.outcome is Outcome.SWITCH
        memories[key] = memory if waited else decision.memory
    return decisions


def settings_of(tick: RecordedTick, asked: Asked | None) -> PolicySettings:
    """Return what a tick is decided by.

    Raises:
        ValueError: It has no settings (it is of the past) and none are asked.
    """
    found = asked(tick) if callable(asked) else asked or tick.settings
    if found is None:
        raise ValueError(
            f"{tick.namespace}/{tick.serving} was recorded from the past, which knows no "
            "settings: give them"
        )
    return found


def _with_what_happened(carried: Memory | None, recorded: Memory | None) -> Memory:
    """Memory of the tick before, with the switches that are known to have happened since."""
    if carried is None:
        return recorded or Memory()
    if recorded is None:
        return carried
    return replace(carried, slow=replace(carried.slow, switches=recorded.slow.switches))


def with_target(ticks: Iterable[RecordedTick], target: TargetFacts) -> Iterator[RecordedTick]:
    """Return the ticks with a target in place of one that the past could not tell.

    A record of the past knows no target, and without one nothing is decided. Replicas that it had
    are taken for Ready, on the target's profile.
    """
    for tick in ticks:
        if "target" in tick.unknown:
            replicas = tuple(
                replace(each, profile=target.active_profile) for each in tick.facts.replicas
            )
            facts = replace(tick.facts, target=target, replicas=replicas)
            left = tuple(each for each in tick.unknown if each not in _TOLD_BY_TARGET)
            yield replace(tick, facts=facts, unknown=left)
        else:
            yield tick
