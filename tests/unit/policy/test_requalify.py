"""When a fresh comparison with no speculation is made, what it waits for, and what follows."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.engine.fingerprint import fingerprint
from ridgeline.policy.canary.judge import Judgement
from ridgeline.policy.conditions import findings
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.engine_report import EngineReport
from ridgeline.policy.facts import Facts, Problem
from ridgeline.policy.memory import FastMemory, Memory, SlowMemory
from ridgeline.policy.placement import Room
from ridgeline.policy.proof import Proof, Proofs, basis_of
from ridgeline.policy.quarantine import quarantined
from ridgeline.policy.requalified import concluded, move_away
from ridgeline.policy.requalify import pending, plain_profile, stale
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.roll_steps import Found
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.policy.settings import PolicySettings, Prediction
from ridgeline.policy.situation import observe
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult, RequalifyPolicy, RollState, RollWay
from ridgeline.terms.schedules import ScheduleAction
from ridgeline.terms.verdict import Verdict
from tests.unit.policy import predicted
from tests.unit.policy.moments import (
    NOW,
    TWO_ROWS,
    engine,
    facts,
    replica,
    settings,
    switch,
)
from tests.unit.policy.test_way import CAREFUL

OPTED_IN = replace(CAREFUL, requalify=RequalifyPolicy.TRIAL)
PLAN = RollPlan(
    replicas=4, max_surge=1, max_unavailable=0, room=Room(pods=4, why="4 nodes have room")
)
NONE_CONFIG = fingerprint("")
CONFIGS = {"eagle2": "c1", "draft-1b": "d1", "none": NONE_CONFIG}
BEFORE = Proof(
    profile="eagle2", result=ProofResult.VERIFIED, at=NOW - 9e4, config="c1", template="old"
)
COMPARED = Proof(
    profile="none", result=ProofResult.TRIED, at=NOW - 9e3, config=NONE_CONFIG, template="new"
)
CALM = NOW - 601.0


def fleet(level: float = 5.0, tokens: float = 50.0, **other: Any) -> Facts:
    """Four replicas on eagle2 with a template that is new."""
    running = [
        replica(
            f"pod-{n}",
            engine(level, drafts_per_second=30.0, generated_tokens_per_second=tokens),
        )
        for n in range(4)
    ]
    seen = facts(level, replicas=other.pop("replicas", running), **other)
    assert not isinstance(seen.target, Problem)
    return replace(seen, target=replace(seen.target, template="new"), plan=PLAN)


def asked(**other: Any) -> PolicySettings:
    return settings(**{"rolls": OPTED_IN, "configs": CONFIGS, **other})


def remembered(*proofs: Proof, calm_since: float | None = CALM, **slow: Any) -> Memory:
    return Memory(slow=SlowMemory(proofs=proofs, **slow), fast=FastMemory(calm_since=calm_since))


def decided(
    seen: Facts | None = None,
    wanted: PolicySettings | None = None,
    memory: Memory | None = None,
) -> Decision:
    return decide(seen or fleet(), wanted or asked(), memory or remembered(BEFORE), NOW)


def test_what_was_shown_with_another_image_is_compared_anew() -> None:
    decision = decided()
    assert decision.outcome is Outcome.SWITCH
    assert (decision.profile, decision.recommended) == ("none", "eagle2")
    assert (decision.way, decision.reason) == (RollWay.TRIAL, Reason.REQUALIFICATION)
    assert "what eagle2 had shown (Verified, 2027-01-14T07:00:00Z)" in decision.message
    assert "one Pod on none is measured beside it, and taken back" in decision.message
    assert decision.diagnostics.decided_by == "requalify"
    assert decision.diagnostics.passed[-2:] == ("profile_match", "cutoffs")
    # It is taken back: no switch, nothing of the day's budget.
    assert decision.memory.slow.switches == ()


@pytest.mark.parametrize(
    ("proofs", "wanted"),
    [
        ((), None),
        ((replace(BEFORE, template="new"),), None),
        ((BEFORE, COMPARED), None),
        ((BEFORE, replace(COMPARED, result=ProofResult.UNCLEAR)), None),
        ((BEFORE,), asked(rolls=CAREFUL)),
        ((BEFORE,), asked(rolls=None)),
    ],
    ids=["nothing shown", "shown here", "compared here", "not clear here", "not asked", "no rolls"],
)
def test_it_is_made_once_for_each_ground_and_only_where_a_person_asks(
    proofs: Proofs, wanted: PolicySettings | None
) -> None:
    decision = decided(wanted=wanted, memory=remembered(*proofs))
    assert decision.outcome is Outcome.KEEP
    assert decision.memory.fast.calm_since is None
    assert "comparison" not in decision.message


@pytest.mark.parametrize(
    "before", [replace(COMPARED, template="old"), replace(COMPARED, config="another")]
)
def test_a_comparison_on_another_ground_is_none_on_this(before: Proof) -> None:
    assert decided(memory=remembered(BEFORE, before)).reason is Reason.REQUALIFICATION


def test_another_gpu_is_another_ground_although_the_template_is_the_same() -> None:
    h100, b200 = (Prediction(basis=f"llama on 4 x {gpu}") for gpu in ("h100", "b200"))
    then = basis_of(settings(prediction=h100))
    shown = replace(BEFORE, template="new", basis=then)
    for prediction, due in ((h100, False), (b200, True)):
        situation = observe(fleet(), asked(prediction=prediction), remembered(shown), NOW)
        assert (stale(situation) is not None) is due
        assert (pending(situation) is not None) is due


def test_a_fleet_without_speculation_has_nothing_to_compare() -> None:
    seen = fleet()
    assert not isinstance(seen.target, Problem)
    quiet = [replica(f"pod-{n}", engine(30.0, generated_tokens_per_second=50.0)) for n in range(4)]
    off = replace(seen, target=replace(seen.target, active_profile="none"), replicas=tuple(quiet))
    shown = replace(COMPARED, template="old")
    assert decided(off, memory=remembered(shown, BEFORE)).reason is Reason.BEST_PROFILE_ACTIVE


def test_a_serving_without_a_profile_without_speculation_has_nobody_to_compare_with() -> None:
    methods = {k: v for k, v in settings().methods.items() if v.speculates}
    wanted = asked(methods=methods, cutoff=CutoffTable((CutoffRow(profile="eagle2"),)))
    assert plain_profile(wanted) is None
    assert decided(wanted=wanted).outcome is Outcome.KEEP


FREEZE = ScheduleState(active=(Window(schedule="night", order=0, action=ScheduleAction.FREEZE),))
FORBIDDEN = ScheduleState(
    active=(Window(schedule="day", order=0, action=ScheduleAction.FORBID_SWITCH_ON),)
)


def test_a_schedule_that_forbids_switching_on_forbids_no_comparison() -> None:
    assert decided(wanted=asked(schedule=FORBIDDEN)).reason is Reason.REQUALIFICATION


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"wanted": asked(mode=Mode.RECOMMEND_ONLY)}, "spec.mode is not Automatic"),
        ({"wanted": asked(schedule=FREEZE)}, "schedule night"),
        ({"wanted": asked(max_switches_per_day=1)}, "1 switches are left in 24 hours"),
        (
            {"memory": remembered(BEFORE, switches=(switch(900.0),))},
            "the cooldown has 15 min left",
        ),
        (
            {"seen": replace(fleet(), plan=replace(PLAN, max_unavailable=1))},
            "no canary can be made: maxUnavailable 1",
        ),
        (
            {"seen": replace(fleet(), plan=replace(PLAN, room=Room(pods=0, why="no GPU is free")))},
            "a roll must first start 1 Pods more (maxUnavailable is 0), and no GPU is free",
        ),
        ({"seen": replace(fleet(), plan=None)}, "how the target would be rolled is not known"),
        (
            {"seen": replace(fleet(), plan=replace(PLAN, longest_answer_seconds=900.0))},
            "answers take up to 900 s",
        ),
        (
            {
                "wanted": asked(
                    engine=EngineReport(
                        version="9.9", known_as="0.33.0", verified=False, automatic=True
                    )
                )
            },
            "vLLM 9.9 was not read",
        ),
        (
            {
                "memory": remembered(
                    BEFORE,
                    quarantine=quarantined(
                        (),
                        "none",
                        reason=Reason.PODS_CRASH,
                        message="it crashed",
                        config=NONE_CONFIG,
                        template="new",
                        now=NOW,
                    ),
                )
            },
            "none failed lately (PodsCrash)",
        ),
    ],
    ids=[
        "mode",
        "freeze",
        "budget",
        "cooldown",
        "no canary",
        "no room",
        "no plan",
        "cuts answers",
        "release",
        "quarantine",
    ],
)
def test_what_stands_in_the_way_is_told_and_changes_nothing(
    change: dict[str, Any], told: str
) -> None:
    decision = decided(**change)
    assert decision.outcome is Outcome.KEEP
    assert decision.reason is Reason.BEST_PROFILE_ACTIVE
    assert decision.profile == decision.recommended == "eagle2"
    assert f"a comparison with none waits: {told}" in decision.message
    # Load was low meanwhile, and that counts.
    expected = CALM if "seen" not in change or change["seen"].plan is not None else None
    assert decision.memory.fast.calm_since == expected


class TestLoad:
    """It is compared where that costs little, and where it can be judged."""

    @pytest.mark.parametrize(("level", "begins"), [(5.0, True), (16.0, True), (16.1, False)])
    def test_by_a_table_it_needs_a_load_below_the_band(self, level: float, begins: bool) -> None:
        decision = decided(fleet(level))
        assert (decision.outcome is Outcome.SWITCH) is begins
        if not begins:
            assert "concurrency per engine is 16.1, and 16 is low" in decision.message
            assert decision.memory.fast.calm_since is None

    def test_a_profile_for_every_load_is_compared_at_any(self) -> None:
        table = CutoffTable((CutoffRow(profile="eagle2"),))
        assert decided(fleet(90.0), asked(cutoff=table)).outcome is Outcome.SWITCH

    # Of 5 Pods one makes a fifth, in a quarter of 2700 s: 2000 tokens are 14.8 per second in all.
    @pytest.mark.parametrize(("tokens", "begins"), [(3.71, True), (3.70, False), (0.0, False)])
    def test_it_needs_enough_to_judge_by(self, tokens: float, begins: bool) -> None:
        decision = decided(fleet(tokens=tokens))
        assert (decision.outcome is Outcome.SWITCH) is begins

    @pytest.mark.parametrize("spoiled", ["unseen", "young", "partial"])
    def test_it_needs_to_see_every_pod(self, spoiled: str) -> None:
        seen = fleet()
        first = seen.replicas[0]
        match spoiled:
            case "unseen":
                pods = (*(replace(first, name=f"p{n}") for n in range(9)), replica("silent"))
                seen = replace(seen, replicas=pods)
            case "young":
                young = replace(first, name="young", ready_seconds=5.0)
                seen = replace(seen, replicas=(*seen.replicas, young))
            case _:
                assert not isinstance(seen.telemetry, Problem)
                partial = replace(seen.telemetry, partial=("one store is down",))
                seen = replace(seen, telemetry=partial)
        decision = decided(seen)
        assert decision.outcome is Outcome.KEEP
        assert "not every Pod is seen" in decision.message
        assert decision.memory.fast.calm_since is None

    def test_by_the_law_it_needs_a_demand_at_which_the_law_would_switch_on(self) -> None:
        for level, begins in ((4.0, True), (28.0, False)):
            quick = predicted.settings(rolls=OPTED_IN, configs=CONFIGS)
            seen = predicted.facts(level)
            assert not isinstance(seen.target, Problem)
            seen = replace(seen, target=replace(seen.target, template="new"), plan=PLAN)
            decision = decide(seen, quick, remembered(BEFORE), NOW)
            law = decision.diagnostics.law
            assert law is not None
            if begins:
                assert decision.outcome is Outcome.SWITCH, decision.message
                assert law.act_at is not None
                assert law.demand is not None
                assert law.demand <= law.act_at.on_demand
            else:
                assert decision.reason is not Reason.REQUALIFICATION


class TestDwell:
    def test_load_must_have_been_low_for_as_long_as_for_a_quieter_row(self) -> None:
        since = NOW - 599.0
        waiting = decided(memory=remembered(BEFORE, calm_since=since))
        assert waiting.outcome is Outcome.KEEP
        assert "load has been low for 599 s (needs 600 s)" in waiting.message
        assert waiting.memory.fast.calm_since == since

    def test_one_decision_alone_is_never_enough(self) -> None:
        hasty = settings().stabilization
        wanted = asked(stabilization=replace(hasty, quieter_seconds=0.0))
        first = decided(wanted=wanted, memory=remembered(BEFORE, calm_since=None))
        assert first.outcome is Outcome.KEEP
        assert first.memory.fast.calm_since == NOW
        assert decided(wanted=wanted, memory=first.memory).outcome is Outcome.SWITCH

    def test_a_hold_begins_it_anew(self) -> None:
        blind = decided(fleet(replicas=()))
        assert blind.outcome is Outcome.HOLD
        assert blind.memory.fast.calm_since is None

    def test_a_clock_that_was_wrong_begins_it_anew(self) -> None:
        ahead = decided(memory=remembered(BEFORE, calm_since=NOW + 9000.0))
        assert ahead.outcome is Outcome.KEEP
        assert ahead.memory.fast.calm_since == NOW


class TestFirstProof:
    """What was adopted has shown nothing yet: from now on it has."""

    def test_a_whole_fleet_that_serves_has_served(self) -> None:
        decision = decided(memory=remembered())
        assert decision.memory.slow.proofs == (
            Proof(profile="eagle2", result=ProofResult.SERVED, at=NOW, config="c1", template="new"),
        )

    def test_it_is_written_once(self) -> None:
        assert decided().memory.slow == remembered(BEFORE).slow
        shown = replace(BEFORE, template="new")
        assert decided(memory=remembered(shown)).memory.slow.proofs == (shown,)

    def test_nothing_is_written_where_nobody_asks_or_not_all_is_seen(self) -> None:
        assert decided(wanted=asked(rolls=CAREFUL), memory=remembered()).memory.slow.proofs == ()
        part = (*fleet().replicas * 3, replica("silent"))
        named = tuple(replace(each, name=f"p{n}") for n, each in enumerate(part))
        decision = decided(replace(fleet(), replicas=named), memory=remembered())
        assert decision.outcome is Outcome.KEEP
        assert decision.memory.slow.proofs == ()


def test_a_condition_tells_what_is_due_and_moves_with_no_tick() -> None:
    for now in (NOW, NOW + 15.0):
        situation = observe(fleet(), asked(), remembered(BEFORE), now)
        (found,) = [
            each
            for each in findings(situation, decided(), None, None)
            if each.type.value == "ProofFresh"
        ]
        assert (found.status.value, found.reason) == ("False", Reason.PROOF_STALE)
        assert found.message.endswith("when demand is low (spec.rollout.requalify)")
    done = observe(fleet(), asked(), remembered(BEFORE, COMPARED), NOW)
    assert all(each.type.value != "ProofFresh" for each in findings(done, decided(), None, None))


ROLL = Roll(
    from_profile="eagle2",
    to_profile="none",
    started_at=NOW - 900.0,
    state=RollState.CANARY,
    target_uid="uid-1",
    target_generation=6,
    serving_generation=2,
    way=RollWay.TRIAL,
    template="new",
    config=NONE_CONFIG,
)


def judged(found: Found, gain: int | None) -> Judgement:
    why = Problem(reason=Reason.CANARY_ALIKE, message="measured")
    return Judgement(found=found, why=why, gain_percent=gain, promised_percent=-50)


def after(reason: Reason, judgement: Judgement | None) -> SlowMemory:
    return concluded(
        SlowMemory(proofs=(BEFORE,)),
        ROLL,
        Problem(reason=reason, message="so it is"),
        judgement,
        profile_config="c1",
        basis="b1",
        now=NOW,
    )


class TestConcluded:
    @pytest.mark.parametrize(
        ("reason", "judgement", "result", "gain", "bound"),
        [
            # None takes twice the time: the profile takes half of it.
            (Reason.REQUALIFIED, judged(Found.WORSE, -100), ProofResult.VERIFIED, 50, False),
            (Reason.REQUALIFIED, judged(Found.ALIKE, 4), ProofResult.UNCLEAR, -4, False),
            (Reason.WORSE_THAN_NONE, judged(Found.BETTER, 20), ProofResult.WORSE, -25, True),
            (Reason.WORSE_THAN_NONE, judged(Found.WORSE, None), ProofResult.WORSE, None, True),
        ],
        ids=["slower", "alike", "faster", "other answers"],
    )
    def test_a_verdict_on_the_pod_is_one_on_the_profile(
        self,
        reason: Reason,
        judgement: Judgement,
        result: ProofResult,
        gain: int | None,
        bound: bool,
    ) -> None:
        slow = after(reason, judgement)
        shown = {each.profile: each for each in slow.proofs}
        assert (shown["eagle2"].result, shown["eagle2"].gain_percent) == (result, gain)
        assert (shown["eagle2"].template, shown["eagle2"].config) == ("new", "c1")
        assert shown["none"].result is ProofResult.TRIED
        assert shown["none"].basis == shown["eagle2"].basis == "b1"
        assert [each.profile for each in slow.quarantine] == (["eagle2"] if bound else [])

    @pytest.mark.parametrize(
        "reason", [Reason.CANARY_NOT_JUDGED, Reason.PODS_CRASH, Reason.FIELD_CONFLICT]
    )
    def test_what_could_not_be_judged_is_not_tried_again_and_blames_nobody(
        self, reason: Reason
    ) -> None:
        slow = after(reason, judged(Found.BETTER, 20))
        assert slow.quarantine == ()
        assert slow.proofs[0] == BEFORE
        assert (slow.proofs[1].profile, slow.proofs[1].result) == ("none", ProofResult.UNCLEAR)
        assert decided(memory=replace(remembered(), slow=slow)).outcome is Outcome.KEEP

    @pytest.mark.parametrize(
        "reason",
        [Reason.SUSPENDED, Reason.FROZEN, Reason.RECOMMEND_ONLY, Reason.FORCED],
    )
    def test_what_a_person_ended_is_made_another_time(self, reason: Reason) -> None:
        assert after(reason, judged(Found.BETTER, 20)) == SlowMemory(proofs=(BEFORE,))


class TestMoveAway:
    """Design rule: a profile that is worse than measured none is left."""

    SLOW = after(Reason.WORSE_THAN_NONE, judged(Found.BETTER, 20))

    def memory(self, crossed_ago: float = 61.0) -> Memory:
        crossing = replace(decided_crossing(self.SLOW), since=NOW - crossed_ago)
        return Memory(slow=self.SLOW, fast=FastMemory(crossing=crossing))

    def test_it_is_left_although_the_table_has_it_for_the_load(self) -> None:
        decision = decided(memory=self.memory())
        assert (decision.outcome, decision.profile) == (Outcome.SWITCH, "none")
        assert (decision.reason, decision.way) == (Reason.WORSE_THAN_NONE, RollWay.WHOLE)
        assert "eagle2 was measured to be worse than none here: so it is" in decision.message
        assert decision.memory.slow.switches[-1].reason is Reason.WORSE_THAN_NONE

    def test_it_waits_for_the_dwell_of_a_busier_row(self) -> None:
        first = decided(memory=Memory(slow=self.SLOW))
        assert (first.outcome, first.reason) == (Outcome.HOLD, Reason.DWELLING)
        assert first.recommended == "none"
        assert decided(memory=self.memory(59.0)).reason is Reason.DWELLING

    def test_it_is_left_where_the_cut_off_is_undecided(self) -> None:
        doubted = CutoffTable(TWO_ROWS.rows, verdict=Verdict.UNDECIDED, reasons=("who knows",))
        decision = decided(wanted=asked(cutoff=doubted), memory=self.memory())
        assert (decision.outcome, decision.way) == (Outcome.SWITCH, RollWay.WHOLE)

    def test_it_is_recommended_alone_where_only_that_is_asked_for(self) -> None:
        decision = decided(wanted=asked(mode=Mode.RECOMMEND_ONLY), memory=self.memory())
        assert (decision.reason, decision.recommended) == (Reason.RECOMMEND_ONLY, "none")

    @pytest.mark.parametrize(
        "change",
        [{"template": "newer"}, {"config": "c2"}, {"reason": Reason.PODS_CRASH}, {"until": NOW}],
        ids=["another image", "an edited profile", "another failure", "its time is over"],
    )
    def test_what_ends_it(self, change: dict[str, Any]) -> None:
        (entry,) = self.SLOW.quarantine
        slow = replace(self.SLOW, quarantine=(replace(entry, **change),))
        assert move_away(observe(fleet(), asked(), Memory(slow=slow), NOW)) is None


def decided_crossing(slow: SlowMemory) -> Any:
    first = decided(memory=Memory(slow=slow))
    assert first.memory.fast.crossing is not None
    return first.memory.fast.crossing
