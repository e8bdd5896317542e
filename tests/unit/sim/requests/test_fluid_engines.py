"""Replicas as a fluid: the same answers as single requests give, where a fluid can have them."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.requests.controller import Observation
from ridgeline.sim.requests.engines import Serving
from ridgeline.sim.requests.flow import Flow, flow_of_demand, flow_of_trace
from ridgeline.sim.requests.fluid_engines import FluidEngines
from ridgeline.sim.requests.published import NONE, SPECULATING, llama_70b_h100
from ridgeline.sim.requests.simulate import Result, Setting, simulate
from ridgeline.sim.requests.traffic import DAY, MIXES, Demand, Sizes, Trace, generate
from ridgeline.sim.requests.truth import crossing

TRUTH = llama_70b_h100()
CHAT = MIXES["chat"]
HOUR = 3600.0


class Stays:
    def decide(self, observation: Observation, now: float) -> str | None:
        return None


class Rolls:
    """Asks for another profile at a time."""

    def __init__(self, to: str, at: float) -> None:
        self.to, self.at = to, at

    def decide(self, observation: Observation, now: float) -> str | None:
        return self.to if now >= self.at else None


def cutoff_demand() -> float:
    curves = [TRUTH.curve(each, prompt=500.0, output=800.0) for each in (SPECULATING, NONE)]
    return 4 * curves[1].tokens_at(crossing(*curves))


def flow(level: float, hours: float = 1.0) -> Flow:
    """A steady demand, as a share of D*."""
    ticks = round(hours * 240)
    return Flow(
        tokens_per_second=np.full(ticks, level * cutoff_demand()),
        prompt=CHAT.prompt,
        output=CHAT.output,
        held_prompt=CHAT.prompt,
        held_output=CHAT.output * (1 + CHAT.output_variation**2),
    )


def setting(asked: Flow, profile: str = NONE, **more: object) -> Setting:
    known = Setting(truth=TRUTH, seconds=asked.seconds, first_profile=profile, flow=asked)
    return replace(known, **more)  # type: ignore[arg-type]


def run(asked: Flow, profile: str = NONE) -> Result:
    return simulate(setting(asked, profile), Stays())


@pytest.mark.parametrize("profile", [NONE, SPECULATING])
def test_a_fluid_agrees_with_single_requests(profile: str) -> None:
    """Over a day below what the fleet can deliver, mean latency is the same within 2 %."""
    trace = generate(
        Demand(plateau=0.8),
        CHAT,
        cutoff_tokens_per_second=cutoff_demand(),
        seconds=DAY,
        rng=np.random.default_rng(1),
    )
    single = Setting(truth=TRUTH, seconds=DAY, first_profile=profile, trace=trace)
    fluid = replace(single, trace=None, flow=flow_of_trace(trace, DAY))
    one, other = (simulate(each, Stays()) for each in (single, fluid))
    assert other.mean_latency_seconds == pytest.approx(one.mean_latency_seconds, rel=0.02)
    assert other.served_tokens == pytest.approx(one.served_tokens, rel=0.01)
    assert other.completed == pytest.approx(one.completed, rel=0.001)


def test_what_comes_is_served_and_nothing_is_lost() -> None:
    result = run(flow(0.7))
    asked = 0.7 * cutoff_demand() * HOUR
    assert result.served_tokens == pytest.approx(asked, abs=CHAT.output)
    assert (result.arrived, result.waiting, result.shed) == (round(asked / CHAT.output), 0, 0)


def test_above_its_capacity_a_fleet_queues() -> None:
    """The excess waits, and grows by what arrives beyond the capacity."""
    asked = flow(2.0)
    speeds = TRUTH.speeds(
        NONE, prompt=500.0, output=800.0, held=(asked.held_prompt, asked.held_output)
    )
    result = run(asked)
    excess = (2.0 * cutoff_demand() - 4 * speeds[-1]) / CHAT.output
    grown = result.in_system[-1] - result.in_system[-41]
    assert excess > 0
    assert grown == pytest.approx(excess * 600, rel=0.01)


def test_short_answers_are_stable() -> None:
    """Answers of a fraction of a tick neither swing nor lose requests."""
    asked = replace(flow(0.4), prompt=0.0, held_prompt=0.0, output=40.0, held_output=40.0)
    result = run(asked)
    assert np.ptp(result.in_system[20:]) == pytest.approx(0.0, abs=1e-6)
    assert result.completed == result.arrived


def test_a_roll_costs_capacity_and_ends() -> None:
    rolled = simulate(setting(flow(0.7, 2.0), SPECULATING), Rolls(NONE, HOUR))
    assert [each.profile for each in rolled.switches] == [NONE]
    assert rolled.serving.min() == 3
    assert rolled.serving[-1] == 4
    assert rolled.rolling.any()
    assert not rolled.rolling[-1]
    assert rolled.active[0] == TRUTH.index_of(SPECULATING)
    assert rolled.active[-1] == TRUTH.index_of(NONE)
    assert rolled.completed == rolled.arrived


def test_telemetry_sees_the_fluid() -> None:
    seen: list[Observation] = []

    class Looks:
        def decide(self, observation: Observation, now: float) -> str | None:
            seen.append(observation)
            return None

    asked = flow(0.7)
    result = simulate(setting(asked, SPECULATING), Looks())
    last = seen[-1]
    assert last.tokens_per_second == pytest.approx(asked.tokens_per_second[0], rel=0.1)
    assert last.concurrency == pytest.approx(result.in_system[-1] / 4, rel=0.1)
    one = last.engines[0]
    assert one.generated_tokens_per_second / one.request_steps_per_second == pytest.approx(
        2.28, rel=0.15
    )
    assert one.mean_output_tokens == pytest.approx(CHAT.output)


def test_a_law_that_does_not_look_is_told_nothing() -> None:
    seen: list[Observation] = []

    class Looks:
        def decide(self, observation: Observation, now: float) -> str | None:
            seen.append(observation)
            return None

    simulate(setting(flow(0.5), observed=False), Looks())
    assert seen
    assert not any(each.engines for each in seen)


def test_a_demand_as_a_fluid_is_that_of_its_requests() -> None:
    demand, cutoff = Demand(plateau=0.9), cutoff_demand()
    made = flow_of_demand(
        demand, CHAT, cutoff_tokens_per_second=cutoff, seconds=DAY, rng=np.random.default_rng(3)
    )
    trace = generate(
        demand, CHAT, cutoff_tokens_per_second=cutoff, seconds=DAY, rng=np.random.default_rng(3)
    )
    other = flow_of_trace(trace, DAY)
    assert made.seconds == DAY
    assert made.tokens_per_second.mean() == pytest.approx(other.tokens_per_second.mean(), rel=0.03)
    quiet = slice(0, 1400)  # before 7 o'clock there is no slope
    assert made.tokens_per_second[quiet].std() == pytest.approx(
        other.tokens_per_second[quiet].std(), rel=0.35
    )
    assert made.held_output == pytest.approx(other.held_output, rel=0.05)
    assert made.means(300.0).shape == (288,)


def test_what_a_fluid_cannot_have_is_refused() -> None:
    with pytest.raises(ValueError, match="prefix caches and shedding need single requests"):
        FluidEngines(TRUTH, Serving(prefix_hit=0.5), flow(0.5), places=4)
    trace = Trace(times=np.empty(0), sizes=Sizes(prompts=np.empty(0), outputs=np.empty(0)))
    with pytest.raises(ValueError, match="no request"):
        flow_of_trace(trace, HOUR)
    with pytest.raises(ValueError, match="at least one tick of finite"):
        replace(flow(0.5), tokens_per_second=np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="give 0 and 1 or more"):
        replace(flow(0.5), output=0.5)


def test_a_queue_that_outgrows_the_simulation_is_told() -> None:
    with pytest.raises(OverflowError, match="lower the demand"):
        run(flow(200.0))
