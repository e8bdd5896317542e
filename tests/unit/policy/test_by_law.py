"""The control law applied to a serving with predicted cut-offs: what it is told, what comes out."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy import by_law
from ridgeline.policy.by_law import REASONS, applies, is_saturated, judge, law_settings
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import Facts, Problem, ReplicaFacts, RolloutFacts
from ridgeline.policy.law import law
from ridgeline.policy.law.inputs import LawInputs, RollStrategy
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.settings import LawSettings, Objective
from ridgeline.policy.law.terms import LawReason, Preference
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.policy.settings import Stabilization
from ridgeline.policy.situation import Situation
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction
from tests.unit.policy import moments
from tests.unit.policy.predicted import (
    EAGLE,
    NONE,
    NOW,
    TABLE,
    WINDOW,
    engine,
    facts,
    play,
    pods,
    settings,
    situation,
)


def told(monkeypatch: pytest.MonkeyPatch, moment: Situation) -> LawInputs:
    """What the law is told of a moment."""
    seen: list[LawInputs] = []
    step = law.step

    def spy(inputs: LawInputs, constants: LawSettings, memory: LawMemory, now: float) -> Any:
        seen.append(inputs)
        assert now == moment.now
        return step(inputs, constants, memory, now)

    monkeypatch.setattr(by_law, "step", spy)
    assert judge(moment) is not None
    return seen[0]


def room(pods: int | None) -> Room:
    return Room(pods=pods, why="")


class TestWhetherItApplies:
    def test_to_a_predicted_table_with_a_curve_for_each_row(self) -> None:
        assert applies(situation())

    @pytest.mark.parametrize(
        "changed",
        [
            {"prediction": None},
            {"cutoff": replace(TABLE, curves=(EAGLE,))},
            {"cutoff": Problem(reason=Reason.MODEL_UNKNOWN, message="")},
        ],
    )
    def test_to_nothing_else(self, changed: dict[str, Any]) -> None:
        assert not applies(situation(**changed))
        assert judge(situation(**changed)) is None

    def test_not_where_the_active_profile_is_not_known(self) -> None:
        assert judge(situation(moments.facts(active=None))) is None

    def test_not_without_an_endpoint(self) -> None:
        gone = Problem(reason=Reason.UNKNOWN_TELEMETRY_ENDPOINT, message="")
        assert judge(situation(facts(telemetry=gone))) is None


class TestWhatTheLawIsTold:
    def test_sums_over_the_engines_and_means_per_engine(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = (
            "generated_tokens_per_second",
            "waiting",
            "waiting_for_capacity",
            "queue_seconds_per_second",
            "preemptions_per_second",
        )
        engines = []
        for n in (1, 2):
            signals: dict[str, Any] = {name: float(n * k) for k, name in enumerate(names, 1)}
            engines.append(engine(10.0 * n, **signals))
        engines = [
            replace(each, mean_output_tokens=100.0 * (n + 1)) for n, each in enumerate(engines)
        ]
        inputs = told(monkeypatch, situation(facts(replicas=pods(*engines), desired=2)))
        assert (
            inputs.generated_tokens_per_second,
            inputs.waiting_requests,
            inputs.waiting_for_capacity,
            inputs.queued_requests,
            inputs.preemptions_per_second,
        ) == (3.0, 6.0, 9.0, 12.0, 15.0)
        assert inputs.concurrency == 15.0
        assert inputs.mean_output_tokens == 150.0
        assert (inputs.engines, inputs.replicas, inputs.seen_share) == (2, 2, 1.0)
        assert inputs.running == "eagle2"
        assert inputs.curves == (EAGLE, NONE)
        assert inputs.lower_edges == (0.75,)

    def test_a_pod_too_young_for_a_rate_counts_as_busy_as_the_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        young = moments.replica("young", engine(), ready=WINDOW - 1.0)
        seen = facts(replicas=[*pods(engine(), engine()), young], desired=3)
        inputs = told(monkeypatch, situation(seen))
        assert inputs.generated_tokens_per_second == pytest.approx(3000.0)
        assert (inputs.engines, inputs.replicas, inputs.seen_share) == (3, 3, 1.0)

    def test_pods_that_are_not_seen_are_left_for_the_law_to_scale(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = facts(replicas=[*pods(*[engine()] * 4), moments.replica("silent")], desired=5)
        inputs = told(monkeypatch, situation(seen))
        assert inputs.generated_tokens_per_second == 4000.0
        assert (inputs.replicas, inputs.seen_share) == (5, 0.8)

    def test_an_answer_in_part_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        part = moments.endpoint(partial=("store 2 is gone",))
        assert not told(monkeypatch, situation(facts(telemetry=part))).whole_answer
        monkeypatch.undo()
        assert told(monkeypatch, situation()).whole_answer

    def test_engines_of_a_data_parallel_pod_all_count(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        two = moments.replica("pod-0", engine(), engine(engine="1"), expected_engines=2)
        inputs = told(monkeypatch, situation(facts(replicas=[two], desired=1)))
        assert (inputs.engines, inputs.replicas) == (2, 1)
        assert inputs.generated_tokens_per_second == 2000.0

    @pytest.mark.parametrize("value", [None, math.nan, math.inf])
    def test_a_sum_with_an_unknown_part_is_not_known(
        self, monkeypatch: pytest.MonkeyPatch, value: float | None
    ) -> None:
        part = engine(generated_tokens_per_second=value, waiting=value)
        inputs = told(monkeypatch, situation(facts(replicas=pods(engine(), part), desired=2)))
        assert inputs.generated_tokens_per_second is None
        assert inputs.waiting_requests is None

    def test_a_mean_is_over_those_that_tell(self, monkeypatch: pytest.MonkeyPatch) -> None:
        silent = engine(mean_output_tokens=None)
        inputs = told(monkeypatch, situation(facts(replicas=pods(engine(), silent), desired=2)))
        assert inputs.mean_output_tokens == 200.0

    def test_not_one_digit_depends_on_the_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        some = [engine(7.0 + n / 3.0, mean_output_tokens=100.0 / (n + 1)) for n in range(7)]
        one = told(monkeypatch, situation(facts(replicas=pods(*some))))
        monkeypatch.undo()
        assert told(monkeypatch, situation(facts(replicas=pods(*some[::-1])))) == one

    def test_a_border_without_a_band_has_no_lower_edge(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bare = CutoffTable(
            (CutoffRow(profile="eagle2", up_to=40.0, return_below=30.0), TABLE.rows[1]),
            curves=TABLE.curves,
        )
        assert told(monkeypatch, situation(cutoff=bare)).lower_edges == (1.0,)


class TestHowTheTargetRolls:
    PLAN = RollPlan(replicas=4, max_surge=1, max_unavailable=1, room=room(1))

    def strategy(self, monkeypatch: pytest.MonkeyPatch, plan: RollPlan | None) -> RollStrategy:
        seen: Facts = replace(facts(), plan=plan)
        return told(monkeypatch, situation(seen)).strategy

    @pytest.mark.parametrize(
        ("changed", "surge", "unavailable"),
        [
            ({}, 1, 1),
            ({"room": room(0)}, 0, 1),
            ({"room": room(None)}, 0, 1),
            ({"room": room(7)}, 1, 1),
            ({"max_surge": 3, "room": room(2)}, 2, 1),
            ({"max_unavailable": 0, "room": room(0)}, 1, 0),
            ({"max_unavailable": 0, "room": room(None)}, 1, 0),
            ({"max_unavailable": 9}, 1, 4),
            ({"recreate": True}, 0, 4),
        ],
    )
    def test_surge_counts_where_it_finds_room_or_nothing_goes_without_it(
        self,
        monkeypatch: pytest.MonkeyPatch,
        changed: dict[str, Any],
        surge: int,
        unavailable: int,
    ) -> None:
        found = self.strategy(monkeypatch, replace(self.PLAN, **changed))
        assert found == RollStrategy(replicas=4, surge=surge, unavailable=unavailable)

    def test_a_plan_that_is_not_known_is_taken_for_one_pod_out(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = self.strategy(monkeypatch, None)
        assert found == RollStrategy(replicas=4, surge=0, unavailable=1)

    def test_the_state_of_the_roll(self, monkeypatch: pytest.MonkeyPatch) -> None:
        under_way = RolloutFacts(updated=2, available=3, desired=4)
        ended, running = moments.switch(900.0), moments.switch(None, began_ago=60.0)
        moment = situation(facts(rollout=under_way), memory=moments.memory(ended, running))
        roll = told(monkeypatch, moment).roll
        assert (roll.rolling, roll.updated) == (True, 2)
        assert (roll.started_at, roll.finished_at) == (NOW - 60.0, NOW - 900.0)

    def test_a_target_that_was_never_rolled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        roll = told(monkeypatch, situation()).roll
        assert (roll.rolling, roll.updated) == (False, 0)
        assert (roll.started_at, roll.finished_at) == (None, None)

    def test_the_switches_that_are_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moment = situation(memory=moments.memory(moments.switch(900.0)))
        assert told(monkeypatch, moment).switches_left == 5


class TestSchedules:
    @pytest.mark.parametrize(
        ("action", "profile", "words"),
        [
            (ScheduleAction.PROFILE, "none", ("none", False, False)),
            (ScheduleAction.FORBID_SWITCH_ON, None, (None, True, False)),
            (ScheduleAction.SHORT_CROWD, None, (None, False, True)),
            (ScheduleAction.FREEZE, None, (None, False, False)),
        ],
    )
    def test_the_law_is_told_what_a_window_asks_for(
        self,
        monkeypatch: pytest.MonkeyPatch,
        action: ScheduleAction,
        profile: str | None,
        words: tuple[str | None, bool, bool],
    ) -> None:
        window = Window(schedule="s", order=0, action=action, profile=profile)
        moment = situation(schedule=ScheduleState(active=(window,)))
        seen = told(monkeypatch, moment).schedule
        assert (seen.profile, seen.no_switch_on, seen.crowd_is_short) == words

    def test_without_schedules_it_is_told_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = told(monkeypatch, situation()).schedule
        assert (seen.profile, seen.no_switch_on, seen.crowd_is_short) == (None, False, False)


class TestConstants:
    def test_they_follow_the_window_and_the_settings(self) -> None:
        found = law_settings(settings(), 60.0)
        assert found.window_seconds == 60.0
        assert (found.gap_seconds, found.settle_seconds) == (45.0, 60.0)
        assert found.settle_most_seconds == 300.0
        assert (found.busier_dwell_seconds, found.quieter_dwell_seconds) == (60.0, 600.0)
        usual = LawSettings()
        assert found.escape_seconds == usual.escape_seconds
        assert found.escape_seconds_surge == usual.escape_seconds_surge
        assert found.insured_cooldown_seconds == 1800.0
        assert found.regret_cooldown_seconds == 900.0
        assert found.objective == Objective()

    def test_a_person_who_says_nothing_gets_the_laws_own(self) -> None:
        assert law_settings(settings(), 120.0) == LawSettings()

    def test_a_dwell_of_nothing_is_two_decisions_all_the_same(self) -> None:
        none = Stabilization(busier_seconds=0.0, quieter_seconds=0.0)
        found = law_settings(settings(stabilization=none), 60.0)
        assert min(found.busier_dwell_seconds, found.quieter_dwell_seconds) > 0.0
        assert found.escape_seconds > 0.0

    def test_a_longer_dwell_makes_the_escape_as_much_more_patient(self) -> None:
        twice = Stabilization(busier_seconds=120.0, quieter_seconds=600.0)
        found, usual = law_settings(settings(stabilization=twice), 120.0), LawSettings()
        assert found.escape_seconds == 2.0 * usual.escape_seconds
        assert found.escape_seconds_surge == 2.0 * usual.escape_seconds_surge

    def test_what_a_person_wants_is_passed_on(self) -> None:
        wanted = Objective(prefer=Preference.THROUGHPUT)
        assert law_settings(settings(objective=wanted), 60.0).objective == wanted


class TestSaturation:
    @pytest.mark.parametrize(
        ("signals", "full"),
        [
            ({}, False),
            ({"waiting": 50.0}, False),
            ({"waiting_for_capacity": 3.0}, True),
            ({"waiting_for_capacity": None, "queue_seconds_per_second": 9.0}, True),
            ({"waiting_for_capacity": 0.0, "queue_seconds_per_second": 9.0}, False),
            ({"preemptions_per_second": 1.0}, True),
            ({"waiting_for_capacity": math.nan}, False),
        ],
    )
    def test_waiting_for_capacity_or_losing_a_place(
        self, signals: dict[str, Any], full: bool
    ) -> None:
        assert is_saturated(situation(facts(engines=signals))) is full

    def test_nobody_seen_is_not_full(self) -> None:
        assert not is_saturated(situation(facts(replicas=[])))


class TestInDecide:
    def test_every_reason_of_the_law_has_a_name_for_people(self) -> None:
        assert set(REASONS) == set(LawReason)

    def test_demand_beyond_act_at_switches_off_by_the_law(self) -> None:
        last = play(38.0, 600.0)[-1]
        assert last.outcome is Outcome.SWITCH
        assert last.profile == "none"
        assert last.reason in (Reason.DEMAND_HIGH, Reason.ABOVE_CUTOFF, Reason.REGRET)
        assert "law" in last.diagnostics.passed
        assert last.memory.slow.switches[-1].concurrency == 38.0

    def test_a_quiet_fleet_stays_and_is_told_where_the_law_acts(self) -> None:
        last = play(5.0, 300.0)[-1]
        assert last.outcome is Outcome.KEEP
        assert last.reason is Reason.BEST_PROFILE_ACTIVE
        assert last.diagnostics.law is not None
        assert last.diagnostics.law.act_at is not None
        assert last.memory.law != LawMemory()

    def test_what_the_law_remembers_has_no_holes_while_nothing_may_be_changed(self) -> None:
        free = play(5.0, 300.0)[-1]
        for changed, reason in (
            ({"suspended": True}, Reason.SUSPENDED),
            ({"frozen": True}, Reason.FROZEN),
            ({"forced": "eagle2"}, Reason.FORCED),
        ):
            held = play(5.0, 300.0, **changed)[-1]
            assert held.reason is reason
            assert held.memory.law == free.memory.law
            assert held.diagnostics.law == free.diagnostics.law

    def test_missing_replicas_hold_and_do_not_clear_the_laws_memory(self) -> None:
        before = play(5.0, 300.0)[-1]
        now = NOW + 315.0
        blind: list[ReplicaFacts] = [moments.replica(f"pod-{n}") for n in range(4)]
        seen = facts(replicas=blind, now=now)
        decision = decide(seen, settings(), before.memory, now)
        assert decision.reason is Reason.NO_DATA
        assert decision.memory.law.slow == before.memory.law.slow
        assert decision.recommended is None
