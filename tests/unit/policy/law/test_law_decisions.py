"""What the law decides, and says, in one situation after another."""

import math
from dataclasses import replace

import pytest

from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import LawMemory, SlowMemory, Turn
from ridgeline.policy.law.settings import LawSettings, Objective
from ridgeline.policy.law.terms import Direction, LawMode, LawReason, Preference
from tests.unit.policy.law.law_moments import (
    D_STAR,
    EAGLE,
    NGRAM,
    NONE,
    NOW,
    inputs,
    knowing_peak,
    lasting,
    surge,
)

D_SAFE = 0.9 * 3 * 2200.0
"""Nine tenths of three replicas of EAGLE: the least that a phase without surge carries."""


def test_a_calm_fleet_stays_and_says_where_it_would_move() -> None:
    decision = lasting(inputs(4000.0), 120.0)
    assert (decision.reason, decision.wish, decision.go) == (LawReason.STAYS, "eagle", False)
    assert "eagle stays; none is for more than 5940 tokens/s" in decision.message


def test_act_at_values_follow_the_formulas_without_surge() -> None:
    found = lasting(inputs(4000.0), 60.0).act_at
    assert found is not None
    assert found.cutoff_concurrency == pytest.approx(40.0)
    assert found.cutoff_demand == pytest.approx(D_STAR)
    assert found.safe_demand == pytest.approx(D_SAFE)
    assert found.off_demand == pytest.approx(min(0.85 * D_STAR, D_SAFE))
    assert found.on_demand == pytest.approx(0.9 * D_SAFE)
    assert found.off_concurrency == pytest.approx(EAGLE.concurrency_at(D_SAFE / 4))
    assert found.on_concurrency == pytest.approx(NONE.concurrency_at(0.9 * D_SAFE / 4))
    assert found.mode is LawMode.INSURED


def test_with_surge_it_acts_nearer_to_the_cut_off() -> None:
    found = lasting(inputs(4000.0, strategy=surge()), 60.0).act_at
    assert found is not None
    assert found.safe_demand == pytest.approx(0.9 * 4 * 2200.0)
    assert found.off_demand == pytest.approx(0.9 * D_STAR)


def test_an_uncertain_cut_off_is_left_from_its_lower_edge() -> None:
    found = lasting(inputs(4000.0, strategy=surge(), lower_edges=(0.75,)), 60.0).act_at
    assert found is not None
    low = 4 * NONE.tokens_at(0.75 * 40.0)
    assert found.off_demand == pytest.approx(0.9 * low)
    assert found.cutoff_demand == pytest.approx(D_STAR)


def test_demand_above_off_must_last_a_minute() -> None:
    seen = inputs(7000.0, strategy=surge())
    early = lasting(seen, 45.0)
    assert (early.reason, early.wish, early.go) == (LawReason.STAYS, "eagle", False)
    seen = inputs(7300.0, strategy=surge())
    early = lasting(seen, 45.0)
    assert (early.reason, early.wish, early.go) == (LawReason.DWELLING, "none", False)
    late = lasting(seen, 60.0)
    assert (late.reason, late.wish, late.go) == (LawReason.DEMAND_ABOVE_OFF, "none", True)
    assert late.direction is Direction.BUSIER
    assert "7300 tokens/s, above 7200" in late.message


def test_concurrency_alone_is_a_sign() -> None:
    seen = inputs(5000.0, strategy=surge(), concurrency=45.0)
    decision = lasting(seen, 60.0)
    assert (decision.reason, decision.go) == (LawReason.CONCURRENCY_ABOVE_OFF, True)


@pytest.mark.parametrize(
    "sign",
    [
        {"waiting_for_capacity": 2.0},
        {"waiting_for_capacity": None, "queued_requests": 8.0},
        {"preemptions_per_second": 0.1},
    ],
)
def test_saturation_alone_is_a_sign(sign: dict[str, float | None]) -> None:
    decision = lasting(inputs(4000.0, **sign), 60.0)
    assert (decision.reason, decision.wish, decision.go) == (LawReason.SATURATED, "none", True)


