"""What telemetry teaches of the profiles, what it does not, and when status is told."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.policy.facts import Facts, Problem, RolloutFacts
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.learning import (
    GAIN,
    LEAST_REQUEST_STEPS,
    WRITE_SECONDS,
    Learning,
    learn,
    worth_writing,
)
from ridgeline.policy.situation import Situation
from ridgeline.terms.reasons import Reason
from tests.unit.policy import moments
from tests.unit.policy.predicted import (
    BASIS,
    NOW,
    RATES,
    WINDOW,
    arm,
    engine,
    facts,
    learned,
    pods,
    prediction,
    situation,
)


def after(*seen: Situation, known: Learned | None = None) -> Learning:
    """Learn from one moment after the other."""
    learning = Learning()
    for each in seen:
        learning = learn(each, known, learning)
    return learning


def at(window: float, seen: Facts | None = None, **changed: Any) -> Situation:
    """The moment so many windows later."""
    now = NOW + window * WINDOW
    given = facts(now=now) if seen is None else seen
    answered = moments.endpoint(now=now)
    return situation(replace(given, telemetry=answered), now=now, **changed)


def of(learning: Learning, profile: str = "eagle2") -> LearnedArm:
    assert learning.learned is not None
    found = learning.learned.arm(profile)
    assert found is not None
    return found


class TestWhatOneWindowTeaches:
    def test_the_first_window_is_taken_as_it_is(self) -> None:
        learning = after(at(0))
        assert learning.learned == Learned(
            basis=BASIS,
            context_tokens=500.0,
            prefill_per_token=0.5,
            arms=(LearnedArm(profile="eagle2", acceptance=RATES, drafted=1.0),),
        )

    def test_the_next_moves_it_by_the_gain(self) -> None:
        other = facts(
            engines={
                "acceptance": (0.8, 0.4, 0.2),
                "mean_prompt_tokens": 900.0,
                "prompt_tokens_per_second": 1000.0,
                "drafts_per_second": 250.0,
            }
        )
        learning = after(at(0), at(1, other))
        moved = of(learning)
        assert moved.acceptance == pytest.approx((0.64, 0.32, 0.12))
        assert moved.drafted == pytest.approx(1.0 - GAIN * 0.5)
        assert learning.learned is not None
        assert learning.learned.context_tokens == pytest.approx(600.0)
        assert learning.learned.prefill_per_token == pytest.approx(0.6)

    def test_means_are_weighted_by_what_they_are_means_of(self) -> None:
        busy = engine(20.0, acceptance=(0.9, 0.6, 0.3), drafts_per_second=900.0)
        calm = engine(10.0, acceptance=(0.5, 0.2, 0.1), drafts_per_second=100.0)
        busy = replace(busy, mean_prompt_tokens=1900.0, generated_tokens_per_second=300.0)
        calm = replace(calm, mean_prompt_tokens=900.0, generated_tokens_per_second=100.0)
        busy = replace(busy, prompt_tokens_per_second=90.0)
        calm = replace(calm, prompt_tokens_per_second=10.0)
        learning = after(at(0, facts(replicas=pods(busy, calm), desired=2)))
        assert of(learning).acceptance == pytest.approx((0.86, 0.56, 0.28))
        assert learning.learned is not None
        assert learning.learned.context_tokens == pytest.approx(1750.0)
        assert learning.learned.prefill_per_token == pytest.approx(0.25)
        assert of(learning).drafted == pytest.approx(1000.0 / (800.0 + 500.0))

    def test_steps_in_which_a_schedule_drafts_nothing_teach_no_share_of_hits(self) -> None:
        half = facts(engines={"drafts_per_second": 100.0})
        scheduled = prediction(lengths={}, scheduled=("eagle2",))
        always = after(at(0, half))
        assert of(always).drafted is not None
        taught = of(after(at(0, half, prediction=scheduled)))
        assert taught.drafted is None
        assert taught.acceptance == of(always).acceptance

    def test_not_one_digit_depends_on_the_order_of_engines(self) -> None:
        some = [
            engine(
                7.0 + index / 3.0,
                slower=1.1 + index / 7.0,
                acceptance=(0.7 - index / 30.0, 0.3 - index / 30.0, 0.1),
                mean_prompt_tokens=100.0 / (index + 1),
            )
            for index in range(6)
        ]
        for turned in (some[::-1], [*some[3:], *some[:3]]):
            one = after(at(0, facts(replicas=pods(*some))), at(1, facts(replicas=pods(*some))))
            other = after(
                at(0, facts(replicas=pods(*turned))), at(1, facts(replicas=pods(*turned)))
            )
            assert one == other

    def test_sums_are_exact(self) -> None:
        prompts = (1e16, 1.0, 1.0, 1.0)
        for turned in (prompts, prompts[::-1]):
            some = [
                engine(prompt_tokens_per_second=each, generated_tokens_per_second=1.0)
                for each in turned
            ]
            learning = after(at(0, facts(replicas=pods(*some))))
            assert learning.learned is not None
            assert learning.learned.prefill_per_token == (1e16 + 4.0) / 4.0

    def test_a_later_position_never_counts_more_than_an_earlier(self) -> None:
        learning = after(at(0, facts(engines={"acceptance": (0.6, 0.6001, 1.7)})))
        assert of(learning).acceptance == (0.6, 0.6, 0.6)

    def test_engines_of_another_lookahead_teach_no_acceptance(self) -> None:
        mixed = pods(engine(), engine(acceptance=(0.6, 0.3)))
        learning = after(at(0, facts(replicas=mixed, desired=2)))
        assert of(learning) == LearnedArm(profile="eagle2", drafted=1.0)

    def test_another_lookahead_starts_the_acceptance_anew(self) -> None:
        learning = after(at(0), at(1, facts(engines={"acceptance": (0.5, 0.2)})))
        assert of(learning).acceptance == (0.5, 0.2)

    def test_a_profile_without_speculation_teaches_no_acceptance(self) -> None:
        seen = facts(active="none", engines={"acceptance": RATES, "drafts_per_second": 9.0})
        learning = after(at(0, seen))
        assert learning.learned is not None
        assert learning.learned.arms == ()

    @pytest.mark.parametrize("broken", [None, math.nan, math.inf])
    def test_what_is_not_known_or_not_finite_leaves_the_rest(self, broken: float | None) -> None:
        names = ("mean_prompt_tokens", "prompt_tokens_per_second", "step_seconds")
        learning = after(at(0, facts(engines=dict.fromkeys(names, broken))))
        assert learning.learned is not None
        assert learning.learned.context_tokens is None
        assert learning.learned.prefill_per_token is None
        assert of(learning).acceptance == RATES


class TestStepTime:
    def test_it_is_learned_where_two_windows_show_one_concurrency(self) -> None:
        slow = facts(engines={"slower": 1.2})
        one, two = after(at(0, slow)), after(at(0, slow), at(1, slow))
        assert of(one).windows == 0
        assert of(two).windows == 1
        assert of(two).log_scale == pytest.approx(0.5 * math.log(1.2))

    def test_it_ends_at_what_is_observed(self) -> None:
        slow = facts(engines={"slower": 1.2})
        learning = after(*(at(index, slow) for index in range(200)))
        assert of(learning).log_scale == pytest.approx(math.log(1.2), rel=0.01)

    def test_the_scale_that_the_curves_have_in_them_is_taken_out(self) -> None:
        slow = facts(engines={"slower": 1.2})
        already = {"prediction": prediction(scales={"eagle2": math.log(1.2)})}
        learning = after(at(0, slow, **already), at(1, slow, **already))
        begun, observed = math.log(1.2), math.log(1.2 * 1.2)
        assert of(learning).log_scale == pytest.approx((begun + observed) / 2)

    @pytest.mark.parametrize("level", [8.9, 11.1])
    def test_a_concurrency_that_moved_teaches_none(self, level: float) -> None:
        assert of(after(at(0), at(1, facts(level)))).windows == 0

    @pytest.mark.parametrize("level", [9.1, 10.9])
    def test_a_tenth_is_still_the_same(self, level: float) -> None:
        assert of(after(at(0), at(1, facts(level)))).windows == 1

    def test_another_profile_between_is_no_stable_window(self) -> None:
        learning = after(at(0, facts(active="none")), at(1))
        assert of(learning).windows == 0

    def test_a_blind_window_between_is_no_stable_window(self) -> None:
        blind = facts(replicas=[moments.replica("pod-0")], desired=1)
        assert of(after(at(0), at(1, blind), at(2))).windows == 0
        assert of(after(at(0), at(1, blind), at(2), at(3))).windows == 1

    def test_it_is_weighted_by_request_steps(self) -> None:
        fast = engine(step_seconds=0.01, request_steps_per_second=900.0)
        slow = engine(step_seconds=0.06, request_steps_per_second=100.0)
        both = facts(replicas=pods(fast, slow), desired=2)
        learning = after(at(0, both), at(1, both))
        modelled = 10.0 / 1000.0 * 2.0
        assert of(learning).log_scale == pytest.approx(0.5 * math.log(0.015 / modelled))

    def test_a_profile_without_curve_or_length_teaches_none(self) -> None:
        unknown: dict[str, Any] = {"prediction": prediction(lengths={"none": 1.0})}
        assert of(after(at(0, **unknown), at(1, **unknown))).windows == 0


class TestGates:
    def nothing(self, seen: Situation) -> None:
        learning = learn(seen, None, Learning())
        assert learning.learned == Learned(basis=BASIS)
        assert learning.next_at == 0.0, "the next moment may teach"

    def test_without_a_prediction_nothing_is_kept(self) -> None:
        assert learn(at(0, prediction=None), None, after(at(0))) == Learning()

    def test_a_rollout(self) -> None:
        under_way = RolloutFacts(updated=1, available=4, desired=4)
        self.nothing(at(0, facts(rollout=under_way)))

    def test_no_target(self) -> None:
        gone = Problem(reason=Reason.TARGET_NOT_FOUND, message="gone")
        self.nothing(at(0, facts(target=gone)))

    def test_a_pending_pod(self) -> None:
        young = moments.replica("young", engine(), ready=WINDOW - 1.0)
        self.nothing(at(0, facts(replicas=[*pods(engine()), young])))

    def test_a_pod_that_is_not_seen(self) -> None:
        self.nothing(at(0, facts(replicas=[*pods(engine()), moments.replica("blind")])))

    def test_nobody_at_all(self) -> None:
        self.nothing(at(0, facts(replicas=[])))

    def test_a_pod_of_another_profile(self) -> None:
        old, new = pods(engine(), engine())
        self.nothing(at(0, facts(replicas=[replace(old, profile="none"), new])))
        ours = facts(replicas=[replace(old, profile="eagle2"), new])
        assert of(after(at(0, ours))).acceptance == RATES

    def test_an_active_profile_that_nobody_knows(self) -> None:
        self.nothing(at(0, moments.facts(active=None, replicas=pods(engine()))))
        self.nothing(at(0, moments.facts(active="stranger", replicas=pods(engine()))))

    @pytest.mark.parametrize(("share", "enough"), [(0.99, False), (1.0, True)])
    def test_too_little_traffic(self, share: float, enough: bool) -> None:
        rate = share * LEAST_REQUEST_STEPS / WINDOW
        seen = at(0, facts(count=1, engines={"request_steps_per_second": rate}))
        learning = learn(seen, None, Learning())
        assert learning.learned is not None
        assert bool(learning.learned.arms) is enough

    def test_only_one_update_for_each_window(self) -> None:
        once = after(at(0))
        other = facts(engines={"acceptance": (0.9, 0.8, 0.7)})
        again = learn(at(0.9, other), None, once)
        assert again == once
        assert of(learn(at(1.0, other), None, once)).acceptance != RATES

    def test_a_clock_that_jumped_back_does_not_end_learning(self) -> None:
        once = after(at(100))
        other = facts(engines={"acceptance": (0.9, 0.8, 0.7)})
        assert of(learn(at(0, other), None, once)).acceptance != RATES


class TestWhatStatusHolds:
    def test_a_start_goes_on_from_status(self) -> None:
        known = learned(arm(acceptance=(0.8, 0.4, 0.2), log_scale=0.1, windows=30))
        learning = learn(at(0), known, Learning())
        assert of(learning).acceptance == pytest.approx((0.76, 0.38, 0.18))
        assert of(learning).windows == 30

    def test_the_finer_estimate_goes_on_and_takes_the_time_of_writing_over(self) -> None:
        known = learned(arm(acceptance=(0.8, 0.4, 0.2)))
        fine = Learning(learned=learned(arm(acceptance=(0.79, 0.4, 0.2)), written_at=0.0))
        learning = learn(at(0, facts(replicas=[])), known, fine)
        assert of(learning).acceptance == (0.79, 0.4, 0.2)
        assert learning.learned is not None
        assert learning.learned.written_at == NOW

    def test_another_basis_starts_anew(self) -> None:
        known = learned(arm(), basis="another model")
        assert learn(at(0, facts(replicas=[])), known, Learning()).learned == Learned(basis=BASIS)
        mine = Learning(learned=learned(arm(), basis="another model", written_at=0.0))
        assert learn(at(0, facts(replicas=[])), None, mine).learned == Learned(basis=BASIS)

    def test_what_a_person_took_out_of_status_is_forgotten(self) -> None:
        told = Learning(learned=learned(arm(), written_at=NOW))
        assert learn(at(0, facts(replicas=[])), None, told).learned == Learned(basis=BASIS)

    def test_what_was_never_told_is_kept(self) -> None:
        untold = Learning(learned=learned(arm(), written_at=0.0))
        assert learn(at(0, facts(replicas=[])), None, untold).learned == untold.learned


class TestWhenStatusIsTold:
    KNOWN = learned(arm(windows=3))

    def later(self, seconds: float, **changed: Any) -> bool:
        now = replace(self.KNOWN, arms=(replace(self.KNOWN.arms[0], **changed),))
        return worth_writing(self.KNOWN, now, NOW + seconds)

    def test_nothing_is_not_written(self) -> None:
        assert not worth_writing(None, None, NOW)
        assert not worth_writing(None, Learned(basis=BASIS), NOW)
        assert not worth_writing(self.KNOWN, Learned(basis="another"), NOW)

    def test_what_nobody_knew_is_written_at_once(self) -> None:
        assert worth_writing(None, self.KNOWN, NOW)
        assert worth_writing(None, Learned(basis=BASIS, context_tokens=9.0), NOW)
        assert worth_writing(replace(self.KNOWN, basis="another"), self.KNOWN, NOW)
        assert worth_writing(self.KNOWN, self.KNOWN.with_arm(arm("none", windows=1)), NOW)
        assert worth_writing(replace(self.KNOWN, context_tokens=None), self.KNOWN, NOW)
        assert self.later(0.0, acceptance=(0.6, 0.3))
        first = learned(arm(windows=0))
        assert worth_writing(first, learned(arm(windows=1)), NOW)

    def test_the_same_is_never_written(self) -> None:
        assert not worth_writing(self.KNOWN, self.KNOWN, NOW + 1e9)

    @pytest.mark.parametrize(
        ("small", "large"),
        [
            ({"acceptance": (0.6, 0.329, 0.1)}, {"acceptance": (0.6, 0.331, 0.1)}),
            ({"drafted": 0.98}, {"drafted": 0.96}),
            ({"log_scale": 0.019}, {"log_scale": -0.021}),
            ({"windows": 4}, {"windows": 5}),
        ],
    )
    def test_a_profile_is_written_beyond_the_dead_band_and_not_too_often(
        self, small: dict[str, Any], large: dict[str, Any]
    ) -> None:
        assert not self.later(WRITE_SECONDS, **small)
        assert self.later(WRITE_SECONDS, **large)
        assert not self.later(WRITE_SECONDS - 1.0, **large)

    @pytest.mark.parametrize("before", [-1.0, -1e6])
    def test_a_time_of_writing_ahead_of_now_does_not_silence_it(self, before: float) -> None:
        assert self.later(before, log_scale=0.5)

    @pytest.mark.parametrize(
        ("field", "small", "large"),
        [("context_tokens", 549.0, 551.0), ("prefill_per_token", 0.54, 0.56)],
    )
    def test_the_requests_are_written_when_they_moved_by_a_tenth(
        self, field: str, small: float, large: float
    ) -> None:
        def written(value: float | None, seconds: float = WRITE_SECONDS) -> bool:
            changed: dict[str, Any] = {field: value}
            return worth_writing(self.KNOWN, replace(self.KNOWN, **changed), NOW + seconds)

        assert not written(small)
        assert written(large)
        assert not written(large, WRITE_SECONDS - 1.0)

    def test_few_prompts_are_not_written_for_every_tenth_of_nothing(self) -> None:
        known = replace(self.KNOWN, prefill_per_token=0.001)
        more = replace(known, prefill_per_token=0.01)
        assert not worth_writing(known, more, NOW + WRITE_SECONDS)
