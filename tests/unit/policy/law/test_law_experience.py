"""What the law remembers between steps: turns, locks, timers, and how far a move goes."""

from dataclasses import replace

import pytest

from ridgeline.policy.law.experience import recent_alike, with_start, with_turn
from ridgeline.policy.law.inputs import RollState, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import Asked, FastMemory, LawMemory, Learned, SlowMemory, Turn
from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.law.terms import LawReason
from tests.unit.policy.law.law_moments import (
    EAGLE,
    NGRAM,
    NONE,
    NOW,
    inputs,
    knowing_peak,
    lasting,
    surge,
)

THREE = (EAGLE, NGRAM, NONE)


def turned(source: str, target: str, *, ago: float = 3600.0, demand: float = 1850.0) -> Turn:
    return Turn(
        at=NOW - ago, from_profile=source, to_profile=target, demand=demand, concurrency=30.0
    )


def after(turn: Turn, running: str) -> LawMemory:
    return LawMemory(slow=SlowMemory(running=running, turn=turn))


def test_full_servers_go_to_the_busiest_profile_whatever_demand_says() -> None:
    calm = inputs(4000.0, curves=THREE, waiting_for_capacity=9.0)
    assert lasting(calm, 60.0).wish == "none"
    busy = inputs(7400.0, curves=THREE, strategy=surge(), waiting_for_capacity=9.0)
    assert lasting(busy, 60.0).wish == "none"


def test_a_second_move_up_at_the_same_load_goes_to_the_top() -> None:
    busy = inputs(7400.0, curves=THREE, strategy=surge())
    assert lasting(busy, 60.0).wish == "ngram"

    middle = inputs(8700.0, running="ngram", curves=(EAGLE, NGRAM, NONE), strategy=surge())
    speeds = (700.0, 1300.0, 2150.0, 2700.0)
    four = (EAGLE, NGRAM, replace(NGRAM, profile="draft", tokens_per_second=speeds), NONE)
    first = lasting(replace(middle, curves=four), 60.0)
    again = lasting(
        replace(middle, curves=four),
        60.0,
        memory=after(turned("eagle", "ngram", demand=2175.0), "ngram"),
    )
    assert (first.wish, again.wish) == ("draft", "none")


def test_undoing_a_move_down_goes_back_to_where_it_came_from() -> None:
    busy = inputs(7400.0, curves=THREE, strategy=surge())
    down = after(turned("none", "eagle"), "eagle")
    assert lasting(busy, 60.0, memory=down).wish == "none"
    long_ago = after(turned("none", "eagle", ago=25_000.0), "eagle")
    assert lasting(busy, 60.0, memory=long_ago).wish == "ngram"
    other_load = after(replace(turned("none", "eagle", demand=900.0), concurrency=5.0), "eagle")
    assert lasting(busy, 60.0, memory=other_load).wish == "ngram"


def test_loads_are_alike_in_demand_or_in_concurrency() -> None:
    slow = SlowMemory(turn=turned("eagle", "none", demand=1000.0))

    def found(demand: float, concurrency: float, now: float = NOW) -> bool:
        seen = recent_alike(
            slow, demand=demand, concurrency=concurrency, now=now, settings=LawSettings()
        )
        return seen is not None

    assert found(860.0, 5.0)
    assert found(1170.0, 5.0)
    assert found(300.0, 26.0)
    assert not found(840.0, 5.0)
    assert not found(860.0, 5.0, NOW + 6 * 3600.0)


def test_going_up_again_at_the_load_of_going_down_locks_and_teaches() -> None:
    slow = SlowMemory(running="eagle", turn=turned("none", "eagle", demand=1000.0))
    up = Turn(at=NOW, from_profile="eagle", to_profile="none", demand=1100.0, concurrency=31.0)
    taught = with_turn(slow, up, inputs(), LawSettings())
    assert taught.locked_until == NOW + 21_600.0
    assert taught.learned == (
        Learned(
            quieter="eagle",
            busier="none",
            at=NOW,
            on_demand=pytest.approx(935.0),  # type: ignore[arg-type]
            on_concurrency=pytest.approx(26.35),  # type: ignore[arg-type]
        ),
    )
    far = replace(up, demand=1500.0, concurrency=50.0)
    assert with_turn(slow, far, inputs(), LawSettings()).locked_until is None


def test_a_lock_holds_until_its_time_and_no_clock_makes_it_longer() -> None:
    quiet = inputs(2000.0, running="none")
    locked = LawMemory(slow=SlowMemory(running="none", locked_until=NOW + 3600.0))
    assert lasting(quiet, 660.0, memory=locked).reason is LawReason.LOCKED
    assert lasting(quiet, 900.0, memory=locked, now=NOW + 3300.0).go
    wrong = LawMemory(slow=SlowMemory(running="none", locked_until=NOW + 9e9))
    assert step(quiet, LawSettings(), wrong, NOW).memory.slow.locked_until == NOW + 21_600.0


