"""The law's arithmetic: demand, cut-offs, what a roll carries and costs, the week's peak."""

import json
import math
from dataclasses import asdict, replace

import pytest

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.capacity import RollPair, batches, least_capacity, phases
from ridgeline.policy.law.cutoff import cutoff, demand_within
from ridgeline.policy.law.demand import observed_demand, recent_high, smooth, with_high
from ridgeline.policy.law.experience import with_ratchet, with_start
from ridgeline.policy.law.gate import mode_at
from ridgeline.policy.law.inputs import RollState, RollStrategy
from ridgeline.policy.law.memory import LawMemory, Learned, SlowMemory
from ridgeline.policy.law.peak import PeakSketch, from_history, merged, peak, with_slot
from ridgeline.policy.law.regret import with_regret
from ridgeline.policy.law.roll_cost import mixed_requests, requests_in_flight, roll_cost
from ridgeline.policy.law.settings import LawSettings, Objective
from ridgeline.policy.law.terms import LawMode, LawReason
from tests.unit.policy.law.law_moments import (
    EAGLE,
    NONE,
    NOW,
    inputs,
    knowing_peak,
    lasting,
    surge,
    week_of,
)

DAY = 86_400.0
ONE_OUT = RollStrategy(replicas=4, surge=0, unavailable=1)


def test_demand_is_what_is_served_and_what_the_queue_grows_by() -> None:
    seen = observed_demand(
        generated=1000.0, waiting_before=10.0, waiting_now=16.0, mean_output=200.0, seconds=15.0
    )
    assert seen == pytest.approx(1000.0 + 200.0 * 6.0 / 15.0)


@pytest.mark.parametrize("unknown", ["waiting_before", "waiting_now", "mean_output"])
def test_demand_is_what_is_served_where_the_queue_is_not_known(unknown: str) -> None:
    queue = {"waiting_before": 1.0, "waiting_now": 9.0, "mean_output": 200.0, unknown: None}
    assert observed_demand(generated=1000.0, seconds=15.0, **queue) == 1000.0


def test_smoothing_goes_by_the_time_that_passed_not_by_the_number_of_ticks() -> None:
    often = 0.0
    for _ in range(8):
        often = smooth(often, 100.0, 15.0, 120.0)
    assert often == pytest.approx(smooth(0.0, 100.0, 120.0, 120.0))
    assert often == pytest.approx(100.0 * (1.0 - math.exp(-1.0)))


def test_a_queue_that_grows_shows_the_demand_that_full_servers_hide() -> None:
    decision = None
    memory = LawMemory()
    waiting = 0.0
    for index in range(40):
        now = NOW + 15.0 * index
        waiting += 15.0 * 1200.0 / 250.0
        seen = inputs(8800.0, waiting_requests=waiting, strategy=surge())
        decision = lasting(seen, 0.0, memory=memory, now=now)
        memory = decision.memory
    assert decision is not None
    assert decision.demand == pytest.approx(10_000.0, rel=0.01)


def test_the_recent_high_forgets_after_five_minutes() -> None:
    highs = with_high((), 50.0, NOW)
    for minute in range(1, 5):
        highs = with_high(highs, 10.0, NOW + 60.0 * minute)
    assert recent_high(highs) == 50.0
    assert recent_high(with_high(highs, 10.0, NOW + 360.0)) == 10.0


def test_two_curves_cross_where_they_deliver_the_same() -> None:
    found = cutoff(EAGLE, NONE, 0.75)
    assert found is not None
    assert (found.concurrency, found.demand) == (40.0, 2000.0)
    assert found.low_demand == NONE.tokens_at(30.0)
    steeper = Curve(profile="none", concurrency=(30.0,), tokens_per_second=(3000.0,))
    between = cutoff(EAGLE, steeper)
    assert between is not None
    assert EAGLE.tokens_at(between.concurrency) == pytest.approx(
        steeper.tokens_at(between.concurrency)
    )


def test_a_profile_that_never_pays_has_its_cut_off_at_nothing_and_one_that_always_pays_none() -> (
    None
):
    never = cutoff(NONE, Curve(profile="x", concurrency=(60.0,), tokens_per_second=(9000.0,)))
    assert never is not None
    assert (never.concurrency, never.demand) == (0.0, 0.0)
    assert (
        cutoff(Curve(profile="x", concurrency=(60.0,), tokens_per_second=(9000.0,)), NONE) is None
    )