@pytest.mark.parametrize(
    "calm",
    [
        {"waiting_requests": 9.0},
        {"waiting_for_capacity": 0.0, "queued_requests": 8.0},
        {"waiting_for_capacity": None, "queued_requests": 3.0},
        {"preemptions_per_second": 0.01},
    ],
)
def test_waiting_for_other_reasons_is_no_saturation(calm: dict[str, float | None]) -> None:
    assert lasting(inputs(4000.0, **calm), 120.0).reason is LawReason.STAYS


def test_switching_on_needs_all_signs_for_ten_minutes() -> None:
    seen = inputs(4000.0, running="none")
    early = lasting(seen, 585.0)
    assert (early.reason, early.wish) == (LawReason.DWELLING, "eagle")
    late = lasting(seen, 600.0)
    assert (late.reason, late.wish, late.go) == (LawReason.ALL_QUIET, "eagle", True)
    assert late.direction is Direction.QUIETER


@pytest.mark.parametrize(
    "other",
    [
        {"demand": 6000.0},
        {"concurrency": 40.0},
        {"waiting_for_capacity": 2.0},
        {"preemptions_per_second": 1.0},
    ],
)
def test_one_sign_that_is_missing_keeps_it_off(other: dict[str, float]) -> None:
    demand = other.pop("demand", 4000.0)
    decision = lasting(inputs(demand, running="none", **other), 1200.0)
    assert (decision.reason, decision.wish) == (LawReason.STAYS, "none")


def test_a_roll_that_the_fleet_cannot_carry_waits_until_servers_are_full() -> None:
    short = inputs(7500.0)
    held = lasting(short, 120.0)
    assert (held.reason, held.wish, held.go) == (LawReason.ROLL_WOULD_SATURATE, "none", False)
    assert lasting(replace(short, waiting_for_capacity=9.0), 120.0).go
    assert lasting(replace(short, strategy=surge()), 120.0).go
    assert lasting(short, 585.0).reason is LawReason.ROLL_WOULD_SATURATE
    assert lasting(short, 600.0).go
    assert not lasting(inputs(6600.0), 1200.0).go
    crowd = replace(short, waiting_for_capacity=9.0, schedule=ScheduleNow(crowd_is_short=True))
    assert lasting(crowd, 900.0).reason is LawReason.ROLL_WOULD_SATURATE


def test_full_servers_are_not_rolled_for_a_profile_that_carries_hardly_more() -> None:
    like = replace(NONE, tokens_per_second=(600.0, 1100.0, 2000.0, 2300.0))
    seen = inputs(8700.0, curves=(EAGLE, like), waiting_for_capacity=9.0)
    assert lasting(seen, 900.0).reason is LawReason.ROLL_WOULD_SATURATE


def test_a_small_fleet_without_surge_is_told_that_little_can_be_gained() -> None:
    strategy = RollStrategy(replicas=2, surge=0, unavailable=1)
    decision = lasting(inputs(3000.0, engines=2, replicas=2, strategy=strategy), 60.0)
    assert decision.reason is LawReason.TOO_SMALL_TO_ROLL
    assert "little can be gained (allow maxSurge 1)" in decision.message


def test_a_single_replica_is_not_stopped_for_a_roll_at_low_demand() -> None:
    strategy = RollStrategy(replicas=1, surge=0, unavailable=1)
    alone = inputs(1000.0, engines=1, replicas=1, strategy=strategy)
    decision = lasting(alone, 3600.0)
    assert (decision.reason, decision.go) == (LawReason.TOO_SMALL_TO_ROLL, False)
    assert lasting(replace(alone, waiting_for_capacity=3.0), 120.0).go


def test_a_single_replica_without_surge_is_told_what_would_let_it_switch_on() -> None:
    alone = RollStrategy(replicas=1, surge=0, unavailable=1)
    found = lasting(inputs(100.0, running="none", engines=1, strategy=alone), 60.0)
    assert "would stop every replica at once" in found.message
    assert "maxSurge 1" in found.message


def test_nothing_is_decided_while_a_roll_is_under_way_or_settles() -> None:
    busy = inputs(7300.0, strategy=surge())
    rolling = replace(busy, roll=RollState(rolling=True, updated=1))
    assert lasting(rolling, 900.0).reason is LawReason.ROLLING
    ended = RollState(started_at=NOW - 900.0, finished_at=NOW)
    assert lasting(replace(busy, roll=ended), 105.0).reason is LawReason.SETTLING
    assert lasting(replace(busy, roll=ended), 120.0).reason is LawReason.DWELLING
    full = replace(busy, roll=ended, waiting_for_capacity=9.0)
    assert lasting(full, 585.0).reason is LawReason.SETTLING
    assert lasting(full, 600.0 + 60.0).go


