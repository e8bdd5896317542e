"""What holds of fresh comparisons, whatever the facts, the settings and the memory say."""

import json
from dataclasses import asdict, replace
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from ridgeline.engine.fingerprint import fingerprint
from ridgeline.policy.canary.judge import Judgement
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Facts, Problem, TargetFacts
from ridgeline.policy.lifecycle import CLOCK_TOLERANCE_SECONDS
from ridgeline.policy.memory import FastMemory, Memory, SlowMemory
from ridgeline.policy.placement import Room
from ridgeline.policy.proof import Proof
from ridgeline.policy.quarantine import binding
from ridgeline.policy.requalified import concluded
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.roll_steps import Found
from ridgeline.policy.settings import PolicySettings
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    ProofResult,
    RequalifyPolicy,
    RollState,
    RollWay,
    TrialPolicy,
)
from tests.property.wild import METHODS, NOW, all_settings, memories, moments, replicas
from tests.unit.policy import moments as well

CONFIGS = {"eagle2": "c1", "draft-1b": "d1", "none": fingerprint("")}
TEMPLATES = st.sampled_from(["new", "new", "old"])
PROOFS = st.builds(
    Proof,
    profile=st.sampled_from(["eagle2", "eagle2", "draft-1b", "none"]),
    result=st.sampled_from(ProofResult),
    at=moments,
    config=st.sampled_from(sorted(CONFIGS.values())),
    template=TEMPLATES,
    basis=st.sampled_from(["", "b1", "b2"]),
)
ROLLS = st.builds(
    RollSettings,
    canary_when=st.just(CanaryWhen.UNPROVEN),
    canary_max_replicas=st.integers(1, 3),
    canary_otherwise=st.sampled_from(CanaryOtherwise),
    on_no_traffic=st.sampled_from(OnNoTraffic),
    canary_deadline_seconds=st.floats(60.0, 86_400.0),
    trial=st.sampled_from(TrialPolicy),
    deadline_seconds=st.floats(60.0, 86_400.0),
    requalify=st.just(RequalifyPolicy.TRIAL),
)
PLANS = st.builds(
    RollPlan,
    replicas=st.just(4),
    max_surge=st.sampled_from([1, 1, 1, 2, 0]),
    max_unavailable=st.sampled_from([0, 0, 0, 1]),
    room=st.builds(Room, pods=st.sampled_from([None, 4, 0]), why=st.just("so many GPUs are free")),
)
ASKED = RollSettings(
    canary_when=CanaryWhen.UNPROVEN,
    canary_max_replicas=2,
    canary_otherwise=CanaryOtherwise.HOLD,
    on_no_traffic=OnNoTraffic.RESTORE,
    canary_deadline_seconds=2700.0,
    trial=TrialPolicy.ALLOWED,
    deadline_seconds=7200.0,
    requalify=RequalifyPolicy.TRIAL,
)
PLAN = RollPlan(
    replicas=4, max_surge=1, max_unavailable=0, room=Room(pods=4, why="4 GPUs are free")
)
SHOWN = Proof(
    profile="eagle2", result=ProofResult.VERIFIED, at=NOW - 9e4, config="c1", template="old"
)


@st.composite
def ripe(draw: st.DrawFn) -> tuple[Facts, PolicySettings, Memory]:
    """Moments that are ripe for a fresh comparison, but for some wild facts and settings."""
    rarely = st.sampled_from([False] * 7 + [True])
    count = draw(st.integers(1, 6))
    level = draw(st.floats(0.5, 25.0) if draw(rarely) else st.floats(0.5, 16.0))
    good = [
        well.replica(
            f"pod-{n}",
            well.engine(level, drafts_per_second=30.0, generated_tokens_per_second=50.0),
        )
        for n in range(count)
    ]
    odd = draw(st.lists(replicas, max_size=2)) if draw(rarely) else []
    seen = well.facts(
        replicas=[*good, *(replace(each, name=f"odd-{each.name}") for each in odd)],
        desired=count + len(odd),
    )
    assert isinstance(seen.target, TargetFacts)
    seen = replace(
        seen,
        target=replace(seen.target, template="new"),
        plan=draw(st.none() | PLANS) if draw(rarely) else PLAN,
    )
    usual = well.settings(
        methods=METHODS, rolls=draw(ROLLS) if draw(rarely) else ASKED, configs=CONFIGS
    )
    if draw(rarely):
        wanted = draw(all_settings)
        usual = replace(
            usual,
            mode=wanted.mode,
            suspended=wanted.suspended,
            cooldown_seconds=wanted.cooldown_seconds,
            max_switches_per_day=wanted.max_switches_per_day,
            stabilization=wanted.stabilization,
        )
    proofs = tuple(draw(st.lists(PROOFS, max_size=3))) if draw(rarely) else (SHOWN,)
    slow = draw(memories).slow if draw(rarely) else SlowMemory()
    calm = draw(st.sampled_from([NOW - 10.0, NOW + 1e6, None])) if draw(rarely) else NOW - 700.0
    return seen, usual, Memory(slow=replace(slow, proofs=proofs), fast=FastMemory(calm_since=calm))