def test_most_demand_within_a_latency_limit() -> None:
    for limit in (0.0105, 0.012, 0.015, 0.02, 0.025):
        demand = demand_within(EAGLE, limit)
        at = EAGLE.concurrency_at(demand)
        assert at is not None
        assert EAGLE.seconds_per_token_at(at) == pytest.approx(limit)
    assert demand_within(EAGLE, 0.009) == 0.0
    assert demand_within(EAGLE, 1.0) == EAGLE.capacity


def test_phases_of_a_roll_without_surge_lack_what_is_unavailable() -> None:
    seen = [(each.old, each.new) for each in phases(ONE_OUT, 4)]
    assert seen == [(3, 0), (2, 1), (1, 2), (0, 3)]
    assert [(each.old, each.new) for each in phases(surge(), 4)] == [(4, 0), (3, 1), (2, 2), (1, 3)]
    quarter = RollStrategy(replicas=8, surge=2, unavailable=2)
    assert [(each.old, each.new) for each in phases(quarter, 8)] == [(6, 0), (2, 4)]
    assert phases(RollStrategy(replicas=4, surge=0, unavailable=0), 4) == ()


def test_a_long_roll_is_reckoned_in_few_phases_from_its_first_to_its_last() -> None:
    strategy = RollStrategy(replicas=50, surge=0, unavailable=1)
    seen = phases(strategy, 50)
    assert len(seen) == 8
    assert (seen[0].old, seen[0].new) == (49, 0)
    assert (seen[-1].old, seen[-1].new) == (0, 49)
    assert math.fsum(each.share for each in seen) == pytest.approx(1.0)


def test_what_a_roll_carries_is_its_weakest_phase() -> None:
    roll = RollPair(old=EAGLE, new=NONE, strategy=ONE_OUT, replicas=4, engines_per_replica=1.0)
    assert least_capacity(roll) == 3 * 2200.0
    spare = RollPair(old=EAGLE, new=NONE, strategy=surge(), replicas=4, engines_per_replica=2.0)
    assert least_capacity(spare) == 2 * 4 * 2200.0
    one = RollStrategy(replicas=1, surge=0, unavailable=1)
    alone = RollPair(old=EAGLE, new=NONE, strategy=one, replicas=1, engines_per_replica=1.0)
    assert least_capacity(alone) == 0.0


def test_requests_in_flight_rise_with_demand_also_beyond_capacity() -> None:
    def requests(demand: float) -> float:
        return requests_in_flight(EAGLE, demand=demand, engines=4, mean_output=250.0, horizon=800.0)

    assert requests(4000.0) == pytest.approx(40.0)
    assert requests(8800.0) == pytest.approx(240.0)
    assert requests(9000.0) == pytest.approx(240.0 + 400.0 * 200.0 / 250.0)


def test_mixed_engines_deliver_the_demand_at_one_concurrency() -> None:
    inside = mixed_requests(EAGLE, NONE, 1.0, 3.0, 5000.0)
    level = inside / 4.0
    assert EAGLE.tokens_at(level) + 3 * NONE.tokens_at(level) == pytest.approx(5000.0)
    assert mixed_requests(EAGLE, NONE, 1.0, 3.0, 99_999.0) == 240.0


def cost(demand: float, strategy: RollStrategy) -> float:
    roll = RollPair(old=EAGLE, new=NONE, strategy=strategy, replicas=4, engines_per_replica=1.0)
    return roll_cost(roll, demand=demand, mean_output=250.0, phase_seconds=210.0, cold_seconds=60.0)


def test_a_roll_costs_more_with_a_replica_out_and_most_where_queues_grow() -> None:
    assert cost(0.0, ONE_OUT) == 0.0
    assert 0.0 < cost(4000.0, surge()) < cost(4000.0, ONE_OUT)
    assert cost(6000.0, ONE_OUT) < cost(6500.0, ONE_OUT) < cost(7000.0, ONE_OUT)
    # Where the first phase lacks 400 tokens/s, 336 requests queue before the second begins.
    assert cost(7000.0, ONE_OUT) - cost(6500.0, ONE_OUT) > 0.5 * 336 * 210.0


