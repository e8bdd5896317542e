"""What is known of the new Pods of a roll: whether they start, and what they show."""

from ridgeline.controller.mind import Mind
from ridgeline.controller.view import View
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.canary.evidence import gathered
from ridgeline.policy.canary.judge import judge
from ridgeline.policy.canary.starts import start_failure
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_steps import Watched
from ridgeline.terms.rolls import RollState


def watch_new_pods(view: View, mind: Mind, roll: Roll) -> Watched:
    """Return what is known of the Pods that run the profile of a roll."""
    new = [each for each in view.facts.replicas if each.profile == roll.to_profile]
    plan = view.facts.plan
    failure = start_failure(
        view.facts.starts, roll.to_profile, plan.startup_budget_seconds if plan else None
    )
    if roll.state is not RollState.CANARY:
        return Watched(failure=failure, serving=bool(new))
    mind.evidence = gathered(mind.evidence, view.facts, roll.to_profile, roll.started_at, view.now)
    old, other = _curve(view, roll.from_profile), _curve(view, roll.to_profile)
    judged = judge(mind.evidence, old, other, view.now)
    mind.judgement = judged
    return Watched(failure=failure, found=judged.found, verdict=judged.why, serving=bool(new))


def _curve(view: View, profile: str | None) -> Curve | None:
    table = view.settings.cutoff
    if not isinstance(table, CutoffTable) or profile is None:
        return None
    return table.curve(profile)
