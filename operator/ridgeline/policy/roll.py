"""The record of a roll, and how it moves on from what is seen of the target.

A roll is announced in status before the one write that begins it (`Intended`), so that a successor
of a killed process can tell what was meant. What the operator decides about it later (the canary
has passed; what was there before is put back) is announced in the same way before it is written.
All else is moved on by what is seen:

    Intended ── template carries the profile ──▶ Rolling ── nothing under way ──▶ Finished
       │                       │                  ▲   │
       │                       └──▶ Canary ──pass─┘   │ new Pods fail, or too late
       │                               │ fail         ▼
       │                               └────────▶ Undoing ── nothing under way ──▶ Restored
       │
       └── target changed, or too long ago ──▶ Abandoned

and from Canary, Rolling and Finished to Undone, when somebody else takes the profile out.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.engine.fingerprint import fingerprint
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.lifecycle import CLOCK_TOLERANCE_SECONDS
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState, RollWay

INTENT_VALID_SECONDS: Final = 300.0
"""An announced roll that was not begun within this time is not begun any more: the load that
called for it has been forgotten with the process that saw it."""

UNDONE_TOO_OFTEN: Final = 2
"""Taken out so often by another writer, the profile is not written again: no fighting."""

UNDONE_FORGOTTEN_SECONDS: Final = 24 * 3600.0
"""What was taken out longer ago is another story than what is taken out now."""

_PEOPLE: Final = "kubectl"
"""Field managers of people's own commands begin so (kubectl-edit, kubectl-rollout, …)."""

_APPLIES: Final = frozenset({"kubectl", "kubectl-client-side-apply"})
"""Field managers of `kubectl apply`, which writes an argument list as it stands in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What our fields held before a roll, whoever had put it there.

    Attributes:
        label: Profile that the template's label named; `None` without one.
        config: The speculative config.
    """

    label: str | None
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """The last roll of a target.

    Attributes:
        from_profile: Profile before; `None` when no profile described it.
        to_profile: Profile after.
        started_at: Epoch seconds when it was announced.
        finished_at: Epoch seconds when it ended, in whichever way.
        state: Where it stands.
        stage_at: Epoch seconds since when it stands there.
        target_uid: Identity of the target.
        target_generation: Generation of the target: the one decided about, and from the write on
            the one that our last write made.
        serving_generation: Generation of the serving that asked for it; of an undone roll, the
            last one before its profile was taken out.
        way: How it is made.
        before: What to put back; `None` when our fields are given up instead.
        template: Fingerprint of the target's Pod template without what is ours.
        config: Fingerprint of the profile's config.
        why: What the operator made of it: the verdict on the canary, or why it is undone.
        held_back: Whether the target was seen paused for its canary.
        promised_percent: How much less time per token was predicted for the load when it was
            decided; `None` without a prediction.
        undone_times: How often in a row others took a profile out of the target.
        undone_by: Field manager that did so last.
    """

    from_profile: str | None
    to_profile: str
    started_at: float
    finished_at: float | None = None
    state: RollState
    stage_at: float = 0.0
    target_uid: str
    target_generation: int
    serving_generation: int
    way: RollWay = RollWay.WHOLE
    before: Before | None = None
    template: str = ""
    config: str = ""
    why: Problem | None = None
    held_back: bool = False
    promised_percent: int | None = None
    undone_times: int = 0
    undone_by: str = ""

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.state in _OPEN

    @property
    def compares(self) -> bool:
        """Whether it measures a Pod without speculation beside the active profile (a trial)."""
        return self.way is RollWay.TRIAL and self.config == _NO_SPECULATION

    @property
    def wanted(self) -> str | None:
        """Profile that the fleet is to run when it has ended."""
        taken_back = self.way is RollWay.TRIAL and self.state is not RollState.ROLLING
        return (
            self.from_profile if taken_back or self.state is RollState.UNDOING else self.to_profile
        )

    @property
    def doing(self) -> Problem:
        """What is being done while it is open, for conditions."""
        what = "trial" if self.way is RollWay.TRIAL else "canary"
        match self.state:
            case RollState.CANARY:
                message = f"the {what} of {self.to_profile} is judged"
                return Problem(reason=Reason.CANARY_UNDER_WAY, message=message)
            case RollState.UNDOING:
                why = f": {self.why.message}" if self.why is not None else ""
                message = f"{self.to_profile} is taken back{why}"
                return Problem(reason=Reason.UNDOING, message=message)
        return Problem(reason=Reason.ROLLOUT_UNDER_WAY, message=f"rolling to {self.to_profile}")


_NO_SPECULATION: Final = fingerprint("")
"""Fingerprint of the config of the profile without speculation."""

_OPEN: Final = frozenset(
    {RollState.INTENDED, RollState.CANARY, RollState.ROLLING, RollState.UNDOING}
)


def begun(roll: Roll, target_generation: int, now: float) -> Roll:
    """Return the roll after the write that began it."""
    state = RollState.ROLLING if roll.way is RollWay.WHOLE else RollState.CANARY
    return replace(roll, state=state, stage_at=now, target_generation=target_generation)