def made(given_: tuple[Facts, PolicySettings, Memory]) -> Decision:
    decision = decide(*given_, NOW)
    event(str(decision.reason))
    json.dumps(asdict(decision), allow_nan=False)
    return decision


@given(ripe())
def test_a_comparison_rests_on_what_it_may_rest_on(given_: tuple[Any, ...]) -> None:
    seen, wanted, memory = given_
    decision = made(given_)
    if decision.reason is not Reason.REQUALIFICATION:
        assert decision.way is not RollWay.TRIAL
        return
    assert (decision.outcome, decision.way) == (Outcome.SWITCH, RollWay.TRIAL)
    assert (decision.profile, decision.recommended) == ("none", "eagle2")
    assert wanted.mode is Mode.AUTOMATIC
    assert not wanted.suspended
    switches = memory.slow.switches
    assert decision.memory.slow == memory.slow or len(switches) == 10
    lately = [each for each in switches if NOW - each.started_at < 86_400.0]
    assert min(wanted.max_switches_per_day, 10) - len(lately) >= 2
    assert all(
        each.finished_at is not None and NOW - each.finished_at >= wanted.cooldown_seconds
        for each in switches
    )
    plan = seen.plan
    assert plan is not None
    assert (plan.max_unavailable, plan.max_surge >= 1) == (0, True)
    assert plan.room.pods != 0
    (shown,) = [each for each in memory.slow.proofs if each.profile == "eagle2"][:1]
    assert (shown.config, shown.template) != ("c1", "new")
    assert len(decision.diagnostics.comparisons) > 0
    assert not any(each.ready_seconds < well.WINDOW for each in seen.replicas)
    calm = memory.fast.calm_since
    assert calm is not None
    assert calm <= NOW + CLOCK_TOLERANCE_SECONDS
    assert NOW - calm >= wanted.stabilization.quieter_seconds


@given(ripe())
def test_who_does_not_ask_for_it_is_decided_for_as_before(given_: tuple[Any, ...]) -> None:
    seen, wanted, memory = given_
    assert wanted.rolls is not None
    never = replace(wanted, rolls=replace(wanted.rolls, requalify=RequalifyPolicy.NEVER))
    asked, plain = made(given_), decide(seen, never, memory, NOW)
    assert plain.reason is not Reason.REQUALIFICATION
    if asked.reason is Reason.REQUALIFICATION:
        assert plain.outcome is Outcome.KEEP
        assert plain.profile == asked.recommended
    else:
        same = ("outcome", "profile", "recommended", "reason", "way")
        assert [getattr(asked, each) for each in same] == [getattr(plain, each) for each in same]


@given(ripe(), st.sampled_from(Reason), st.none() | st.sampled_from(Found), st.integers(-1000, 99))
def test_whatever_comes_out_no_speculation_stays_free_and_nothing_is_repeated(
    given_: tuple[Any, ...], reason: Reason, found: Found | None, gain: int
) -> None:
    seen, wanted, memory = given_
    if made(given_).reason is not Reason.REQUALIFICATION:
        return
    why = Problem(reason=reason, message="so it is")
    judgement = None if found is None else Judgement(found=found, why=why, gain_percent=gain)
    slow = concluded(memory.slow, ROLL, why, judgement, profile_config="c1", basis="", now=NOW)
    assert all(each.profile != "none" for each in binding(slow.quarantine, NOW))
    later = Memory(slow=slow, fast=FastMemory(calm_since=NOW - 700.0))
    again = decide(seen, wanted, later, NOW)
    assert (again.reason is Reason.REQUALIFICATION) is (slow == memory.slow)
    if reason is Reason.WORSE_THAN_NONE:
        assert again.recommended == "none"


ROLL = Roll(
    from_profile="eagle2",
    to_profile="none",
    started_at=NOW - 900.0,
    state=RollState.CANARY,
    target_uid="uid-1",
    target_generation=1,
    serving_generation=1,
    way=RollWay.TRIAL,
    template="new",
    config=CONFIGS["none"],
)
