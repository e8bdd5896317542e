"""When the active profile is compared with no speculation anew: its proof is stale, load is low.

A new image, argument, model, engine version or GPU makes stale what a profile had shown: the same
speculation that helped before can hurt now. The profile goes on serving, since nothing speaks
against it, and one Pod without speculation is measured beside it, judged as any canary, and taken
back in any case (`requalified` says what follows). Once for each ground: Pod template and basis.

It waits until it costs little and can be judged, all of this for the dwell of a quieter row:

    demand ≤ D_on         where the law would switch on (by a table: B ≤ the lower edge of the band)
    every Ready Pod joined, none too young
    tokens/s · deadline/4 ÷ (replicas + surge) ≥ 2000      what a verdict needs, of one Pod

and, like a move to a quieter row, for the cooldown and for two switches left in 24 hours.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ridgeline.policy.canary.judge import LEAST_TOKENS
from ridgeline.policy.comparison import Comparison
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.engine_report import release_obstacle
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.lifecycle import cooldown_left, switches_left
from ridgeline.policy.memory import FastMemory, Memory
from ridgeline.policy.proof import (
    Proof,
    basis_of,
    proof_of,
    shown_by,
    stale_proof,
    with_proof,
)
from ridgeline.policy.quarantine import binding
from ridgeline.policy.roll_plan import first_hold
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.schedule import Wish
from ridgeline.policy.scheduled import schedule_hold
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import at_least, at_most
from ridgeline.policy.way import canary_obstacle
from ridgeline.policy.wording import duration, number
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult, RequalifyPolicy, RollWay
from ridgeline.terms.times import timestamp

SWITCHES_LEFT: Final = 2
"""As a move to a quieter row: the last switch of a day is kept for going busier."""

DEADLINE_SHARE: Final = 0.25
"""Of the canary's deadline, in which its Pod must make what a verdict needs: a start takes as long,
and traffic is not even."""


def plain_profile(settings: PolicySettings) -> str | None:
    """Return the profile without speculation, `None` where a serving has none."""
    return next((each for each, method in settings.methods.items() if not method.speculates), None)


def stale(situation: Situation) -> Proof | None:
    """Return what the active profile had shown on another ground, `None` when nothing is stale."""
    settings, target, active = situation.settings, situation.target, situation.active
    if target is None or active not in settings.methods or not settings.methods[active].speculates:
        return None
    config = settings.configs.get(active, "")
    proofs = situation.memory.slow.proofs
    return stale_proof(proofs, active, config, target.template, basis_of(settings))


def pending(situation: Situation) -> Problem | None:
    """Return that the active profile is to be compared anew, `None` when it is not."""
    shown, other = _due(situation)
    if shown is None or other is None:
        return None
    return Problem(
        reason=Reason.PROOF_STALE,
        message=f"{told_of(shown)}; it is compared with {other} on one canary when demand is low "
        "(spec.rollout.requalify)",
    )


def told_of(shown: Proof) -> str:
    """Return what a profile had shown on another ground, as a sentence."""
    return (
        f"what {shown.profile} had shown ({shown.result.value}, {timestamp(shown.at)}) was shown "
        "with another image, argument, config or GPU than it has now"
    )


def compare_anew(situation: Situation, lawful: LawDecision | None, decided: Decision) -> Decision:
    """Return a decision to change nothing, or in its place the fresh comparison that is due.

    Args:
        situation: The moment.
        lawful: What the law says of it, `None` where it does not decide.
        decided: What was decided.
    """
    if decided.outcome is not Outcome.KEEP:
        return decided
    decided = replace(decided, memory=_with_first_proof(situation, decided.memory))
    shown, other = _due(situation)
    if shown is None or other is None:
        return decided
    restless, compared = _restless(situation, lawful)
    since = situation.memory.fast.calm_since
    lasted = 0.0 if since is None else max(0.0, situation.now - since)
    told = replace(decided.diagnostics, comparisons=(*decided.diagnostics.comparisons, *compared))
    waits = next(_obstacles(situation, other), restless)
    needed = situation.settings.stabilization.quieter_seconds
    if waits is None and (since is None or lasted < needed):
        waits = f"load has been low for {number(lasted)} s (needs {number(needed)} s)"
    because = f"{told_of(shown)}, and speculation that helped then may hurt now"
    if waits is None:
        return _begun(decided, situation, other, because)
    calm = None if restless else situation.now if since is None else since
    fast = replace(decided.memory.fast, calm_since=calm)
    return replace(
        decided,
        message=f"{decided.message}; {because}: a comparison with {other} waits: {waits}",
        memory=replace(decided.memory, fast=fast),
        diagnostics=told,
    )


def _begun(decided: Decision, situation: Situation, other: str, because: str) -> Decision:
    told = decided.diagnostics
    return replace(
        decided,
        outcome=Outcome.SWITCH,
        profile=other,
        recommended=situation.active,
        reason=Reason.REQUALIFICATION,
        message=f"{because}: one Pod on {other} is measured beside it, and taken back",
        # It is taken back: it is no switch, and takes nothing of the day's budget.
        memory=replace(decided.memory, fast=FastMemory()),
        diagnostics=replace(told, decided_by="requalify", passed=(*told.passed, told.decided_by)),
        way=RollWay.TRIAL,
    )


def _due(situation: Situation) -> tuple[Proof | None, str | None]:
    """Return the stale proof and the profile without speculation, where both must meet anew."""
    settings, target = situation.settings, situation.target
    other = plain_profile(settings)
    if settings.rolls is None or settings.rolls.requalify is RequalifyPolicy.NEVER:
        return None, other
    if target is None or other is None:
        return None, other
    config, proofs = settings.configs.get(other, ""), situation.memory.slow.proofs
    if proof_of(proofs, other, config, target.template, basis_of(settings)) is not None:
        return None, other  # it was seen on this ground already
    return stale(situation), other


def _with_first_proof(situation: Situation, memory: Memory) -> Memory:
    """Return memory in which a profile that was never proven is known to serve.

    A target that was adopted never showed anything to anybody; without this nothing of it could
    become stale.
    """
    settings, target, active = situation.settings, situation.target, situation.active
    rolls, fleet = settings.rolls, situation.fleet
    if rolls is None or rolls.requalify is RequalifyPolicy.NEVER or target is None:
        return memory
    if active not in settings.methods or not settings.methods[active].speculates:
        return memory
    config = settings.configs.get(active, "")
    whole = not fleet.pending and len(fleet.joined) == fleet.expected > 0
    if not whole or not config or not target.template:
        return memory
    if shown_by(memory.slow.proofs, active) is not None:
        return memory
    proof = Proof(
        profile=active,
        result=ProofResult.SERVED,
        at=situation.now,
        config=config,
        template=target.template,
        basis=basis_of(settings),
    )
    slow = replace(memory.slow, proofs=with_proof(memory.slow.proofs, proof))
    return replace(memory, slow=slow)


def _restless(
    situation: Situation, lawful: LawDecision | None
) -> tuple[str | None, tuple[Comparison, ...]]:
    """Return why it would cost much now or could not be judged, and what was compared."""
    fleet, telemetry = situation.fleet, situation.telemetry
    seen = fleet.joined and len(fleet.joined) == fleet.expected and not fleet.pending
    if not seen or telemetry is None or telemetry.partial:
        return "not every Pod is seen for a whole rate window", ()
    load = _load(situation, lawful)
    enough = _enough(situation)
    compared = tuple(each for each in (load, enough) if each is not None)
    if load is not None and load.value > load.limit:
        return f"{load.name} is {number(load.value)}, and {number(load.limit)} is low", compared
    if enough is None or enough.value < enough.limit:
        return "too little is asked of the fleet to judge a Pod by", compared
    return None, compared


def _load(situation: Situation, lawful: LawDecision | None) -> Comparison | None:
    """Compare the load with what counts as low; `None` where no load is too high."""
    met, missed = "low enough to compare", "too high to compare"
    if lawful is not None:
        act = lawful.act_at
        if act is None or act.quieter != situation.active or lawful.demand is None:
            return None
        return at_most("demand, tokens/s", lawful.demand, act.on_demand, met=met, missed=missed)
    table, row, concurrency = situation.table, situation.row, situation.estimates.concurrency
    edge = table.rows[row].return_below if table is not None and row is not None else None
    if edge is None or concurrency is None:
        return None
    return at_most("concurrency per engine", concurrency, edge, met=met, missed=missed)


def _enough(situation: Situation) -> Comparison | None:
    """Compare what one Pod will make in its time with what a verdict needs."""
    plan, rolls = situation.facts.plan, situation.settings.rolls
    speed, target = situation.estimates.tokens_per_second, situation.target
    if plan is None or rolls is None or speed is None or target is None:
        return None
    share = speed / max(1, target.desired_replicas + plan.surge)
    return at_least(
        "tokens that one Pod makes in a quarter of canary.deadlineSeconds",
        share * DEADLINE_SHARE * rolls.canary_deadline_seconds,
        LEAST_TOKENS,
        met="enough to judge by",
        missed="too few to judge by",
    )


def _obstacles(situation: Situation, other: str) -> Iterator[str]:
    """Return what else stands in the way, each as the second half of a sentence."""
    settings, memory, now = situation.settings, situation.memory, situation.now
    if settings.mode is not Mode.AUTOMATIC:
        yield "spec.mode is not Automatic"
    failed = next((x for x in binding(memory.slow.quarantine, now) if x.profile == other), None)
    if failed is not None:
        yield f"{other} failed lately ({failed.reason.value})"
    wish = Wish(profile=other, reason=Reason.REQUALIFICATION, message="")
    forbidden = schedule_hold(situation, wish, busier=True)
    if forbidden is not None:
        yield forbidden.message
    left = switches_left(memory, settings, now)
    if left < SWITCHES_LEFT:
        yield f"{left} switches are left in 24 hours, and the last one is kept"
    wait = cooldown_left(memory, settings, now)
    if wait > 0:
        yield f"the cooldown has {duration(wait)} left"
    release = release_obstacle(settings.engine)
    if release is not None:
        yield release.message
    yield from _of_the_roll(situation, settings.rolls, other)


def _of_the_roll(situation: Situation, rolls: RollSettings | None, other: str) -> Iterator[str]:
    plan = situation.facts.plan
    if plan is None or rolls is None:
        yield "how the target would be rolled is not known"
        return
    impossible = canary_obstacle(plan, rolls)
    if impossible is not None:
        yield f"no canary can be made: {impossible}"
    hold = first_hold(plan, other)
    if hold is not None:
        yield hold.message
