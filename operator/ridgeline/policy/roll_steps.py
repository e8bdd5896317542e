"""The next step of a roll that is under way: wait, hold it back, let the rest follow, or undo it.

A canary is the first step that the Deployment controller makes by itself: with maxUnavailable 0 it
makes the surge Pods and waits for them to be available before it takes an old one away. In that
time the operator pauses the Deployment (pausing in the apply that brings the profile would make no
Pod at all). Nothing is lost then but the GPUs of the canary: every old replica still serves.

    the profile is written ─▶ first new Pods exist ─▶ PAUSE ─▶ they serve and are judged
                                                                 │            │
                                                      PROMOTE ◀──┘            └──▶ UNDO

What a person asks for meanwhile goes before every verdict: a forced profile promotes or undoes the
canary, and so does whatever ends the operator's right to finish it (suspend, freeze, another mode,
an edited profile). Pausing is a debt: in no state but Canary does the target stay paused by us.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.roll import Roll, carries, holds
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.wording import duration
from ridgeline.terms.names import FORCE_ANNOTATION
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import OnNoTraffic, RollState, RollWay
from ridgeline.terms.times import timestamp

ROLL_PATIENCE: Final = 2.0
"""A roll may take so many times as long as its starts take, whatever its deadline is: a large fleet
with slow starts must not be rolled to and fro for ever."""


class Step(StrEnum):
    """What is to be done about a roll."""

    WAIT = "Wait"
    PAUSE = "Pause"
    """Hold the rest back."""
    PROMOTE = "Promote"
    """Let the rest follow."""
    UNDO = "Undo"
    """Put back what was there before."""
    GIVE_BACK = "GiveBack"
    """Give `spec.paused` back, and change nothing else."""


class Found(StrEnum):
    """What came out of watching a canary."""

    NOT_YET = "NotYet"
    BETTER = "Better"
    WORSE = "Worse"
    ALIKE = "Alike"
    """It does not differ from the old replicas by more than two starts of one config do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is known of the new Pods.

    Attributes:
        failure: Why they do not start, or keep dying; `None` when nothing says so.
        worse: Why the profile is left after its roll; `None` when nothing speaks against it.
        found: What came out of judging them.
        verdict: The same for a person.
        serving: Whether any of them is Ready.
        paused_seconds: How long somebody else had the rollout paused since it stands there.
        expected_seconds: How long the whole roll takes by what starts took; 0 when not known.
    """

    failure: Problem | None = None
    worse: Problem | None = None
    found: Found = Found.NOT_YET
    verdict: Problem | None = None
    serving: bool = False
    expected_seconds: float = 0.0
    paused_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asks for while a roll is under way.

    Attributes:
        forced: Profile that was ordered, `None` for none.
        withdrawn: Why the operator may not go on, `None` when it may.
        idle: Whether the target may not be touched for the serving's sake at all (suspended or
            frozen).
    """

    forced: str | None = None
    withdrawn: Problem | None = None
    idle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A step and why.

    Attributes:
        step: What is to be done.
        why: Why, for status; of a wait, what is waited for.
        quarantines: Whether the profile is not to be chosen for a while.
    """

    step: Step
    why: Problem
    quarantines: bool = False


def next_step(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    now: float,
) -> NextStep | None:
    """Return the next step of a roll; `None` when nothing is to be done or said."""
    if roll.target_uid != target.uid:
        return None
    match roll.state:
        case RollState.CANARY if carries(roll, target):
            step = _of_canary(roll, target, watched, asked, settings, now)
            # No speculation is never blamed: it must stay free to be switched to.
            return replace(step, quarantines=False) if roll.compares else step
        case RollState.ROLLING:
            return _of_rolling(roll, target, watched, asked, settings, now)
        case RollState.UNDOING:
            return _of_undoing(roll, target)
        case RollState.FINISHED if _may_leave(roll, target, watched, asked):
            return NextStep(step=Step.UNDO, why=watched.worse or roll.doing, quarantines=True)
    if target.paused_by_us:
        return _give_back(roll)
    return None


def _of_canary(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    now: float,
) -> NextStep:
    by_person = _by_person(roll, target, asked)
    if by_person is not None:
        return by_person
    if paused_by_others(target):
        return NextStep(step=Step.WAIT, why=_paused(roll))
    if watched.failure is not None:
        return NextStep(step=Step.UNDO, why=watched.failure, quarantines=True)
    judged = _judged(roll, watched)
    if judged is not None:
        return judged
    if now - roll.stage_at - watched.paused_seconds > settings.canary_deadline_seconds:
        return _too_late(roll, watched, settings)
    rollout = target.rollout
    if rollout is None or (rollout.old == 0 and rollout.updated > 0):
        told = f"the rest followed {roll.to_profile} before it could be held back"
        if roll.way is RollWay.TRIAL:
            return NextStep(step=Step.UNDO, why=_problem(Reason.CANARY_NOT_JUDGED, told))
        return NextStep(step=Step.PROMOTE, why=_problem(Reason.CANARY_NOT_JUDGED, told))
    under_way = _under_way(roll, watched, settings)
    if not rollout.paused and rollout.observed and rollout.updated > 0:
        if roll.held_back:
            return _resumed(roll)
        return NextStep(step=Step.PAUSE, why=under_way)
    return NextStep(step=Step.WAIT, why=under_way)


def _resumed(roll: Roll) -> NextStep:
    """Return what follows from a rollout that somebody resumed: a person's word, as an order is."""
    told = "somebody resumed the rollout (kubectl rollout resume) while its canary was judged"
    step = Step.UNDO if roll.way is RollWay.TRIAL else Step.PROMOTE
    return NextStep(step=step, why=_problem(Reason.CANARY_NOT_JUDGED, told))


