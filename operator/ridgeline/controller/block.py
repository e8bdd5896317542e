"""A refused write: remembered, shown until it would be taken, and never stormed.

The refusal stands until a dry run passes. One is tried when the serving or the target has changed
(somebody may have let go), and from time to time (rights and quotas are mended elsewhere).
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.controller.view import View
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.terms.conditions import ConditionType
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason

BLOCK_SECONDS: Final = 600.0
"""A refused write is tried again after this time, or at once when serving or target changes."""

_REFUSALS: Final = frozenset(
    {
        Reason.FIELD_CONFLICT.value,
        Reason.WRITE_REFUSED.value,
        Reason.ARGS_NOT_EDITABLE.value,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A refusal that is not asked for again while nothing changes.

    Attributes:
        problem: Why the write was refused.
        profile: The profile that was to be written.
        target_uid: Identity of the target.
        serving_generation: Generation of the serving at the last try.
        target_generation: Generation of the target at the last try.
        until: Epoch seconds of the next try while nothing changes.
    """

    problem: Problem
    profile: str
    target_uid: str
    serving_generation: int
    target_generation: int
    until: float

    def concerns(self, view: View, target: TargetFacts) -> bool:
        """Tell whether the write that was refused is still one that could be asked for."""
        return (
            view.settings.mode is Mode.AUTOMATIC
            and self.target_uid == target.uid
            and view.profile(self.profile) is not None
            and target.active_profile != self.profile
        )

    def due(self, view: View, target: TargetFacts) -> bool:
        """Tell whether it is time for another try."""
        return (
            self.serving_generation != view.serving.generation
            or self.target_generation != target.generation
            or view.now >= self.until
        )


def blocked(view: View, target: TargetFacts, profile: str, problem: Problem) -> Block:
    """Return the block after a try that was refused now."""
    return Block(
        problem=problem,
        profile=profile,
        target_uid=target.uid,
        serving_generation=view.serving.generation,
        target_generation=target.generation,
        until=view.now + BLOCK_SECONDS,
    )


def told_block(view: View, target: TargetFacts) -> Block | None:
    """Return the refusal that the status tells, due for a try; `None` when it tells none.

    A successor begins with it, so that a restart neither forgets a refusal nor tells it anew.
    """
    stalled = next(
        (
            each
            for each in view.serving.status.get("conditions") or ()
            if each.get("type") == ConditionType.STALLED and each.get("reason") in _REFUSALS
        ),
        None,
    )
    wanted = (view.serving.status.get("recommendedProfile"), *(each.name for each in view.profiles))
    profile = next((each for each in wanted if each and each != target.active_profile), None)
    if stalled is None or profile is None:
        return None
    problem = Problem(reason=Reason(stalled["reason"]), message=str(stalled.get("message", "")))
    return Block(
        problem=problem,
        profile=profile,
        target_uid=target.uid,
        serving_generation=view.serving.generation,
        target_generation=target.generation,
        until=view.now,
    )
