"""Every check holds where the next step would have been a switch, and lets go one step before."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import EngineFacts, Problem, RolloutFacts
from ridgeline.terms.reasons import Reason
from tests.unit.policy.moments import (
    METHODS,
    NOW,
    STALE,
    TWO_ROWS,
    WINDOW,
    about_to_return,
    about_to_switch,
    endpoint,
    engine,
    facts,
    memory,
    pods,
    replica,
    settings,
    switch,
    with_replica,
)


def assert_held(decision: Decision, reason: Reason, by: str, *words: str) -> None:
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, reason)
    assert decision.diagnostics.decided_by == by
    assert decision.memory.fast.crossing is None, "time passed blind is no dwell"
    for word in words:
        assert word in decision.message


def test_the_ripe_moment_switches() -> None:
    assert about_to_switch().outcome is Outcome.SWITCH
    assert about_to_return().outcome is Outcome.SWITCH


class TestSuspended:
    def test_holds_and_still_recommends(self) -> None:
        decision = about_to_switch(settings=settings(suspended=True))
        assert_held(decision, Reason.SUSPENDED, "suspended", "asks for none")
        assert decision.recommended == "none"
        assert decision.diagnostics.passed == ()
        assert any(each.limit == 20.0 for each in decision.diagnostics.comparisons)

    def test_says_why_it_cannot_recommend(self) -> None:
        decision = about_to_switch(settings=settings(suspended=True), facts=facts(replicas=[]))
        assert_held(decision, Reason.SUSPENDED, "suspended", "no Ready Pod")
        assert decision.recommended is None

    def test_recommends_to_stay(self) -> None:
        decision = about_to_switch(10.0, settings=settings(suspended=True))
        assert_held(decision, Reason.SUSPENDED, "suspended", "eagle2 would stay")
        assert decision.recommended == "eagle2"


def test_target_problem() -> None:
    problem = Problem(reason=Reason.TARGET_NOT_FOUND, message="no Deployment llama")
    decision = about_to_switch(facts=facts(30.0, target=problem))
    assert_held(decision, Reason.TARGET_NOT_FOUND, "target", "no Deployment llama")
    assert decision.profile is None


def test_cutoff_problem() -> None:
    problem = Problem(reason=Reason.ACCELERATOR_UNKNOWN, message="set spec.cutoff")
    decision = about_to_switch(settings=settings(cutoff=problem))
    assert_held(decision, Reason.ACCELERATOR_UNKNOWN, "cutoff", "set spec.cutoff")


def test_cutoff_names_a_profile_that_the_serving_lacks() -> None:
    known = {name: METHODS[name] for name in ("eagle2", "ngram")}
    decision = about_to_switch(settings=settings(methods=known))
    assert_held(decision, Reason.SPEC_INVALID, "cutoff", "'none'", "eagle2, ngram")


@pytest.mark.parametrize(
    ("rollout", "reason", "word"),
    [
        (RolloutFacts(updated=1, available=3, desired=4), Reason.ROLLOUT_UNDER_WAY, "1 of 4"),
        (
            RolloutFacts(updated=1, available=3, desired=4, paused=True),
            Reason.ROLLOUT_PAUSED,
            "kubectl rollout resume",
        ),
        (
            RolloutFacts(updated=1, available=3, desired=4, deadline_exceeded=True),
            Reason.ROLLOUT_STALLED,
            "progress deadline",
        ),
        (
            RolloutFacts(updated=1, available=3, desired=4, paused=True, deadline_exceeded=True),
            Reason.ROLLOUT_PAUSED,
            "paused",
        ),
    ],
)
def test_rollout(rollout: RolloutFacts, reason: Reason, word: str) -> None:
    decision = about_to_switch(facts=facts(30.0, rollout=rollout))
    assert_held(decision, reason, "rollout", word)
    assert decision.recommended is None


def test_own_roll_that_nobody_closed() -> None:
    decision = about_to_switch(memory=memory(switch(None, began_ago=90.0), towards="none"))
    assert_held(decision, Reason.ROLLOUT_UNDER_WAY, "own_roll", "90 s ago", "to none")


def test_own_roll_ahead_of_the_clock() -> None:
    decision = about_to_switch(memory=memory(switch(None, began_ago=-90.0), towards="none"))
    assert_held(decision, Reason.ROLLOUT_UNDER_WAY, "own_roll", "decided 0 s ago")


def test_unfinished_switch_hidden_behind_a_finished_one() -> None:
    held = about_to_switch(memory=memory(switch(None, began_ago=9000.0), switch(5000.0)))
    assert_held(held, Reason.ROLLOUT_UNDER_WAY, "own_roll")


class TestActiveProfile:
    def test_no_profile_describes_it(self) -> None:
        decision = about_to_switch(facts=facts(30.0, active=None))
        assert_held(decision, Reason.ACTIVE_PROFILE_UNKNOWN, "active_profile", '{"method":"eagle"}')

    def test_it_has_no_row(self) -> None:
        decision = about_to_switch(facts=facts(30.0, active="ngram"))
        assert decision.reason is Reason.ACTIVE_PROFILE_UNKNOWN
        assert "'ngram'" in decision.message
        assert "eagle2, none" in decision.message


class TestTelemetry:
    def test_problem(self) -> None:
        problem = Problem(reason=Reason.UNKNOWN_TELEMETRY_ENDPOINT, message="no endpoint 'x'")
        decision = about_to_switch(facts=facts(30.0, telemetry=problem))
        assert_held(decision, Reason.UNKNOWN_TELEMETRY_ENDPOINT, "telemetry", "no endpoint 'x'")
        assert decision.diagnostics.estimates.concurrency is None

    def test_error_even_with_old_numbers_at_hand(self) -> None:
        decision = about_to_switch(facts=facts(30.0, telemetry=endpoint(error="503 from it")))
        assert_held(decision, Reason.TELEMETRY_UNAVAILABLE, "telemetry", "503 from it")

    def test_never_answered(self) -> None:
        decision = about_to_switch(facts=facts(30.0, telemetry=endpoint(answered_at=None)))
        assert_held(decision, Reason.TELEMETRY_UNAVAILABLE, "telemetry", "not answered yet")

    def test_answered_too_long_ago(self) -> None:
        old = endpoint(now=NOW - STALE - 1.0)
        decision = about_to_switch(facts=facts(30.0, telemetry=old))
        assert_held(decision, Reason.STALE_DATA, "telemetry", "61 s ago")
        assert decision.diagnostics.comparisons[-1].relation == ">"
        just = endpoint(now=NOW - STALE)
        assert about_to_switch(facts=facts(30.0, telemetry=just)).outcome is Outcome.SWITCH


class TestReadyReplicas:
    def test_none_is_ready(self) -> None:
        decision = about_to_switch(facts=facts(replicas=[]))
        assert_held(decision, Reason.NO_READY_REPLICAS, "ready_replicas", "4 asked for")

    def test_scaled_to_zero_while_pods_still_end(self) -> None:
        decision = about_to_switch(facts=facts(30.0, desired=0))
        assert_held(decision, Reason.NO_READY_REPLICAS, "ready_replicas", "scaled to 0")

    def test_one_replica_is_enough(self) -> None:
        alone = facts(replicas=pods(30.0, count=1), desired=1)
        assert about_to_switch(facts=alone).outcome is Outcome.SWITCH


class TestSettling:
    @pytest.mark.parametrize(("ago", "outcome"), [(119.0, Outcome.HOLD), (120.0, Outcome.SWITCH)])
    def test_one_window_after_our_roll(self, ago: float, outcome: Outcome) -> None:
        decision = about_to_switch(memory=memory(switch(ago, to="eagle2"), towards="none"))
        assert decision.outcome is outcome
        if outcome is Outcome.HOLD:
            assert_held(decision, Reason.REPLICAS_SETTLING, "settling", "119 s ago", "120 s")
        told = next(c for c in decision.diagnostics.comparisons if "roll ended" in c.name)
        assert (told.value, told.limit) == (ago, WINDOW)

    def test_a_roll_that_ended_ahead_of_the_clock_is_just_now(self) -> None:
        decision = about_to_switch(memory=memory(switch(-200.0), towards="none"))
        assert_held(decision, Reason.REPLICAS_SETTLING, "settling", "0 s ago")

    def test_all_pods_are_young(self) -> None:
        ages = (5.0, WINDOW - 1.0, 20.0, 0.0)
        group = zip(pods(30.0), ages, strict=True)
        young = [replace(each, ready_seconds=age) for each, age in group]
        decision = about_to_switch(facts=facts(replicas=young))
        assert_held(decision, Reason.REPLICAS_SETTLING, "settling", "all 4", "119 s")
        assert decision.diagnostics.estimates.pending_replicas == 4

    def test_a_pod_as_old_as_the_window_counts(self) -> None:
        old_enough = [replace(each, ready_seconds=WINDOW) for each in pods(30.0)]
        assert about_to_switch(facts=facts(replicas=old_enough)).outcome is Outcome.SWITCH

    def test_a_young_pod_is_pending_and_not_missing(self) -> None:
        young = replica("new", engine(0.0), ready=3.0)
        decision = about_to_return(
            facts=facts(replicas=[*pods(5.0, drafts=None), young], active="none")
        )
        assert decision.outcome is Outcome.SWITCH
        assert decision.diagnostics.estimates.concurrency == 5.0


class TestFiniteData:
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_a_value_that_is_none(self, value: float) -> None:
        base = facts(30.0)
        decision = about_to_switch(facts=with_replica(base, 2, engines=(engine(value),)))
        assert_held(decision, Reason.NOT_FINITE, "finite_data", "pod-2", "decode_concurrency")

    def test_telemetry_said_so(self) -> None:
        broken = engine(None, not_finite=("decode_concurrency",))
        decision = about_to_switch(facts=with_replica(facts(30.0), 0, engines=(broken,)))
        assert_held(decision, Reason.NOT_FINITE, "finite_data", "pod-0")

    def test_other_signals_may_be_broken(self) -> None:
        broken = engine(30.0, drafts_per_second=30.0, not_finite=("tpot_p99",))
        decision = about_to_switch(facts=with_replica(facts(30.0), 0, engines=(broken,)))
        assert decision.outcome is Outcome.SWITCH

    def test_a_mean_that_overflows(self) -> None:
        decision = about_to_switch(facts=facts(1.7e308))
        assert_held(decision, Reason.NOT_FINITE, "finite_data", "the mean")


class TestData:
    def test_no_pod_has_samples(self) -> None:
        silent = [replace(each, engines=()) for each in pods(30.0)]
        told = endpoint(warnings=("partial response",))
        decision = about_to_switch(facts=facts(replicas=silent, telemetry=told))
        assert_held(
            decision, Reason.NO_DATA, "data", "pod-0, pod-1, pod-2 and 1 more", "partial response"
        )

    def test_young_pods_do_not_stand_in_for_silent_ones(self) -> None:
        mixed = [replica("new", engine(30.0), ready=10.0), replica("old")]
        decision = about_to_switch(facts=facts(replicas=mixed))
        assert_held(decision, Reason.NO_DATA, "data", "(old)")

    @pytest.mark.parametrize("age", [STALE + 1.0, -STALE - 1.0])
    def test_all_samples_are_stale(self, age: float) -> None:
        old = [replica("pod-0", engine(30.0, age_seconds=age))]
        decision = about_to_switch(facts=facts(replicas=old))
        assert_held(decision, Reason.STALE_DATA, "data", "Pod pod-0", "61 s old", "60 s")
        told = decision.diagnostics.comparisons[-1]
        assert (told.value, told.relation, told.limit) == (61.0, ">", 60.0)

    def test_an_age_that_is_no_number_is_stale(self) -> None:
        odd = [replica("pod-0", engine(30.0, age_seconds=math.nan))]
        decision = about_to_switch(facts=facts(replicas=odd))
        assert_held(decision, Reason.STALE_DATA, "data", "no usable time")

    @pytest.mark.parametrize("age", [STALE, 0.0, -STALE])
    def test_fresh_to_the_second(self, age: float) -> None:
        fresh = [replica("pod-0", engine(30.0, age_seconds=age, drafts_per_second=1.0))]
        assert about_to_switch(facts=facts(replicas=fresh)).outcome is Outcome.SWITCH

    def test_one_stale_engine_makes_its_pod_stale(self) -> None:
        odd = [replica("pod-0", engine(30.0), engine(30.0, "1", age_seconds=90.0))]
        decision = about_to_switch(facts=facts(replicas=odd))
        assert_held(decision, Reason.STALE_DATA, "data", "90 s old")


class TestCompleteness:
    @pytest.mark.parametrize(("seen", "outcome"), [(4, Outcome.SWITCH), (3, Outcome.HOLD)])
    def test_a_busier_row_needs_80_percent(self, seen: int, outcome: Outcome) -> None:
        group = pods(30.0, count=5)
        group[seen:] = [replace(each, engines=()) for each in group[seen:]]
        decision = about_to_switch(facts=facts(replicas=group))
        assert decision.outcome is outcome
        told = next(c for c in decision.diagnostics.comparisons if c.name.startswith("share"))
        assert (told.value, told.limit) == (seen / 5, 0.8)
        if outcome is Outcome.HOLD:
            assert_held(
                decision, Reason.PARTIAL_DATA, "completeness", "3 of 5", "no samples: pod-3, pod-4"
            )

    def test_a_quieter_row_needs_all(self) -> None:
        group = pods(5.0, count=20, drafts=None)
        group[7] = replace(group[7], engines=())
        decision = about_to_return(facts=facts(replicas=group, active="none"))
        assert_held(decision, Reason.PARTIAL_DATA, "evidence", "19 of 20", "pod-7", "eagle2 needs")
        assert decision.recommended is None

    def test_a_missing_engine_means_not_joined(self) -> None:
        group = [replace(each, expected_engines=2) for each in pods(30.0)]
        decision = about_to_switch(facts=facts(replicas=group))
        assert_held(
            decision, Reason.PARTIAL_DATA, "completeness", "0 of 4", "engines missing or ambiguous"
        )

    @pytest.mark.parametrize(
        "engines",
        [
            (engine(30.0), engine(30.0)),
            (engine(30.0), engine(None, "1")),
            (engine(30.0), engine(-1.0, "1")),
        ],
        ids=["one label twice", "no concurrency", "negative"],
    )
    def test_ambiguous_engines(self, engines: tuple[EngineFacts, ...]) -> None:
        decision = about_to_switch(facts=facts(replicas=[replica("pod-0", *engines)]))
        assert_held(decision, Reason.PARTIAL_DATA, "completeness", "0 of 1")

    def test_stale_pods_are_named_apart(self) -> None:
        group = pods(30.0, count=3)
        group[0] = replica("pod-0", engine(30.0, age_seconds=100.0))
        decision = about_to_switch(facts=facts(replicas=group))
        assert_held(decision, Reason.PARTIAL_DATA, "completeness", "stale samples: pod-0")

    def test_all_engines_of_a_data_parallel_pod(self) -> None:
        engines = [engine(c, str(i), drafts_per_second=1.0) for i, c in enumerate((10.0, 50.0))]
        group = [replica("pod-0", *engines, expected_engines=2)]
        decision = about_to_switch(facts=facts(replicas=group))
        assert decision.outcome is Outcome.SWITCH
        assert decision.diagnostics.estimates.concurrency == 30.0


class TestProfileMatch:
    def test_none_that_drafts(self) -> None:
        odd = with_replica(
            facts(5.0, active="none"), 1, engines=(engine(5.0, drafts_per_second=2.0),)
        )
        decision = about_to_return(facts=odd)
        assert_held(decision, Reason.PROFILE_MISMATCH, "profile_match", "Pod pod-1 drafts")

    def test_none_whose_series_stand_at_zero(self) -> None:
        idle = with_replica(
            facts(5.0, active="none"), 1, engines=(engine(5.0, drafts_per_second=0.0),)
        )
        assert about_to_return(facts=idle).outcome is Outcome.SWITCH

    def test_a_speculating_one_without_series(self) -> None:
        odd = with_replica(facts(30.0), 3, engines=(engine(30.0),))
        decision = about_to_switch(facts=odd)
        assert_held(decision, Reason.PROFILE_MISMATCH, "profile_match", "Pod pod-3 exports no")

    def test_one_engine_with_series_is_proof(self) -> None:
        engines = (engine(30.0), engine(30.0, "1", drafts_per_second=0.0))
        mixed = with_replica(facts(30.0), 3, engines=engines)
        assert about_to_switch(facts=mixed).outcome is Outcome.SWITCH

    @pytest.mark.parametrize(
        "unproven",
        [
            {"steps_per_second": None},
            {"acceptance_length": 2.4},
            {"not_finite": ("drafts",)},
        ],
        ids=["nobody looked", "it accepts drafts", "the series is there"],
    )
    def test_absence_must_be_proven(self, unproven: dict[str, Any]) -> None:
        odd = with_replica(facts(30.0), 3, engines=(engine(30.0, **unproven),))
        assert about_to_switch(facts=odd).outcome is Outcome.SWITCH

    @pytest.mark.parametrize("name", ["ngram", "suffix"])
    def test_methods_that_may_propose_nothing(self, name: str) -> None:
        base = facts(30.0, active=name, replicas=pods(30.0, drafts=None))
        table = CutoffTable((replace(TWO_ROWS.rows[0], profile=name), TWO_ROWS.rows[1]))
        decision = about_to_switch(facts=base, settings=settings(cutoff=table))
        assert decision.outcome is Outcome.SWITCH

    def test_pod_of_another_profile(self) -> None:
        decision = about_to_switch(facts=with_replica(facts(30.0), 2, profile="none"))
        assert_held(decision, Reason.PROFILE_MISMATCH, "profile_match", "started with profile none")

    def test_label_that_names_no_profile_says_nothing(self) -> None:
        renamed = with_replica(facts(30.0), 2, profile="old-name")
        assert about_to_switch(facts=renamed).outcome is Outcome.SWITCH


class TestCausesComeFirst:
    """What would hide a cause behind its consequence."""

    def test_rollout_before_missing_data(self) -> None:
        rolling = RolloutFacts(updated=1, available=3, desired=4)
        decision = about_to_switch(facts=facts(replicas=[], rollout=rolling))
        assert decision.reason is Reason.ROLLOUT_UNDER_WAY

    def test_endpoint_before_silent_pods(self) -> None:
        silent = [replica("pod-0")]
        decision = about_to_switch(facts=facts(replicas=silent, telemetry=endpoint(error="down")))
        assert decision.reason is Reason.TELEMETRY_UNAVAILABLE

    def test_settling_before_missing_data(self) -> None:
        decision = about_to_switch(
            facts=facts(replicas=[replica("p")]), memory=memory(switch(10.0))
        )
        assert decision.reason is Reason.REPLICAS_SETTLING

    def test_passed_checks_are_listed_in_order(self) -> None:
        decision = about_to_switch(facts=facts(replicas=[replica("pod-0")]))
        assert decision.diagnostics.passed == (
            "suspended",
            "target",
            "cutoff",
            "rollout",
            "own_roll",
            "active_profile",
            "telemetry",
            "ready_replicas",
            "settling",
            "finite_data",
        )
