"""A roll as it is announced: what is meant, what to put back, and what is known by then."""

from dataclasses import replace
from typing import Final

from ridgeline.cluster.marker import CanaryMark
from ridgeline.controller.rolling import Order
from ridgeline.controller.view import View
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.canary.judge import Judgement
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.memory import Memory
from ridgeline.policy.proof import Proof, basis_of, proof_of, with_proof
from ridgeline.policy.requalified import concluded
from ridgeline.policy.roll import Before, Roll, undone_before
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult, RollState, RollWay


def intended(view: View, target: TargetFacts, profile: Profile, way: RollWay) -> Roll:
    """Return the record of a roll that is about to be announced."""
    generation = view.serving.generation
    return Roll(
        from_profile=target.active_profile,
        to_profile=profile.name,
        started_at=view.now,
        state=RollState.INTENDED,
        stage_at=view.now,
        target_uid=target.uid,
        target_generation=target.generation,
        serving_generation=generation,
        way=way,
        before=_before(target),
        template=target.template,
        config=view.settings.configs.get(profile.name, ""),
        promised_percent=_promised_percent(view, target.active_profile, profile.name),
        undone_times=undone_before(view.roll, target.uid, generation, view.now),
    )


def order_of(view: View, profile: Profile, target: TargetFacts, way: RollWay) -> Order:
    """Return the write that a roll begins with."""
    canary = None if way is RollWay.WHOLE else mark_of(_before(target))
    return Order(
        namespace=view.serving.namespace,
        serving=view.serving.name,
        spec=view.spec,
        profiles=view.profiles,
        profile=profile,
        uid=target.uid,
        generation=target.generation,
        canary=canary,
    )


def mark_of(before: Before | None) -> CanaryMark:
    """Return what the target itself remembers of what was there before its canary."""
    if before is None:
        return CanaryMark(label=None, config=None)
    return CanaryMark(label=before.label, config=before.config)


def _promised_percent(view: View, before: str | None, after: str) -> int | None:
    """Return how much less time per token is predicted for the present load."""
    table, concurrency = view.settings.cutoff, view.seen.estimates.concurrency
    if isinstance(table, Problem) or before is None or not concurrency:
        return None
    old, new = table.curve(before), table.curve(after)
    if old is None or new is None:
        return None
    ratio = new.seconds_per_token_at(concurrency) / old.seconds_per_token_at(concurrency)
    return max(-1000, round(100.0 * (1.0 - ratio)))


def _before(target: TargetFacts) -> Before | None:
    if not target.has_item:
        return None
    return Before(label=target.label, config=target.active_config)


def with_served(memory: Memory, view: View, target: TargetFacts, intent: Roll) -> Memory:
    """Return memory in which the profile that is left is known to have served, if it did.

    One that is to be compared anew is not left, and has not shown yet what it is compared for.
    """
    if intent.compares:
        return memory
    left = target.active_profile
    config, basis = view.settings.configs.get(left or ""), basis_of(view.settings)
    if left is None or config is None or not view.facts.replicas or target.rollout is not None:
        return memory
    if proof_of(memory.slow.proofs, left, config, target.template, basis) is not None:
        return memory
    proof = Proof(
        profile=left,
        result=ProofResult.SERVED,
        at=view.now,
        config=config,
        template=target.template,
        basis=basis,
    )
    slow = replace(memory.slow, proofs=with_proof(memory.slow.proofs, proof))
    return replace(memory, slow=slow)


def with_comparison(
    view: View, roll: Roll, why: Problem, judgement: Judgement | None = None
) -> View:
    """Return the view in which a fresh comparison is over, with what it has shown.

    Args:
        view: What is known.
        roll: The comparison.
        why: Its verdict, or why there is none.
        judgement: The numbers behind the verdict.
    """
    slow = concluded(
        view.memory.slow,
        roll,
        why,
        judgement,
        profile_config=view.settings.configs.get(roll.from_profile or "", ""),
        basis=basis_of(view.settings),
        now=view.now,
    )
    return replace(view, memory=replace(view.memory, slow=slow))


def undone_problem(view: View, target: TargetFacts) -> Problem:
    """Return what to say of a target from which somebody else took our profile."""
    applied = view.roll.to_profile if view.roll else "a profile"
    by = view.roll.undone_by if view.roll else ""
    who = (
        f" (last written by {by!r})"
        if by
        else " (without a trace in managedFields, as kubectl rollout undo does)"
    )
    times = view.roll.undone_times if view.roll else 1
    list_told = f" {_WHOLE_LIST}" if target.in_args else ""
    again = f" {times} times" if times > 1 else ""
    return Problem(
        reason=Reason.UNDONE_BY_OTHERS,
        message=f"the operator had set {applied}, and somebody else put "
        f"{target.active_profile or 'another config'} in its place{again}{who}; "
        f"it is left alone.{list_told} "
        "To hand the target back, edit the serving's spec (set suspend to true and to false again)",
    )


_WHOLE_LIST: Final = (
    "An argument list has one owner. Take the item out of it: "
    'args: ["--speculative-config=$(SPECULATION_CONFIG)", …] with envFrom and spec.injection.mode '
    "Env; or have Argo CD leave the list alone (ignoreDifferences with managedFieldsManagers: "
    "[ridgeline-profile], and the sync option RespectIgnoreDifferences=true)."
)
