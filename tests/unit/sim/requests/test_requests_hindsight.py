"""Plans made in hindsight: they roll where it pays, and only there."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.hindsight import Fluid, Plan, best_plans
from ridgeline.sim.requests.simulate import Switch, simulate
from ridgeline.sim.requests.traffic import Trace
from tests.unit.sim.requests.settings_for_tests import MIX, Still, setting, surging, truth

pytestmark = pytest.mark.slow


HOUR = 60
OWN = truth()
SPEEDS = {name: OWN.speeds(name, prompt=200.0, output=100.0) for name in ("eagle", "none")}
CAPACITY = {name: 4 * float(each[-1]) for name, each in SPEEDS.items()}


def fluid(*, surge: bool = False) -> Fluid:
    return Fluid(speeds=SPEEDS, replicas=4, surge=surge, pod_seconds=120.0, mean_output=MIX.output)


def day(low: float, high: float, hours: int = 4) -> Floats:
    """Low, then high for some hours, then low, per minute."""
    return np.array([low] * 4 * HOUR + [high] * hours * HOUR + [low] * 4 * HOUR)


@pytest.mark.parametrize("surge", [False, True])
def test_a_day_above_capacity_is_left_ahead_of_it_and_come_back_from(surge: bool) -> None:
    demand = day(0.3 * CAPACITY["eagle"], 1.15 * CAPACITY["eagle"])
    off, on = best_plans(fluid(surge=surge), demand, "eagle")[0]
    assert (off.profile, on.profile) == ("none", "eagle")
    assert 4 * 3600.0 - 3600.0 < off.time <= 4 * 3600.0 - 4 * 120.0 + 60.0
    assert 8 * 3600.0 - 600.0 <= on.time < 9 * 3600.0


def test_a_quiet_fleet_is_left_alone() -> None:
    assert (
        best_plans(fluid(), day(0.3 * CAPACITY["eagle"], 0.4 * CAPACITY["eagle"]), "eagle")[0] == ()
    )


def test_a_crowd_too_short_for_a_roll_is_sat_out() -> None:
    demand = day(0.4 * CAPACITY["eagle"], 0.4 * CAPACITY["eagle"])
    slow = replace(fluid(), pod_seconds=600.0)
    demand[4 * HOUR] = 1.05 * CAPACITY["eagle"]
    assert best_plans(slow, demand, "eagle")[0] == ()
    demand[4 * HOUR : 6 * HOUR] = 1.05 * CAPACITY["eagle"]
    assert len(best_plans(slow, demand, "eagle")[0]) == 2


def test_a_queue_that_cannot_drain_is_worth_a_roll() -> None:
    slow = replace(fluid(), pod_seconds=600.0)
    demand = day(0.4 * CAPACITY["eagle"], 0.4 * CAPACITY["eagle"])
    demand[4 * HOUR] = 1.05 * CAPACITY["eagle"]
    demand[4 * HOUR + 1 : 6 * HOUR] = 0.999 * CAPACITY["eagle"]
    assert len(best_plans(slow, demand, "eagle")[0]) == 2


def test_without_surge_a_roll_begins_while_the_rest_can_carry_the_demand() -> None:
    ramp = np.interp(np.arange(6 * HOUR), [0, 3 * HOUR, 6 * HOUR], [0.3, 1.2, 1.2])
    alone = best_plans(fluid(), ramp * CAPACITY["eagle"], "eagle")[0][0]
    spare = best_plans(fluid(surge=True), ramp * CAPACITY["eagle"], "eagle")[0][0]
    assert alone.time < spare.time
    ends = int((alone.time + 4 * 120.0) / 60.0)
    assert ramp[ends] <= 0.85


def test_a_plan_beats_both_static_choices_in_the_simulation() -> None:
    base = setting(seconds=12 * 3600.0)
    low, high = 0.3 * CAPACITY["eagle"], 1.15 * CAPACITY["eagle"]
    demand = day(low, high)
    trace = _of(demand, np.random.default_rng(5))
    asked = trace.tokens_per_second(60.0, 12 * 3600.0)
    for one in (base, surging(base)):
        begun = replace(one, trace=trace)
        plan = best_plans(fluid(surge=bool(one.rolls.surge)), asked, "eagle", dearer=1.02)[0]
        planned = simulate(begun, Plan(plan))
        eagle = simulate(begun, Still())
        none = simulate(replace(begun, first_profile="none"), Still())
        assert len(planned.switches) == 2
        assert planned.mean_latency_seconds < 0.98 * none.mean_latency_seconds
        assert planned.mean_latency_seconds < 0.98 * eagle.mean_latency_seconds


def test_a_plan_waits_for_a_roll_under_way() -> None:
    law = Plan((Switch(time=600.0, profile="none"), Switch(time=615.0, profile="eagle")))
    result = simulate(setting(), law)
    assert [each.profile for each in result.switches] == ["none", "eagle"]
    assert result.switches[0].time == 600.0
    assert result.switches[1].time > 600.0 + 4 * 60.0


def _of(demand: Floats, rng: np.random.Generator) -> Trace:
    counts = rng.poisson(demand * 60.0 / MIX.output)
    times = np.repeat(np.arange(len(demand)) * 60.0, counts)
    times = np.sort(times + rng.uniform(0.0, 60.0, len(times)))
    return Trace(times=times, sizes=MIX.draw(len(times), rng))
