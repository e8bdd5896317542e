"""Learning in the whole controller: what is written, what is not, and the alarm of drift."""

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from ridgeline.policy.drift import SEVERAL
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.test_controller_goodput import around, goodput, world_with
from tests.component.controller.world import EAGLE_CONFIG, LOW, WINDOW, Process, World


class Changed:
    """Telemetry whose engines are changed on the way; change `signals` and `slower` at any time."""

    def __init__(self, world: World) -> None:
        self._read = world.telemetry.read
        self.signals: dict[str, Any] = {}
        self.slower = 1.0

    async def read(self, now: float) -> TelemetrySnapshot:
        snapshot = await self._read(now)
        engines = {
            pod: tuple(
                replace(
                    each,
                    step_seconds=(each.step_seconds or 0.0) * self.slower,
                    **self.signals,
                )
                for each in engines
            )
            for pod, engines in snapshot.engines.items()
        }
        return replace(snapshot, engines=engines)


async def learned_world(
    seconds: float = 45 * WINDOW, **fields: Any
) -> tuple[World, Changed, Process]:
    """A quiet world on eagle2 that has learned for a while."""
    world = world_with(EAGLE_CONFIG, LOW)
    source = Changed(world)
    world.sources["default"] = source
    world.cluster.create_serving("llama", goodput(**fields))
    process = world.start(around=around())
    await world.run(seconds)
    assert world.condition("PredictionFits") == ("", "")
    return world, source, process


def drifted(process: Process) -> dict[str, float]:
    """The operator's own metric by signal."""
    found = {}
    for line in generate_latest(process.metrics.registry).decode().splitlines():
        if line.startswith("ridgeline_serving_prediction_drifted{"):
            signal = line.partition('signal="')[2].partition('"')[0]
            found[signal] = float(line.rpartition(" ")[2])
    return found


STALE = {"acceptance": (0.2, 0.05, 0.0, 0.0)}


class TestDrift:
    async def test_a_stale_head_is_a_condition_an_event_and_a_metric_and_never_a_roll(self) -> None:
        # So stale that the law would leave the profile: the alarm itself must not.
        world, source, process = await learned_world(mode="RecommendOnly")
        assert drifted(process) == {"acceptance": 0.0, "step_time": 0.0}
        before = world.tries()
        source.signals = STALE
        await world.run((SEVERAL + 3) * WINDOW)
        assert world.condition("PredictionFits") == ("False", "AcceptanceDrifted")
        assert "eagle2" in world.message("PredictionFits")
        assert world.condition("Ready") == ("True", "Operating")
        assert world.events().count("AcceptanceDrifted") == 1
        assert drifted(process) == {"acceptance": 1.0, "step_time": 0.0}
        source.signals = {}
        await world.run((SEVERAL + 3) * WINDOW)
        assert world.condition("PredictionFits") == ("", "")
        assert drifted(process) == {"acceptance": 0.0, "step_time": 0.0}
        assert world.events().count("AcceptanceDrifted") == 1
        assert world.tries() == before

    async def test_slow_steps_are_told_too(self) -> None:
        world, source, process = await learned_world()
        source.slower = 1.6
        await world.run((SEVERAL + 3) * WINDOW)
        assert world.condition("PredictionFits") == ("False", "StepTimeDrifted")
        assert drifted(process) == {"acceptance": 0.0, "step_time": 1.0}

    async def test_a_restart_neither_ends_it_at_once_nor_tells_it_again(self) -> None:
        world, source, process = await learned_world()
        source.signals = STALE
        await world.run((SEVERAL + 3) * WINDOW)
        message = world.message("PredictionFits")
        world.kill(process)
        world.start(around=around())
        await world.run(2 * WINDOW)
        assert world.condition("PredictionFits") == ("False", "AcceptanceDrifted")
        assert world.message("PredictionFits") == message
        await world.run(20 * WINDOW)
        assert world.events().count("AcceptanceDrifted") == 1

    async def test_coming_and_going_is_told_once(self) -> None:
        world, source, _ = await learned_world()
        for _ in range(3):
            source.signals = STALE
            await world.run((SEVERAL + 2) * WINDOW)
            source.signals = {}
            await world.run((SEVERAL + 2) * WINDOW)
        assert world.events().count("AcceptanceDrifted") == 1

    async def test_a_serving_that_is_gone_has_no_metric(self) -> None:
        world, _, process = await learned_world(seconds=5 * WINDOW)
        assert drifted(process)
        world.cluster.delete_serving("llama")
        await world.run(60)
        assert drifted(process) == {}


class TestWriting:
    async def test_noise_is_not_written(self) -> None:
        world, source, _ = await learned_world(seconds=90 * WINDOW)
        before = world.status()["learned"]
        for turn in range(20):
            source.signals = {"mean_prompt_tokens": 100.0 + (5.0 if turn % 2 else -5.0)}
            await world.run(WINDOW)
        assert world.status()["learned"] == before

    async def test_other_requests_are_written_once_in_ten_minutes(self) -> None:
        world, source, _ = await learned_world()
        moments = set()
        for turn in range(30):
            source.signals = {"mean_prompt_tokens": 100.0 * 1.5 ** (turn + 1)}
            await world.run(WINDOW)
            moments.add(world.status()["learned"]["time"])
        assert 2 <= len(moments) <= 1 + 30 * WINDOW / 600

    async def test_what_a_person_takes_out_is_learned_anew(self) -> None:
        world, source, _ = await learned_world()
        source.signals = STALE
        serving = world.cluster.serving("llama")
        status = {key: value for key, value in serving.status.items() if key != "learned"}
        await world.process.session.apply_status(serving, status)
        await world.run(2 * WINDOW)
        (eagle,) = world.status()["learned"]["profiles"]
        assert eagle["acceptancePercent"] == [20, 5, 0, 0]
        assert eagle["windows"] <= 2

    async def test_a_standby_learns_and_writes_nothing(self) -> None:
        world = world_with(EAGLE_CONFIG, LOW)
        world.cluster.create_serving("llama", goodput())
        standby = world.start(around=around(), held=False)
        await world.run(10 * WINDOW)
        assert world.status() == {}
        standby.leader.held = True
        await world.run(15)
        (eagle,) = world.status()["learned"]["profiles"]
        assert eagle["windows"] >= 5


@pytest.mark.parametrize("version", ["v0.24.0", "v0.31.0"])
async def test_what_was_learned_on_another_engine_is_dropped(version: str) -> None:
    world, _, process = await learned_world(seconds=10 * WINDOW)
    serving = world.cluster.serving("llama")
    learned = {**world.status()["learned"]}
    learned["basis"] = learned["basis"].replace("0.24.0", version[1:])
    learned["contextTokens"] = 9999
    world.kill(process)
    await process.session.apply_status(serving, {**serving.status, "learned": learned})
    world.start(around=around())
    await world.run(2 * WINDOW)
    kept = world.status()["learned"]["contextTokens"] > 5000
    assert kept is (version == "v0.24.0")
