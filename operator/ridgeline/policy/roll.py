"""The record of a roll, and how it moves on from what is seen of the target.

A roll is announced in status before the one write that begins it (`Intended`), so that a successor
of a killed process can tell what was meant. From then on only what is seen moves it:

    Intended ── template carries the profile ──▶ Rolling ── nothing under way ──▶ Finished
       │                                            │
       └── target changed, or too long ago          └── template carries another profile
                        ▼                                              ▼
                    Abandoned                                       Undone
"""

from dataclasses import dataclass, replace
from typing import Final

from ridgeline.policy.facts import TargetFacts
from ridgeline.terms.rolls import RollState

INTENT_VALID_SECONDS: Final = 300.0
"""An announced roll that was not begun within this time is not begun any more: the load that
called for it has been forgotten with the process that saw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """The last roll of a target.

    Attributes:
        from_profile: Profile before; `None` when no profile described it.
        to_profile: Profile after.
        started_at: Epoch seconds when it was announced.
        finished_at: Epoch seconds when it ended, in whichever way.
        state: Where it is.
        target_uid: Identity of the target.
        target_generation: Generation of the target before the write (Intended) or after it.
        serving_generation: Generation of the serving that asked for it.
    """

    from_profile: str | None
    to_profile: str
    started_at: float
    finished_at: float | None = None
    state: RollState
    target_uid: str
    target_generation: int
    serving_generation: int

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.state in (RollState.INTENDED, RollState.ROLLING)


def begun(roll: Roll, target_generation: int) -> Roll:
    """Return the roll after the write that began it."""
    return replace(roll, state=RollState.ROLLING, target_generation=target_generation)


def abandoned(roll: Roll, now: float) -> Roll:
    """Return the roll after it was given up before it began."""
    return replace(roll, state=RollState.ABANDONED, finished_at=now)


def seen_is_older(roll: Roll | None, target: TargetFacts) -> bool:
    """Tell whether a sight of the target is older than our own last write to it."""
    return (
        roll is not None
        and roll.state is not RollState.INTENDED
        and roll.target_uid == target.uid
        and target.generation < roll.target_generation
    )


def must_begin(roll: Roll, target: TargetFacts, now: float) -> bool:
    """Tell whether an announced roll is still to be begun: nothing has changed since."""
    return (
        roll.state is RollState.INTENDED
        and roll.target_uid == target.uid
        and roll.target_generation == target.generation
        and target.active_profile != roll.to_profile
        and now - roll.started_at <= INTENT_VALID_SECONDS
    )


def moved_on(roll: Roll, target: TargetFacts, now: float) -> Roll:
    """Return the roll as the target shows it now."""
    if roll.target_uid != target.uid:
        return replace(roll, state=RollState.ABANDONED, finished_at=now) if roll.open else roll
    if seen_is_older(roll, target):
        return roll
    carries = target.active_profile == roll.to_profile
    match roll.state:
        case RollState.INTENDED if carries:
            return moved_on(begun(roll, target.generation), target, now)
        case RollState.INTENDED if not must_begin(roll, target, now):
            return abandoned(roll, now)
        case RollState.ROLLING if not carries:
            return replace(roll, state=RollState.UNDONE, finished_at=now)
        case RollState.ROLLING if target.rollout is None:
            return replace(roll, state=RollState.FINISHED, finished_at=now)
        case RollState.FINISHED if not carries:
            return replace(roll, state=RollState.UNDONE)
        case RollState.UNDONE if carries:
            return replace(roll, state=RollState.FINISHED)
    return roll


def undone_by_others(roll: Roll | None, target: TargetFacts, serving_generation: int) -> bool:
    """Tell whether somebody took our profile out of the target and has not handed it back.

    Editing the serving's spec after the roll hands it back: then the person knows of us.
    """
    return (
        roll is not None
        and roll.state is RollState.UNDONE
        and roll.target_uid == target.uid
        and serving_generation <= roll.serving_generation
    )
