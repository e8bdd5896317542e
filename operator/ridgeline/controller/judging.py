"""What is known of the new Pods of a roll: whether they start, and what they show."""

import math

from ridgeline.controller.mind import Mind
from ridgeline.controller.view import View
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.canary.evidence import gathered, gathered_fleet
from ridgeline.policy.canary.judge import Judgement, judge
from ridgeline.policy.canary.starts import cannot_pull, start_failure
from ridgeline.policy.facts import Problem, ReplicaFacts
from ridgeline.policy.proof import proof_of
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_steps import Found, Watched, paused_by_others
from ridgeline.policy.verification import verified
from ridgeline.policy.wording import names
from ridgeline.terms.rolls import ProofResult, RollState


def watch_new_pods(view: View, mind: Mind, roll: Roll) -> Watched:
    """Return what is known of the Pods that run the profile of a roll."""
    new = [each for each in view.facts.replicas if each.profile == roll.to_profile]
    plan = view.facts.plan
    pulling = cannot_pull(view.facts.starts, roll.to_profile)
    failure = start_failure(
        view.facts.starts,
        roll.to_profile,
        plan.startup_budget_seconds if plan else None,
        mind.pulls.seen(roll.started_at, holds=pulling, now=view.now),
    )
    if roll.state is RollState.FINISHED:
        return Watched(worse=_worse(view, mind, roll))
    target = view.rolled_target
    paused = target is not None and paused_by_others(target)
    paused_seconds = mind.pauses.seen(roll.stage_at, paused=paused, now=view.now)
    if roll.state is not RollState.CANARY:
        expected = _expected_seconds(plan, roll) if plan is not None else 0.0
        return Watched(
            failure=failure,
            serving=bool(new),
            expected_seconds=expected,
            paused_seconds=paused_seconds,
        )
    mind.evidence = gathered(mind.evidence, view.facts, roll.to_profile, roll.started_at, view.now)
    old, other = _curve(view, roll.from_profile), _curve(view, roll.to_profile)
    judged = judge(mind.evidence, old, other, view.now)
    mind.judgement = judged
    return Watched(
        failure=failure,
        found=judged.found,
        verdict=_unseen(view, new, judged),
        serving=bool(new),
        paused_seconds=paused_seconds,
    )


def _unseen(view: View, new: list[ReplicaFacts], judged: Judgement) -> Problem:
    """Return the verdict; while nothing is seen of the canary, that it waits for telemetry."""
    telemetry = view.facts.telemetry
    if judged.found is not Found.NOT_YET or not new:
        return judged.why
    if isinstance(telemetry, Problem):
        told = telemetry.message
    elif telemetry.error is not None:
        told = f"telemetry endpoint {telemetry.endpoint!r} does not answer: {telemetry.error}"
    elif not any(each.engines for each in new):
        pods = names(tuple(each.name for each in new))
        told = f"telemetry endpoint {telemetry.endpoint!r} has no samples of {pods}"
    else:
        return judged.why
    return Problem(reason=judged.why.reason, message=f"{told}; it is judged when they come back")


def _expected_seconds(plan: RollPlan, roll: Roll) -> float:
    plan = plan.towards(roll.to_profile)
    if plan.start_seconds is None:
        return 0.0
    batches = math.ceil(plan.replicas / max(1, plan.surge + plan.unavailable))
    return batches * plan.start_margin * plan.start_seconds


def _worse(view: View, mind: Mind, roll: Roll) -> Problem | None:
    """Return why a fleet is to leave its profile; what came out is kept for `proofs`."""
    method = view.settings.methods.get(roll.to_profile)
    telemetry, ended = view.facts.telemetry, roll.finished_at
    if method is None or not method.speculates or ended is None or is_verified(view, roll):
        mind.after = mind.verification = None
        return None
    if isinstance(telemetry, Problem) or view.settings.prediction is None:
        return None
    if not _is_best_now(view, roll.to_profile):
        return None  # beyond its cut-off a profile is slower, as the table says
    mind.after = gathered_fleet(mind.after, view.facts, roll.to_profile, ended, view.now)
    learned = view.memory.slow.learned
    arm = learned.arm(roll.from_profile or "") if learned is not None else None
    mind.verification = verified(
        mind.after,
        _curve(view, roll.from_profile),
        before_was_seen=arm is not None and arm.windows > 0,
        promised_percent=roll.promised_percent,
        waited_windows=(view.now - ended) / max(1.0, telemetry.window_seconds),
    )
    found = mind.verification
    return found.why if found is not None and found.result is ProofResult.WORSE else None


def _is_best_now(view: View, profile: str) -> bool:
    """Tell whether the table has the profile for the present concurrency."""
    table, concurrency = view.settings.cutoff, view.seen.estimates.concurrency
    if isinstance(table, Problem) or concurrency is None:
        return False
    return table.rows[table.row_at(concurrency)].profile == profile


def is_verified(view: View, roll: Roll) -> bool:
    """Tell whether a roll has its verdict already."""
    proof = proof_of(view.memory.slow.proofs, roll.to_profile, roll.config, roll.template)
    return (
        proof is not None
        and proof.at >= (roll.finished_at or 0.0)
        and proof.result in (ProofResult.VERIFIED, ProofResult.WORSE, ProofResult.UNCLEAR)
    )


def _curve(view: View, profile: str | None) -> Curve | None:
    table = view.settings.cutoff
    if not isinstance(table, CutoffTable) or profile is None:
        return None
    return table.curve(profile)
