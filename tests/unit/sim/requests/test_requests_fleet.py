"""Pods, GPUs and time: the rules of a Deployment's rolling update and of an autoscaler."""

import numpy as np
import pytest

from ridgeline.sim.requests.autoscaler import Autoscaler
from ridgeline.sim.requests.controller import EngineObservation, Observation
from ridgeline.sim.requests.engines import Arrivals, CompiledEngines, Serving
from ridgeline.sim.requests.fleet import Fleet, Phase, RollSettings
from tests.unit.sim.requests.settings_for_tests import truth


def fleet(replicas: int, rolls: RollSettings) -> tuple[CompiledEngines, Fleet]:
    engines = CompiledEngines(truth(), Serving(), places=2 * replicas + rolls.surge)
    made = Fleet(
        engines,
        replicas=replicas,
        most_replicas=2 * replicas,
        profile=0,
        rolls=rolls,
        rng=np.random.default_rng(1),
    )
    return engines, made


def follow(made: Fleet, begin: float = 0.0) -> list[tuple[float, int, int]]:
    """Step until the roll ends; return time, GPUs in use and Pods in service."""
    seen = []
    now = begin
    while made.rolling and now < begin + 7200.0:
        now += 15.0
        made.step(now)
        seen.append((now, len(made.pods), len(made.serving)))
    return seen


@pytest.mark.parametrize("surge", [0, 1])
@pytest.mark.parametrize("replicas", [1, 2, 4, 8])
def test_a_roll_keeps_capacity_and_gpus(replicas: int, surge: int) -> None:
    _, made = fleet(replicas, RollSettings(surge=surge))
    made.roll_to(1)
    seen = follow(made)
    assert not made.rolling
    assert {pod.profile for pod in made.pods} == {1}
    assert max(gpus for _, gpus, _ in seen) == replicas + surge
    assert min(serving for _, _, serving in seen) == replicas - (1 - surge)
    assert 120.0 * replicas <= seen[-1][0] <= (300.0 + 3 * 15.0) * replicas + 15.0


def test_a_pod_finishes_its_requests_before_it_goes() -> None:
    engines, made = fleet(1, RollSettings(grace_seconds=100.0))
    engines.offer(Arrivals(times=np.zeros(1), prompts=np.ones(1), outputs=np.full(1, 2001.0)))
    engines.run(15.0)  # the answer takes 30 s
    made.roll_to(1)
    made.step(15.0)
    assert [pod.phase for pod in made.pods] == [Phase.DRAINING]
    engines.run(45.0)
    made.step(45.0)
    assert [pod.phase for pod in made.pods] == [Phase.STARTING]
    assert engines.totals()[1] == (1, 1, 0, 0)


def test_a_pod_whose_grace_period_ends_loses_its_requests() -> None:
    engines, made = fleet(1, RollSettings(grace_seconds=10.0))
    engines.offer(Arrivals(times=np.zeros(1), prompts=np.ones(1), outputs=np.full(1, 2001.0)))
    engines.run(15.0)
    made.roll_to(1)
    made.step(15.0)
    engines.run(30.0)
    made.step(30.0)
    assert [pod.phase for pod in made.pods] == [Phase.STARTING]
    assert engines.totals()[1] == (1, 0, 0, 1)


def test_a_roll_that_is_turned_back_ends_on_the_old_profile() -> None:
    _, made = fleet(4, RollSettings())
    made.roll_to(1)
    for tick in range(1, 25):
        made.step(15.0 * tick)
    assert {pod.profile for pod in made.pods} == {0, 1}
    made.roll_to(0)
    seen = follow(made, 375.0)
    assert {pod.profile for pod in made.pods} == {0}
    assert min(serving for _, _, serving in seen) >= 3


def test_a_fleet_grows_and_shrinks() -> None:
    _, made = fleet(2, RollSettings())
    made.scale_to(4)
    follow(made)
    assert len(made.serving) == 4
    made.scale_to(1)
    follow(made, 1000.0)
    assert len(made.pods) == len(made.serving) == 1


def seen_with(load: float, replicas: int) -> Observation:
    engine = EngineObservation(
        name="pod",
        profile="none",
        ready_seconds=100.0,
        age_seconds=0.0,
        decode_concurrency=load,
        generated_tokens_per_second=1.0,
        request_steps_per_second=1.0,
        steps_per_second=1.0,
        running=load,
        waiting=0.0,
        waiting_for_capacity=0.0,
        queue_seconds_per_second=0.0,
        prompt_tokens_per_second=0.0,
        mean_prompt_tokens=None,
        mean_output_tokens=None,
    )
    return Observation(
        active_profile="none",
        replicas=replicas,
        rolling=False,
        serving=replicas,
        engines=(engine,) * replicas,
    )


def test_an_autoscaler_goes_up_at_once_and_down_after_a_while() -> None:
    scaler = Autoscaler(target=10.0, least=1, most=6)
    assert scaler.replicas(seen_with(10.5, 4), 0.0) == 4
    assert scaler.replicas(seen_with(14.0, 4), 15.0) == 6
    assert scaler.replicas(seen_with(30.0, 4), 30.0) == 6
    assert scaler.replicas(seen_with(4.0, 6), 45.0) == 6
    assert scaler.replicas(seen_with(4.0, 6), 400.0) == 3