def test_the_cooldown_binds_switching_on_and_lasts_by_mode() -> None:
    ended = RollState(started_at=NOW - 900.0, finished_at=NOW)
    quiet = inputs(4000.0, running="none", roll=ended)
    assert lasting(quiet, 1785.0).reason is LawReason.COOLDOWN
    assert lasting(quiet, 1800.0).go
    regret = knowing_peak(0.8)
    held = lasting(quiet, 885.0, memory=regret)
    assert held.reason is LawReason.COOLDOWN
    assert lasting(quiet, 900.0, memory=regret).reason is LawReason.REGRET
    off = inputs(7300.0, strategy=surge(), roll=ended)
    assert lasting(off, 200.0).go


def test_the_last_switch_of_the_budget_is_kept_for_going_busier() -> None:
    quiet = inputs(4000.0, running="none", switches_left=1)
    assert lasting(quiet, 600.0).reason is LawReason.BUDGET_SPENT
    assert lasting(replace(quiet, switches_left=2), 600.0).go
    busy = inputs(7300.0, strategy=surge(), switches_left=1)
    assert lasting(busy, 60.0).go
    assert lasting(replace(busy, switches_left=0), 60.0).reason is LawReason.BUDGET_SPENT


def test_partial_sight_is_scaled_and_enough_for_off_only() -> None:
    busy = inputs(7300.0 * 0.8, strategy=surge(), seen_share=0.8, concurrency=30.0)
    assert lasting(busy, 60.0).reason is LawReason.DEMAND_ABOVE_OFF
    quiet = inputs(4000.0, running="none", seen_share=0.99)
    held = lasting(quiet, 1200.0)
    assert (held.reason, held.wish, held.go) == (LawReason.PARTIAL_DATA, "eagle", False)
    assert lasting(replace(busy, seen_share=0.79), 60.0).reason is LawReason.BLIND


@pytest.mark.parametrize(
    "missing",
    [
        {"generated_tokens_per_second": None},
        {"generated_tokens_per_second": math.nan},
        {"generated_tokens_per_second": math.inf},
        {"concurrency": None},
        {"concurrency": -1.0},
        {"engines": 0},
        {"seen_share": math.nan},
    ],
)
def test_it_holds_without_the_numbers_it_needs(missing: dict[str, float | None]) -> None:
    seen: LawInputs = replace(inputs(9000.0), **missing)  # type: ignore[arg-type]
    decision = lasting(seen, 300.0)
    assert (decision.reason, decision.wish, decision.go) == (LawReason.BLIND, "eagle", False)


def test_time_passed_blind_is_no_evidence() -> None:
    busy = inputs(7300.0, strategy=surge())
    before = lasting(busy, 45.0)
    blind = step(replace(busy, concurrency=None), LawSettings(), before.memory, NOW + 60.0)
    after = step(busy, LawSettings(), blind.memory, NOW + 75.0)
    assert after.reason is LawReason.DWELLING
    gap = step(busy, LawSettings(), before.memory, NOW + 45.0 + 91.0)
    assert gap.reason is LawReason.DWELLING
    assert gap.memory.fast.busier_since == NOW + 45.0 + 91.0


def test_a_profile_without_a_curve_is_left_alone() -> None:
    assert lasting(inputs(9000.0, running="other"), 300.0).reason is LawReason.NO_CURVE


def test_nothing_is_decided_by_a_clock_that_shows_no_time() -> None:
    decision = step(inputs(9000.0), LawSettings(), LawMemory(), math.nan)
    assert (decision.reason, decision.go) == (LawReason.BLIND, False)


def test_a_peak_below_the_cut_off_makes_it_stay_where_insurance_would_move() -> None:
    seen = inputs(6800.0)
    assert lasting(seen, 60.0).wish == "none"
    calm = lasting(seen, 1800.0, memory=knowing_peak(0.9))
    assert (calm.reason, calm.wish) == (LawReason.STAYS, "eagle")
    assert calm.act_at is not None
    assert calm.act_at.mode is LawMode.REGRET
    assert calm.act_at.peak == pytest.approx(0.9)


