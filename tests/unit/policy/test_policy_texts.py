"""Estimates, wording, and the lines of `explain`."""

import math

import pytest

from ridgeline.policy.estimate import estimate
from ridgeline.policy.explain import explain_lines
from ridgeline.policy.facts import Problem, RolloutFacts
from ridgeline.policy.fleet import Fleet, join
from ridgeline.policy.wording import duration, names, number, number_beside
from ridgeline.terms.explanations import EXPLANATIONS
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from tests.unit.policy.moments import (
    about_to_return,
    about_to_switch,
    endpoint,
    engine,
    facts,
    memory,
    replica,
    settings,
    switch,
)


class TestEstimates:
    def test_means_are_per_token_and_per_request_step(self) -> None:
        slow = engine(
            10.0,
            generated_tokens_per_second=100.0,
            tpot_seconds=0.02,
            request_steps_per_second=50.0,
            acceptance_length=2.0,
        )
        fast = engine(
            30.0,
            age_seconds=9.0,
            generated_tokens_per_second=300.0,
            tpot_seconds=0.04,
            request_steps_per_second=150.0,
            acceptance_length=3.0,
        )
        young = replica("c", engine(99.0, age_seconds=50.0), ready=1.0)
        fleet = join((replica("a", slow), replica("b", fast), young, replica("d")), endpoint())
        seen = estimate(fleet)
        assert seen.concurrency == 20.0
        assert seen.tokens_per_second == 400.0
        assert seen.tpot_seconds == pytest.approx(0.035)
        assert seen.acceptance_length == pytest.approx(2.75)
        assert seen.oldest_age_seconds == 9.0
        assert (seen.joined_replicas, seen.expected_replicas, seen.pending_replicas) == (2, 3, 1)

    def test_what_is_not_known_is_none(self) -> None:
        assert estimate(Fleet()).concurrency is None
        half = [engine(1.0, generated_tokens_per_second=5.0), engine(1.0, "1")]
        assert estimate(join((replica("a", *half),), endpoint())).tokens_per_second is None
        odd = engine(1.0, tpot_seconds=math.nan, generated_tokens_per_second=5.0)
        assert estimate(join((replica("a", odd),), endpoint())).tpot_seconds is None
        idle = engine(0.0, tpot_seconds=0.02, generated_tokens_per_second=0.0)
        seen = estimate(join((replica("a", idle),), endpoint()))
        assert (seen.concurrency, seen.tpot_seconds, seen.tokens_per_second) == (0.0, None, 0.0)
        weightless = engine(1.0, tpot_seconds=0.02, generated_tokens_per_second=math.inf)
        assert estimate(join((replica("a", weightless),), endpoint())).tpot_seconds is None
        huge = engine(1.0, tpot_seconds=1.7e308, generated_tokens_per_second=1.7e308)
        assert estimate(join((replica("a", huge),), endpoint())).tpot_seconds is None

    def test_the_mean_of_equal_numbers_is_that_number(self) -> None:
        fleet = join(tuple(replica(f"p{i}", engine(0.1)) for i in range(3)), endpoint())
        assert estimate(fleet).concurrency == 0.1


class TestWording:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (31.2345, "31.2"),
            (20.0, "20"),
            (0.123456, "0.12"),
            (9.996, "10"),
            (123.4, "123"),
            (1500.0, "1500"),
            (2.5e9, "2.5e+09"),
            (0.0, "0"),
            (-3.5, "-3.5"),
        ],
    )
    def test_number(self, value: float, text: str) -> None:
        assert number(value) == text

    @pytest.mark.parametrize(
        ("value", "limit", "text"),
        [
            (19.999, 20.0, "19.999"),
            (20.0, 20.0, "20"),
            (25.0, 20.0, "25"),
            (20 - 1e-7, 20.0, "19.9999999"),
            (math.nextafter(20.0, 0.0), 20.0, "19.999999999999996"),
        ],
    )
    def test_beside_a_limit(self, value: float, limit: float, text: str) -> None:
        assert number_beside(value, limit) == text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(74.0, "74 s"), (599.0, "599 s"), (600.0, "10 min"), (7200.0, "2 h"), (45000.0, "12.5 h")],
    )
    def test_duration(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text

    def test_names(self) -> None:
        assert names(("a", "b", "c")) == "a, b, c"
        assert names(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"


class TestExplain:
    def test_every_comparison_has_a_line(self) -> None:
        decision = about_to_return(memory=memory(switch(1000.0), towards="eagle2"))
        text = "\n".join(explain_lines(decision, settings()))
        assert decision.message in text
        assert "Decided by: cooldown" in text
        assert "Passed before: suspended, target" in text
        assert "recommended: eagle2" in text
        for each in decision.diagnostics.comparisons:
            assert (
                f"  {each.name}: {number(each.value)} {each.relation} {number(each.limit)}" in text
            )
            assert each.consequence in text
        assert EXPLANATIONS[Reason.COOLDOWN].way_out in text
        assert (
            "To eagle2: concurrency per engine below 16 for 10 min, every replica seen, and 30 min "
            "after the last roll." in text
        )

    def test_a_keep_says_what_would_change_it(self) -> None:
        decision = about_to_switch(10.0)
        lines = explain_lines(decision, settings())
        assert lines[-1] == "  To none: concurrency per engine at 20 or above for 60 s."
        assert "Profile: eagle2; recommended: eagle2 (the same)" in lines
        assert "  replicas: 4 of 4 seen, 0 too young to count" in lines
        assert "  time per output token: not known" in lines

    def test_nothing_compared(self) -> None:
        rolling = RolloutFacts(updated=1, available=3, desired=4)
        lines = explain_lines(about_to_switch(facts=facts(rollout=rolling)), settings())
        assert "  nothing" in lines
        assert EXPLANATIONS[Reason.ROLLOUT_UNDER_WAY].way_out in "\n".join(lines)

    def test_without_a_table(self) -> None:
        unknown = Problem(reason=Reason.ACCELERATOR_UNKNOWN, message="set spec.cutoff")
        none = settings(cutoff=unknown)
        lines = explain_lines(about_to_switch(settings=none), none)
        assert lines[-1] == f"  {EXPLANATIONS[Reason.ACCELERATOR_UNKNOWN].way_out}"

    def test_recommend_only_is_said(self) -> None:
        looking = settings(mode=Mode.RECOMMEND_ONLY)
        lines = explain_lines(about_to_switch(10.0, settings=looking), looking)
        assert "RecommendOnly changes nothing" in lines[-1]