def test_the_backlog_of_a_roll_is_counted_exactly() -> None:
    flat = Curve(profile="a", concurrency=(10.0,), tokens_per_second=(1000.0,))
    same = Curve(profile="b", concurrency=(10.0,), tokens_per_second=(1000.0,))
    one = RollStrategy(replicas=2, surge=0, unavailable=1)
    roll = RollPair(old=flat, new=same, strategy=one, replicas=2, engines_per_replica=1.0)
    found = roll_cost(roll, demand=1500.0, mean_output=100.0, phase_seconds=100.0, cold_seconds=0.0)
    # Two phases with 1 of 2 engines: 10 instead of 15 requests inside, a backlog that grows by 5
    # per second to 1000 and is worked off at 5 per second, yet for one roll's time at most.
    expected = 200.0 * (10.0 - 15.0) + 0.5 * 200.0 * 1000.0 + 0.5 * 200.0 * 1000.0
    assert found == pytest.approx(expected)


def test_regret_adds_up_what_staying_costs_and_never_goes_below_nothing() -> None:
    settings = LawSettings()
    requests = {"eagle": 120.0, "none": 100.0}
    seen = with_regret(5.0, running="eagle", requests=requests, seconds=10.0, settings=settings)
    assert (seen.request_seconds, seen.towards) == (5.0 + 10.0 * (120.0 - 105.0), "none")
    back = with_regret(5.0, running="none", requests=requests, seconds=10.0, settings=settings)
    assert (back.request_seconds, back.towards) == (0.0, None)


def test_the_gate_asks_for_a_peak_above_the_cut_off_and_leaves_insurance_late() -> None:
    settings = LawSettings()

    def mode(ratio: float | None, *, spare: bool = False, before: LawMode | None = None) -> LawMode:
        return mode_at(peak_ratio=ratio, surge=spare, before=before, settings=settings)

    assert mode(None) is LawMode.INSURED
    assert mode(1.06) is LawMode.INSURED
    assert mode(1.04) is LawMode.REGRET
    assert mode(1.04, before=LawMode.INSURED) is LawMode.INSURED
    assert mode(0.99, before=LawMode.INSURED) is LawMode.REGRET
    assert mode(1.15, spare=True) is LawMode.REGRET
    assert mode(1.21, spare=True) is LawMode.INSURED


def exact_peak(values: list[float]) -> float:
    return sorted(values, reverse=True)[int(0.005 * len(values))]


def wave(slot: int) -> float:
    """A day's wave with a peak that differs from day to day, and a shorter ripple."""
    day, part = divmod(slot, 288)
    return (
        600.0
        + 400.0 * math.sin(math.pi * part / 288.0) * (1.0 + 0.1 * (day * 37 % 7))
        + 40.0 * math.sin(slot * 1.7)
    )