def test_regret_leaves_for_what_it_has_cost_and_not_before() -> None:
    seen = inputs(8600.0, strategy=surge())
    memory = knowing_peak(1.0)
    first = step(seen, LawSettings(), memory, NOW)
    assert first.act_at is not None
    assert first.act_at.roll_cost is not None
    # 55 requests per engine on EAGLE against 43 on none: 4·(55 − 1.05·43.25) per second.
    rate = 4 * (EAGLE.concurrency_at(2150.0) - 1.05 * NONE.concurrency_at(2150.0))  # type: ignore[operator]
    seconds = 0.5 * first.act_at.roll_cost / rate
    early = lasting(seen, seconds - 30.0, memory=memory)
    assert (early.reason, early.wish, early.go) == (LawReason.DWELLING, "none", False)
    late = lasting(seen, seconds + 30.0, memory=memory)
    assert (late.reason, late.wish, late.go) == (LawReason.REGRET, "none", True)


def test_regret_mode_escapes_from_saturation_that_is_no_burst() -> None:
    seen = inputs(4000.0, waiting_for_capacity=9.0)
    memory = knowing_peak(0.7)
    assert not lasting(seen, 465.0, memory=memory).go
    assert lasting(seen, 480.0, memory=memory).reason is LawReason.SATURATED
    spare = replace(seen, strategy=surge())
    assert not lasting(spare, 105.0, memory=memory).go
    assert lasting(spare, 120.0, memory=memory).reason is LawReason.SATURATED


def test_regret_mode_does_not_leave_for_a_queue_that_is_being_worked_off() -> None:
    memory = knowing_peak(0.7)
    for index in range(80):
        queue = 1800.0 - 20.0 * index
        seen = inputs(8000.0, waiting_for_capacity=queue, waiting_requests=queue)
        decision = lasting(seen, 0.0, memory=memory, now=NOW + 15.0 * index)
        assert not decision.go
        memory = decision.memory


def test_preferring_throughput_insures_whatever_the_peak() -> None:
    settings = LawSettings(objective=Objective(prefer=Preference.THROUGHPUT))
    decision = lasting(inputs(6800.0), 60.0, memory=knowing_peak(0.7), settings=settings)
    assert decision.wish == "none"


def test_a_latency_limit_keeps_the_profile_that_holds_it() -> None:
    # At 7200 tokens/s none needs 36.4 requests per engine: 20 ms per token; EAGLE 30: 16.7 ms.
    tight = LawSettings(objective=Objective(tpot_limit_seconds=0.018))
    seen = inputs(7300.0, strategy=surge())
    assert lasting(seen, 60.0).wish == "none"
    held = lasting(seen, 120.0, settings=tight)
    assert held.act_at is not None
    assert held.act_at.off_demand is not None
    assert 7300.0 < held.act_at.off_demand < D_STAR
    assert held.wish == "eagle"


def test_a_latency_limit_leaves_a_profile_whose_tail_breaks_it() -> None:
    objective = Objective(tpot_limit_seconds=0.020, tails=(("eagle", 1.8),))
    decision = lasting(inputs(5500.0), 60.0, settings=LawSettings(objective=objective))
    assert decision.wish == "none"
    assert decision.act_at is not None
    limit = decision.act_at.off_demand
    assert limit is not None
    at = EAGLE.concurrency_at(limit / 4)
    assert at is not None
    assert 1.8 * EAGLE.seconds_per_token_at(at) == pytest.approx(0.020)


def test_a_schedule_is_followed_ahead_of_the_load() -> None:
    seen = inputs(2000.0, schedule=ScheduleNow(profile="none"))
    assert lasting(seen, 45.0).reason is LawReason.DWELLING
    assert lasting(seen, 60.0).reason is LawReason.SCHEDULED
    on = inputs(4000.0, running="none", schedule=ScheduleNow(profile="eagle"))
    assert lasting(on, 60.0).reason is LawReason.SCHEDULED
    busy = inputs(6500.0, running="none", schedule=ScheduleNow(profile="eagle"))
    assert lasting(busy, 900.0).wish == "none"