def test_a_move_is_remembered_with_the_load_that_led_to_it() -> None:
    asked = Asked(profile="none", at=NOW - 30.0, demand=1850.0, concurrency=31.0)
    rolling = inputs(6000.0, running="none", roll=RollState(rolling=True), concurrency=44.0)
    slow = SlowMemory(running="eagle")
    own = step(
        rolling,
        LawSettings(),
        LawMemory(slow=slow, fast=FastMemory(seen_at=NOW - 15.0, asked=asked)),
        NOW,
    ).memory
    assert own.slow.turn is not None
    assert (own.slow.turn.demand, own.slow.turn.concurrency) == (1850.0, 31.0)
    assert own.fast.asked is None
    restarted = step(rolling, LawSettings(), LawMemory(slow=slow), NOW).memory.slow.turn
    assert restarted is not None
    assert (restarted.demand, restarted.concurrency) == (1500.0, 44.0)
    others = LawMemory(slow=slow, fast=FastMemory(seen_at=NOW - 15.0))
    assert step(rolling, LawSettings(), others, NOW).memory.slow.turn is None


def test_a_roll_leaves_no_timer_no_regret_and_no_concurrency_behind() -> None:
    busy = inputs(7300.0, strategy=surge())
    fast = lasting(busy, 45.0).memory.fast
    assert fast.busier_since is not None
    memory = LawMemory(fast=replace(fast, regret=900.0))
    rolling = step(replace(busy, roll=RollState(rolling=True)), LawSettings(), memory, NOW + 60.0)
    left = rolling.memory.fast
    assert (left.busier_since, left.regret, left.concurrency) == (None, 0.0, None)
    assert left.demand == pytest.approx(7300.0)


def test_regret_that_may_not_be_acted_on_does_not_pile_up() -> None:
    seen = inputs(8600.0, strategy=surge(), switches_left=0)
    held = lasting(seen, 7200.0, memory=knowing_peak(1.0))
    assert held.reason is LawReason.BUDGET_SPENT
    assert held.act_at is not None
    assert held.act_at.roll_cost is not None
    assert held.regret == pytest.approx(0.5 * held.act_at.roll_cost)


@pytest.mark.parametrize(
    "limit",
    [{"on_demand": 900.0}, {"on_concurrency": 15.0}, {"waiting": 9.0}, {"share": 0.9}],
)
def test_regret_goes_quieter_only_where_experience_sight_and_queue_allow(
    limit: dict[str, float],
) -> None:
    memory = knowing_peak(0.7)
    lesson = Learned(
        quieter="eagle",
        busier="none",
        at=NOW,
        on_demand=limit.get("on_demand"),
        on_concurrency=limit.get("on_concurrency"),
    )
    free = inputs(4000.0, running="none", strategy=surge())
    assert lasting(free, 1800.0, memory=memory).reason is LawReason.REGRET
    taught = replace(memory, slow=replace(memory.slow, learned=(lesson,)))
    seen = replace(
        free,
        waiting_for_capacity=limit.get("waiting", 0.0),
        seen_share=limit.get("share", 1.0),
    )
    assert lasting(seen, 1800.0, memory=taught).reason is LawReason.STAYS


def test_switching_on_looks_at_the_highest_demand_of_five_minutes() -> None:
    before = lasting(inputs(7500.0, running="none"), 600.0)
    named = inputs(3000.0, running="none", schedule=ScheduleNow(profile="eagle"))
    now, memory, reasons = NOW + 600.0, before.memory, []
    for _ in range(40):
        now += 15.0
        decision = step(named, LawSettings(), memory, now)
        memory = decision.memory
        reasons.append(decision.reason)
        if decision.go:
            break
    assert LawReason.ROLL_WOULD_SATURATE in reasons
    assert reasons[-1] is LawReason.SCHEDULED


def test_one_roll_teaches_once() -> None:
    slow = SlowMemory(starts=(("eagle", 100.0),))
    roll = RollState(started_at=NOW - 800.0, finished_at=NOW)
    first = with_start(slow, inputs(roll=roll))
    assert dict(first.starts) == {"eagle": 150.0}
    assert with_start(first, inputs(roll=roll)) == first


def test_what_lasted_while_some_replicas_were_out_of_sight_does_not_count_for_switching_on() -> (
    None
):
    quiet = inputs(4000.0, running="none")
    partly = lasting(replace(quiet, seen_share=0.9), 900.0)
    assert step(quiet, LawSettings(), partly.memory, NOW + 915.0).reason is LawReason.DWELLING