def paused_by_others(target: TargetFacts) -> bool:
    """Tell whether somebody else paused the rollout: nothing is done then, and no time runs."""
    return target.rollout is not None and target.rollout.paused and not target.paused_by_us


def _paused(roll: Roll) -> Problem:
    told = (
        f"somebody paused the target's rollout while it was rolled to {roll.to_profile} "
        f"({roll.state.value}): resume it with kubectl rollout resume; until then nothing is done"
    )
    return _problem(Reason.ROLLOUT_PAUSED, told)


def _by_person(roll: Roll, target: TargetFacts, asked: Asked) -> NextStep | None:
    """Return what ends a canary before any verdict: another template, an order, a withdrawal."""
    if target.template != roll.template:
        told = (
            "somebody changed the target's Pod template while its canary was judged: "
            "their change goes on, without the profile"
        )
        return NextStep(step=Step.UNDO, why=_problem(Reason.TEMPLATE_CHANGED, told))
    if asked.forced is not None and not asked.idle:
        told = f"annotation {FORCE_ANNOTATION} orders {asked.forced}"
        promotes = asked.forced == roll.to_profile
        step = Step.PROMOTE if promotes else Step.UNDO
        return NextStep(step=step, why=_problem(Reason.FORCED, told))
    if asked.withdrawn is not None:
        return NextStep(step=Step.UNDO, why=asked.withdrawn)
    return None


def _judged(roll: Roll, watched: Watched) -> NextStep | None:
    """Return what follows from the verdict, `None` while there is none."""
    if watched.verdict is None or watched.found is Found.NOT_YET:
        return None
    if roll.compares:
        return NextStep(step=Step.UNDO, why=_compared(roll, watched.found, watched.verdict))
    if watched.found is Found.WORSE:
        return NextStep(step=Step.UNDO, why=watched.verdict, quarantines=True)
    if roll.way is RollWay.TRIAL:
        told = f"{roll.to_profile} was measured: {watched.verdict.message}"
        return NextStep(step=Step.UNDO, why=_problem(Reason.TRIAL_ENDED, told))
    # No worse than the old ones by more than two starts differ: the prediction stands.
    return NextStep(step=Step.PROMOTE, why=watched.verdict)


def _compared(roll: Roll, found: Found, verdict: Problem) -> Problem:
    """Return what a Pod without speculation tells of the profile of the replicas beside it.

    Other answers speak against the profile: without speculation the model's own are given.
    """
    profile, other = roll.from_profile or "the active profile", roll.to_profile
    told = f"a Pod on {other} was measured beside {profile}: {verdict.message}"
    if found is Found.BETTER or verdict.reason is Reason.ANSWERS_DIFFER:
        return _problem(Reason.WORSE_THAN_NONE, f"{told}; {profile} is left")
    return _problem(Reason.REQUALIFIED, f"{told}; {profile} stays")