def test_a_schedule_keeps_a_fleet_off_and_never_on() -> None:
    quiet = inputs(2000.0, running="none")
    named = replace(quiet, schedule=ScheduleNow(profile="none"))
    assert lasting(named, 900.0).reason is LawReason.SCHEDULE_FORBIDS
    forbidden = replace(quiet, schedule=ScheduleNow(no_switch_on=True))
    assert lasting(forbidden, 900.0).reason is LawReason.SCHEDULE_FORBIDS
    busy = inputs(7300.0, strategy=surge(), schedule=ScheduleNow(profile="eagle"))
    assert lasting(busy, 60.0).reason is LawReason.DEMAND_ABOVE_OFF


def test_the_opposite_of_a_recent_decision_at_the_same_load_is_locked_and_told() -> None:
    turn = Turn(
        at=NOW - 3 * 3600.0,
        from_profile="eagle",
        to_profile="none",
        demand=1050.0,
        concurrency=55.0,
    )
    memory = LawMemory(slow=SlowMemory(running="none", turn=turn))
    held = lasting(inputs(4000.0, running="none"), 600.0, memory=memory)
    assert (held.reason, held.go) == (LawReason.LOCKED, False)
    assert held.notice is not None
    assert "locked for 6 h" in held.notice
    assert held.memory.slow.locked_until == NOW + 600.0 + 21_600.0
    again = step(inputs(4000.0, running="none"), LawSettings(), held.memory, NOW + 615.0)
    assert (again.reason, again.notice) == (LawReason.STAYS, None)
    lower = lasting(inputs(2000.0, running="none"), 600.0, memory=memory)
    assert lower.go


def test_after_the_lock_the_same_load_still_does_not_switch_on() -> None:
    turn = Turn(
        at=NOW - 3 * 3600.0,
        from_profile="eagle",
        to_profile="none",
        demand=1050.0,
        concurrency=55.0,
    )
    memory = LawMemory(slow=SlowMemory(running="none", turn=turn))
    held = lasting(inputs(4000.0, running="none"), 600.0, memory=memory)
    later = NOW + 8 * 3600.0
    still = lasting(inputs(4000.0, running="none"), 1200.0, memory=held.memory, now=later)
    assert (still.reason, still.wish) == (LawReason.STAYS, "none")
    lower = lasting(inputs(3400.0, running="none"), 1200.0, memory=held.memory, now=later)
    assert lower.go
    forgotten = NOW + 10 * 86_400.0
    again = lasting(inputs(4000.0, running="none"), 1200.0, memory=held.memory, now=forgotten)
    assert again.go


def test_demand_moves_past_every_border_that_it_has_passed() -> None:
    three = (EAGLE, NGRAM, NONE)
    found = lasting(inputs(4000.0, curves=three, strategy=surge()), 15.0)
    assert found.act_at is not None
    assert (found.act_at.quieter, found.act_at.busier) == ("eagle", "ngram")
    some = lasting(inputs(7400.0, curves=three, strategy=surge()), 60.0)
    assert (some.wish, some.go) == ("ngram", True)
    much = lasting(inputs(8700.0, curves=three, strategy=surge()), 60.0)
    assert (much.wish, much.go) == ("none", True)


def test_quiet_moves_down_as_far_as_every_border_allows() -> None:
    three = (EAGLE, NGRAM, NONE)
    deep = lasting(inputs(2000.0, running="none", curves=three, strategy=surge()), 600.0)
    assert (deep.wish, deep.go) == ("eagle", True)
    part = lasting(inputs(6000.0, running="none", curves=three, strategy=surge()), 600.0)
    assert (part.wish, part.go) == ("ngram", True)


def test_full_servers_that_deliver_less_than_predicted_are_left_although_curves_never_cross() -> (
    None
):
    better = replace(EAGLE, tokens_per_second=(1000.0, 1700.0, 2500.0, 3000.0))
    seen = inputs(8000.0, curves=(better, NONE), waiting_for_capacity=9.0, waiting_requests=9.0)
    decision = lasting(seen, 60.0)
    assert (decision.reason, decision.wish, decision.go) == (LawReason.SATURATED, "none", True)
    calm = replace(seen, waiting_for_capacity=0.0)
    assert lasting(calm, 1200.0).wish == "eagle"
    as_predicted = replace(seen, generated_tokens_per_second=11_000.0)
    assert lasting(as_predicted, 1200.0).wish == "eagle"
