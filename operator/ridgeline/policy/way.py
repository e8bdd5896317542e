"""How a roll is made: as a whole, behind a canary, or as a trial that is taken back.

A roll to no speculation has no canary: it is what every server starts with, and it is wanted when
servers are full. A roll to a profile that speculates has one as `spec.rollout.canary.when` says,
by default when the profile has not served yet with the target's present Pod template. It can be
made where the Deployment controller begins by adding Pods (maxUnavailable 0) and adds few enough.

A trial is a canary of a profile whose acceptance nobody knows: the cut-offs that speak for it rest
on a guess, so it is measured and taken back, once for each Pod template. The fresh comparison with
no speculation is a trial too (`requalify`).
"""

from typing import Final

from ridgeline.policy.move import Move
from ridgeline.policy.proof import basis_of, is_proven, proof_of
from ridgeline.policy.quarantine import binding
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import PASSED, Verdict, held
from ridgeline.policy.wording import duration
from ridgeline.terms.names import FORCE_ANNOTATION
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import CanaryOtherwise, CanaryWhen, RollWay, TrialPolicy
from ridgeline.terms.verdict import Verdict as CutoffVerdict

CANARY_STANZA: Final = (
    "set spec.strategy.rollingUpdate to maxUnavailable: 0 and maxSurge: 1 in the Deployment"
)

_UNPROVEN: Final = "it has not served yet with this Pod template"


def quarantine(move: Move) -> Verdict:
    """Guard against a profile that failed lately."""
    situation = move.situation
    bound = binding(situation.memory.slow.quarantine, situation.now)
    entry = next((each for each in bound if each.profile == move.profile), None)
    if entry is None:
        return PASSED
    left = duration(entry.until - situation.now)
    return held(
        Reason.PROFILE_QUARANTINED,
        f"{move.because}: {move.profile} would be better, but it failed "
        f"{duration(max(0.0, situation.now - entry.since))} ago ({entry.reason.value}: "
        f"{entry.message}) and is not chosen for {left} more; editing the profile, or another "
        f"image or argument in the Deployment, or the annotation {FORCE_ANNOTATION} lifts that",
    )


def is_trial(move: Move) -> bool:
    """Tell whether a move can only be a trial: nobody knows whether the profile is better."""
    table, methods = move.situation.table, move.situation.settings.methods
    if table is None or not methods[move.profile].speculates:
        return False
    return table.verdict is CutoffVerdict.UNDECIDED


def may_try(move: Move) -> bool:
    """Tell whether a profile of which nothing is known may be tried on one canary."""
    settings = move.situation.settings
    if settings.prediction is None or not settings.methods[move.profile].speculates:
        return False
    return trial_obstacle(move) is None


def trial_obstacle(move: Move) -> str | None:
    """Return why a profile cannot be tried, the second half of a sentence; `None` when it can."""
    situation, plan = move.situation, move.situation.facts.plan
    rolls = situation.settings.rolls
    if rolls is None or rolls.trial is not TrialPolicy.ALLOWED:
        return "spec.rollout.trial is Never"
    if _was_tried(situation, move.profile):
        return "it was tried with this Pod template already"
    return canary_obstacle(plan, rolls) if plan is not None else None


def canary(move: Move) -> Verdict:
    """Guard that what must begin with a canary can."""
    situation = move.situation
    rolls, plan = situation.settings.rolls, situation.facts.plan
    if rolls is None or plan is None or not _wants_canary(situation, move.profile):
        return PASSED
    obstacle = canary_obstacle(plan, rolls)
    if obstacle is None or rolls.canary_otherwise is CanaryOtherwise.ROLL:
        return PASSED
    always = rolls.canary_when is CanaryWhen.ALWAYS
    stanza = "" if plan.through_owner else f"{CANARY_STANZA}, or "
    return held(
        Reason.CANARY_IMPOSSIBLE,
        f"{move.told}: {move.profile} is better, and begins with a canary, since "
        f"{'spec.rollout.canary.when is Always' if always else _UNPROVEN}; but {obstacle}: "
        f"{stanza}set "
        f"spec.rollout.canary.otherwise: Roll, or order {move.profile} once with the annotation "
        f"{FORCE_ANNOTATION}",
    )


def way_of(move: Move) -> RollWay:
    """Return how a move that passed every check is made."""
    situation = move.situation
    rolls, plan = situation.settings.rolls, situation.facts.plan
    if is_trial(move):
        return RollWay.TRIAL
    if rolls is None or plan is None or not _wants_canary(situation, move.profile):
        return RollWay.WHOLE
    return RollWay.WHOLE if canary_obstacle(plan, rolls) else RollWay.CANARY


def canary_obstacle(plan: RollPlan, rolls: RollSettings) -> str | None:
    """Return why no canary can be made, the second half of a sentence; `None` when one can."""
    if plan.through_owner:
        return f"the Deployment is {plan.owner}'s, which cannot hold its rollout back for one"
    if plan.recreate:
        return "strategy Recreate leaves no old Pod to compare it with"
    if plan.unavailable > 0:
        return (
            f"maxUnavailable {plan.max_unavailable} lets the Deployment take {plan.unavailable} "
            "old Pods away at once"
        )
    if plan.surge == 0:
        return f"maxSurge {plan.max_surge} adds no Pod"
    if plan.surge > rolls.canary_max_replicas:
        return (
            f"maxSurge {plan.max_surge} makes {plan.surge} Pods at once, more than "
            f"spec.rollout.canary.maxReplicas ({rolls.canary_max_replicas})"
        )
    return None


def _wants_canary(situation: Situation, profile: str) -> bool:
    settings = situation.settings
    if settings.rolls is None or not settings.methods[profile].speculates:
        return False
    match settings.rolls.canary_when:
        case CanaryWhen.ALWAYS:
            return True
        case CanaryWhen.NEVER:
            return False
    config, template = settings.configs.get(profile, ""), _template(situation)
    proofs = situation.memory.slow.proofs
    return not is_proven(proofs, profile, config, template, basis_of(settings))


def _was_tried(situation: Situation, profile: str) -> bool:
    settings, proofs = situation.settings, situation.memory.slow.proofs
    config, template = settings.configs.get(profile, ""), _template(situation)
    return proof_of(proofs, profile, config, template, basis_of(settings)) is not None


def _template(situation: Situation) -> str:
    return situation.target.template if situation.target is not None else ""