def test_the_peak_of_a_sketch_is_that_of_all_slots_within_a_few_per_cent() -> None:
    last = int(NOW // 300)
    slots = [(last - i, wave(last - i)) for i in range(1, 8 * 288)]
    seen = peak(from_history(slots), NOW)
    today = int(NOW // DAY)
    kept = [value for slot, value in slots if slot * 300 // 86_400 >= today - 7]
    assert seen == pytest.approx(exact_peak(kept), rel=0.02)


def test_one_day_of_crowds_is_enough_to_be_the_peak_and_half_an_hour_is_not() -> None:
    last = int(NOW // 300)

    def with_crowd(slots: int) -> float | None:
        crowd = range(last - 3 * 288, last - 3 * 288 + slots)
        return peak(
            from_history((s, 900.0 if s in crowd else 300.0) for s in range(last - 2300, last)),
            NOW,
        )

    assert with_crowd(40) == pytest.approx(900.0)
    assert with_crowd(6) == pytest.approx(300.0, rel=0.3)


def test_the_weekday_of_last_week_is_still_remembered_when_it_comes_again() -> None:
    last = int(NOW // 300)
    monday = int(NOW // DAY) - 7
    slots = [(s, 900.0 if s * 300 // 86_400 == monday else 300.0) for s in range(last - 2304, last)]
    assert peak(from_history(slots), NOW) == pytest.approx(900.0)


def test_no_peak_is_known_before_a_week_or_from_a_few_hours_of_it() -> None:
    assert peak(PeakSketch(), NOW) is None
    assert peak(week_of(500.0, days=6), NOW) is None
    assert peak(week_of(500.0), NOW) == 500.0
    last = int(NOW // 300)
    sparse = from_history((s, 500.0) for s in range(last - 2304, last, 3))
    assert peak(sparse, NOW) is None
    assert peak(week_of(500.0), NOW + 5 * DAY) is None


def test_a_history_is_merged_without_counting_a_slot_twice() -> None:
    own = week_of(500.0, days=2)
    history = week_of(500.0)
    both = merged(own, history)
    assert both == merged(history, own) == merged(both, history)
    assert peak(both, NOW) == 500.0
    assert sum(day.slots for day in both.days) == sum(day.slots for day in history.days)


def test_a_sketch_stays_small() -> None:
    last = int(NOW // 300)
    sketch = from_history((s, wave(s)) for s in range(last - 20 * 288, last))
    numbers = sum(len(day.highest) for day in sketch.days)
    assert len(sketch.days) == 8
    assert numbers <= 7 * 3 + 11
    assert len(json.dumps(asdict(sketch))) < 900


def test_a_slot_of_the_past_or_without_a_number_changes_nothing() -> None:
    sketch = week_of(500.0)
    assert with_slot(sketch, int(NOW // 300) - 400, 900.0) == sketch
    assert with_slot(sketch, int(NOW // 300), math.nan) == sketch


def test_seen_time_fills_the_peak_and_gaps_do_not() -> None:
    start = math.floor(NOW / 300) * 300.0
    decision = lasting(inputs(4000.0), 3600.0, now=start)
    days = decision.memory.slow.peak.days
    assert [(day.slots, set(day.highest)) for day in days] == [(12, {1000.0})]
    memory = LawMemory()
    for index in range(24):
        memory = lasting(inputs(4000.0), 0.0, memory=memory, now=start + 150.0 * index).memory
    assert memory.slow.peak.days == ()


def test_a_roll_is_no_peak() -> None:
    start = math.floor(NOW / 300) * 300.0
    rolling = inputs(4000.0, engines=3, replicas=3, strategy=ONE_OUT, roll=RollState(rolling=True))
    days = lasting(rolling, 900.0, now=start).memory.slow.peak.days
    assert {value for day in days for value in day.highest} == {1000.0}


def test_how_long_a_start_takes_is_learned_once_from_each_roll() -> None:
    roll = RollState(started_at=NOW - 800.0, finished_at=NOW)
    first = with_start(SlowMemory(), inputs(roll=roll))
    assert dict(first.starts) == {"eagle": 200.0}
    assert with_start(first, inputs(roll=roll)) == first
    slower = RollState(started_at=NOW + 1000.0, finished_at=NOW + 2600.0)
    assert dict(with_start(first, inputs(roll=slower)).starts) == {"eagle": 300.0}
    under_way = RollState(started_at=NOW, finished_at=None, rolling=True)
    assert with_start(SlowMemory(), inputs(roll=under_way)) == SlowMemory()


def test_the_ratchet_goes_down_by_steps_and_never_up() -> None:
    def ratchet(slow: SlowMemory, demand: float) -> SlowMemory:
        return with_ratchet(
            slow,
            quieter="eagle",
            busier="none",
            demand=demand,
            off_demand=1000.0,
            now=NOW,
            settings=LawSettings(),
        )

    assert ratchet(SlowMemory(), 970.0).learned[0].off_demand == pytest.approx(0.95 * 970.0)
    assert ratchet(SlowMemory(), 300.0).learned[0].off_demand == pytest.approx(850.0)
    assert ratchet(SlowMemory(), 1100.0) == SlowMemory()
    lower = ratchet(SlowMemory(), 300.0)
    assert ratchet(lower, 970.0).learned[0].off_demand == pytest.approx(850.0)


def test_batches_follow_the_strategy() -> None:
    assert batches(ONE_OUT) == 4
    assert batches(RollStrategy(replicas=5, surge=1, unavailable=1)) == 3
    assert batches(RollStrategy(replicas=0, surge=1, unavailable=1)) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LawSettings(window_seconds=math.nan), "window_seconds is nan"),
        (lambda: LawSettings(on_share=1.0), "on_share is 1.0"),
        (lambda: LawSettings(recovery_seconds=0.0), "must be above 0"),
        (lambda: Objective(tpot_limit_seconds=0.0), "tpot_limit_seconds is 0.0"),
        (lambda: Objective(tails=(("eagle", 0.5),)), "tail of eagle is 0.5"),
    ],
)
def test_settings_that_no_law_can_follow_are_refused(wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()  # type: ignore[operator]


def test_a_slot_counts_when_half_of_it_was_seen() -> None:
    start = math.floor(NOW / 300) * 300.0

    def slots(first: float) -> int:
        decision = lasting(inputs(4000.0), 320.0 - first, now=start + first)
        return sum(day.slots for day in decision.memory.slow.peak.days)

    assert slots(140.0) == 1
    assert slots(170.0) == 0


def test_a_queue_that_only_comes_into_sight_is_no_demand() -> None:
    few = inputs(3200.0, seen_share=0.8, waiting_requests=8.0, concurrency=10.0)
    before = lasting(few, 300.0)
    whole = inputs(4000.0, waiting_requests=30.0, concurrency=10.0)
    after = lasting(whole, 0.0, memory=before.memory, now=NOW + 315.0)
    assert after.demand == pytest.approx(4000.0)


def test_what_was_learned_lowers_the_act_at_values_and_is_forgotten_in_weeks() -> None:
    lesson = Learned(
        quieter="eagle",
        busier="none",
        at=NOW,
        off_demand=1400.0,
        on_demand=1200.0,
        on_concurrency=15.0,
    )
    memory = LawMemory(slow=SlowMemory(learned=(lesson,)))
    found = lasting(inputs(4000.0), 0.0, memory=memory).act_at
    assert found is not None
    assert (found.off_demand, found.on_demand) == (5600.0, 4800.0)
    assert found.on_concurrency == 15.0
    later = lasting(inputs(4000.0), 0.0, memory=memory, now=NOW + 2 * DAY).act_at
    assert later is not None
    assert later.off_demand == pytest.approx(5600.0 * math.exp(2 / 45))
    low = replace(lesson, off_demand=10.0)
    floor = lasting(inputs(4000.0), 0.0, memory=LawMemory(slow=SlowMemory(learned=(low,)))).act_at
    assert floor is not None
    assert floor.off_demand == pytest.approx(0.5 * 5940.0)


def test_saturation_at_a_steady_demand_below_d_off_teaches_and_a_growing_one_does_not() -> None:
    def taught(growth: float) -> tuple[Learned, ...]:
        memory, now = LawMemory(slow=SlowMemory(running="eagle")), NOW
        for index in range(60):
            demand = 4000.0 * (1.0 + growth * index)
            full = 9.0 if index >= 40 else 0.0
            decision = lasting(
                inputs(demand, waiting_for_capacity=full), 0.0, memory=memory, now=now
            )
            memory, now = decision.memory, now + 15.0
            if decision.go:
                assert decision.reason is LawReason.SATURATED
                break
        rolled = inputs(4000.0, running="none", roll=RollState(rolling=True))
        return lasting(rolled, 0.0, memory=memory, now=now).memory.slow.learned

    lesson = taught(0.0)[0]
    assert lesson.off_demand == pytest.approx(0.85 * 1485.0)
    assert lesson.on_demand == pytest.approx(0.85 * 1000.0)
    assert taught(0.01) == ()


def test_a_latency_limit_that_decides_insures_the_border() -> None:
    objective = Objective(tpot_limit_seconds=0.020, tails=(("eagle", 1.8),))
    calm = knowing_peak(0.7)
    seen = lasting(inputs(5500.0), 60.0, memory=calm, settings=LawSettings(objective=objective))
    assert seen.wish == "none"
    assert lasting(inputs(5500.0), 60.0, memory=calm).wish == "eagle"


def test_the_recent_high_is_that_of_six_slots_of_the_length_set() -> None:
    settings = LawSettings(high_slot_seconds=15.0)
    before = lasting(inputs(6500.0), 30.0, settings=settings)
    after = lasting(inputs(1000.0), 90.0, memory=before.memory, settings=settings, now=NOW + 45.0)
    assert max(high for _, high in after.memory.fast.highs) < 6000.0
    minutes = lasting(inputs(6500.0), 30.0)
    usual = lasting(inputs(1000.0), 90.0, memory=minutes.memory, now=NOW + 45.0)
    assert max(high for _, high in usual.memory.fast.highs) == pytest.approx(6500.0)