def promoted(roll: Roll, why: Problem, now: float) -> Roll:
    """Return a canary's roll when the rest is to follow."""
    return replace(roll, state=RollState.ROLLING, stage_at=now, why=why)


def undoing(roll: Roll, why: Problem, now: float) -> Roll:
    """Return the roll when what was there before is to be put back."""
    return replace(roll, state=RollState.UNDOING, stage_at=now, finished_at=None, why=why)


def abandoned(roll: Roll, now: float) -> Roll:
    """Return the roll after it was given up before it began."""
    return _ended(roll, RollState.ABANDONED, now)


def _ended(roll: Roll, state: RollState, now: float) -> Roll:
    return replace(roll, state=state, stage_at=now, finished_at=now)


def carries(roll: Roll, target: TargetFacts) -> bool:
    """Tell whether the template has what the roll wrote."""
    return target.active_profile == roll.to_profile


def holds(roll: Roll, target: TargetFacts) -> bool:
    """Tell whether what a roll wrote is still to be taken out of the template.

    Where our fields were given up, the profile may be there all the same: as the default of the
    target's own manifest, which is nobody's to undo.
    """
    given_up = roll.before is None and not target.has_item
    return carries(roll, target) and not given_up


def fleet_runs_old(roll: Roll, target: TargetFacts) -> bool:
    """Tell whether the fleet still runs what it ran before the roll, whatever the template has."""
    if roll.target_uid != target.uid:
        return False
    return roll.state is RollState.UNDOING or (
        roll.state is RollState.CANARY and carries(roll, target)
    )


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
        return abandoned(roll, now) if roll.open else roll
    if seen_is_older(roll, target):
        return roll
    if roll.open:
        if roll.stage_at > now + CLOCK_TOLERANCE_SECONDS:
            # Its deadlines would not pass until a clock that was wrong comes true.
            roll = replace(roll, stage_at=now)
        if roll.state is RollState.CANARY and target.paused_by_us:
            roll = replace(roll, held_back=True)
        return _moved_on_while_open(roll, target, now)
    if roll.state is RollState.FINISHED and not carries(roll, target):
        # It ended when it ended; only who runs the target now is another.
        return replace(_undone(roll, target), finished_at=roll.finished_at)
    if roll.state is RollState.UNDONE and carries(roll, target):
        return replace(roll, state=RollState.FINISHED)
    return roll


def _moved_on_while_open(roll: Roll, target: TargetFacts, now: float) -> Roll:
    there, settled = carries(roll, target), target.rollout is None
    match roll.state:
        case RollState.INTENDED if there:
            return moved_on(begun(roll, target.generation, now), target, now)
        case RollState.INTENDED if not must_begin(roll, target, now):
            return abandoned(roll, now)
        case RollState.CANARY | RollState.ROLLING if not there:
            return replace(_undone(roll, target), stage_at=now, finished_at=now)
        case RollState.ROLLING if settled:
            return _ended(roll, RollState.FINISHED, now)
        case RollState.CANARY if settled and roll.way is RollWay.CANARY:
            # The rest followed before the canary could be held back: there is no other replica
            # left to compare it with.
            return _ended(roll, RollState.FINISHED, now)
        case RollState.UNDOING if settled and not holds(roll, target):
            return _ended(roll, RollState.RESTORED, now)
    return roll


def _undone(roll: Roll, target: TargetFacts) -> Roll:
    return replace(
        roll,
        state=RollState.UNDONE,
        undone_times=roll.undone_times + 1,
        # A write from before the roll took nothing of it out; who did left no trace then.
        undone_by=target.last_writer
        if target.last_writer_at >= math.floor(roll.started_at)
        else "",
    )


def undone_by_others(roll: Roll | None, target: TargetFacts, serving_generation: int) -> bool:
    """Tell whether somebody took our profile out of the target and means it.

    A person's command means it the first time, and so may whoever left no trace (taking fields out
    leaves none). A controller or a pipeline that shows itself may not have known of us: it means it
    when it does so again after the profile was decided for anew. Editing the serving's spec after
    the roll hands the target back: then the person knows of us.
    """
    if roll is None or roll.state is not RollState.UNDONE or roll.target_uid != target.uid:
        return False
    person = not roll.undone_by or roll.undone_by.startswith(_PEOPLE)
    if target.in_args and roll.undone_by in _APPLIES and roll.template != target.template:
        # Something else of the template was changed from a file, and the list went along.
        person = False
    means_it = person or roll.undone_times >= UNDONE_TOO_OFTEN
    return means_it and serving_generation <= roll.serving_generation


def undone_before(roll: Roll | None, target_uid: str, serving_generation: int, now: float) -> int:
    """Return how often in a row others took a profile out, to be counted on by the next roll."""
    if (
        roll is None
        or roll.target_uid != target_uid
        or serving_generation > roll.serving_generation
    ):
        return 0
    return roll.undone_times if now - roll.started_at < UNDONE_FORGOTTEN_SECONDS else 0