def _too_late(roll: Roll, watched: Watched, settings: RollSettings) -> NextStep:
    limit = duration(settings.canary_deadline_seconds)
    told = (
        f"no new Pod of {roll.to_profile} was Ready within {limit}"
        if not watched.serving
        else f"{roll.to_profile} could not be judged within {limit}{_because(watched)}"
    )
    promotes = watched.serving and settings.on_no_traffic is OnNoTraffic.PROMOTE
    if promotes and roll.way is RollWay.CANARY:
        return NextStep(step=Step.PROMOTE, why=_problem(Reason.CANARY_NOT_JUDGED, told))
    reason = Reason.CANARY_NOT_JUDGED if watched.serving else Reason.CANARY_NOT_SERVING
    return NextStep(step=Step.UNDO, why=_problem(reason, told), quarantines=True)


def _because(watched: Watched) -> str:
    return "" if watched.verdict is None else f": {watched.verdict.message}"


def _of_rolling(
    roll: Roll,
    target: TargetFacts,
    watched: Watched,
    asked: Asked,
    settings: RollSettings,
    now: float,
) -> NextStep | None:
    if target.paused_by_us:
        return _give_back(roll)
    if asked.idle or not carries(roll, target) or target.rollout is None:
        return None
    if paused_by_others(target):
        return NextStep(step=Step.WAIT, why=_paused(roll))
    if target.template != roll.template:
        return None  # what fails now may be what somebody else changed meanwhile
    if watched.failure is not None:
        return NextStep(step=Step.UNDO, why=watched.failure, quarantines=True)
    rollout = target.rollout
    progress = f"{rollout.updated} of {rollout.desired} Pods updated"
    if rollout.deadline_exceeded:
        told = f"the roll to {roll.to_profile} passed spec.progressDeadlineSeconds ({progress})"
        why = _problem(Reason.ROLL_DEADLINE_EXCEEDED, told)
        return NextStep(step=Step.UNDO, why=why, quarantines=True)
    deadline = max(settings.deadline_seconds, ROLL_PATIENCE * watched.expected_seconds)
    if now - roll.stage_at - watched.paused_seconds > deadline:
        limit = duration(deadline)
        told = f"the roll to {roll.to_profile} did not end within {limit} ({progress})"
        why = _problem(Reason.ROLL_DEADLINE_EXCEEDED, told)
        return NextStep(step=Step.UNDO, why=why, quarantines=True)
    return None


def _of_undoing(roll: Roll, target: TargetFacts) -> NextStep:
    why = roll.why or _problem(Reason.UNDOING, f"{roll.to_profile} is taken back")
    if holds(roll, target) or target.paused_by_us:
        return NextStep(step=Step.UNDO, why=why)
    if paused_by_others(target):
        return NextStep(step=Step.WAIT, why=_paused(roll))
    if target.rollout is not None and target.rollout.deadline_exceeded:
        told = (
            f"{roll.to_profile} was taken back ({why.message}), and the Pods of what was there "
            "before do not become available: look at them with kubectl describe pod. The profile "
            "is back in the target; nothing is written again"
        )
        return NextStep(step=Step.WAIT, why=_problem(Reason.ROLLBACK_STALLED, told))
    told = f"{roll.to_profile} is taken back: {why.message}"
    return NextStep(step=Step.WAIT, why=_problem(Reason.UNDOING, told))


def _may_leave(roll: Roll, target: TargetFacts, watched: Watched, asked: Asked) -> bool:
    """Tell whether a fleet is to leave the profile that did not hold what it promised."""
    untouched = (
        carries(roll, target) and target.rollout is None and target.template == roll.template
    )
    ordered = asked.forced is not None or asked.withdrawn is not None or asked.idle
    return watched.worse is not None and untouched and not ordered


def _give_back(roll: Roll) -> NextStep:
    told = f"spec.paused is given back; the roll to {roll.to_profile} is {roll.state.value}"
    return NextStep(step=Step.GIVE_BACK, why=_problem(Reason.ROLLOUT_UNDER_WAY, told))


def _under_way(roll: Roll, watched: Watched, settings: RollSettings) -> Problem:
    by = timestamp(roll.stage_at + settings.canary_deadline_seconds)
    how = (
        f" (the Deployment is paused for it, until {by} at the latest; name a profile in the "
        f"annotation {FORCE_ANNOTATION} to decide yourself)"
    )
    what = "trial" if roll.way is RollWay.TRIAL else "canary"
    if watched.verdict is not None:
        told = f"{what} of {roll.to_profile}: {watched.verdict.message}{how}"
        return _problem(Reason.CANARY_UNDER_WAY, told)
    stands = "serves" if watched.serving else "is not Ready yet"
    return _problem(Reason.CANARY_UNDER_WAY, f"{what} of {roll.to_profile}: it {stands}{how}")


def _problem(reason: Reason, message: str) -> Problem:
    return Problem(reason=reason, message=message)
