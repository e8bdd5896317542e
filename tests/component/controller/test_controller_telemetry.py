"""Telemetry that is down, empty or nonsense: one condition, one Event, no write, and it heals."""

import asyncio
from collections.abc import Callable

import pytest

from ridgeline.sim.fleet_telemetry import EndpointFaults, SimulatedTelemetry
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.world import HIGH, LOW, WINDOW, World, container, settled, spec

OUTAGE = 1200.0

Break = Callable[[World, EndpointFaults], None]


def _pods(world: World) -> list[str]:
    return [pod.name for pod in world.cluster.pods_of("llama")]


def _down(world: World, faults: EndpointFaults) -> None:
    faults.error = "HTTP 503: service unavailable"


def _crash(world: World, faults: EndpointFaults) -> None:
    faults.crash = KeyError("a fault in the program")


def _empty(world: World, faults: EndpointFaults) -> None:
    faults.empty = True


def _not_finite(world: World, faults: EndpointFaults) -> None:
    faults.not_finite = set(_pods(world))


def _partial(world: World, faults: EndpointFaults) -> None:
    faults.hidden = set(_pods(world)[:2])


BREAKS = [
    pytest.param(_down, "TelemetryUnavailable", id="down"),
    pytest.param(_crash, "TelemetryUnavailable", id="crash"),
    pytest.param(_empty, "NoData", id="empty"),
    pytest.param(_not_finite, "NotFinite", id="nan"),
    pytest.param(_partial, "PartialData", id="partial"),
]


@pytest.mark.parametrize(("breaks", "reason"), BREAKS)
async def test_an_outage_holds_and_is_told_once(breaks: Break, reason: str) -> None:
    world = await settled()
    breaks(world, world.telemetry.faults)
    world.users["llama"] = HIGH
    await world.run(OUTAGE)
    assert world.condition("TelemetryAvailable") == ("False", reason)
    assert world.condition("Ready") == ("True", "Operating")
    assert world.events() == [reason]
    assert world.tries() == []

    world.telemetry.faults = EndpointFaults()
    await world.run(29)
    assert world.condition("TelemetryAvailable") == ("True", "Fresh")
    assert world.events() == [reason, "Recovered"]
    # The first sight after an outage is no dwell: 30 seconds must be seen.
    assert world.profiles_written() == []
    assert await world.run(300, until=world.finished("none"))


async def test_an_outage_of_twenty_minutes_writes_the_status_twice() -> None:
    world = await settled()
    began = world.cluster.now
    world.telemetry.faults.error = "HTTP 503: service unavailable"
    await world.run(OUTAGE)
    world.telemetry.faults.error = None
    await world.run(300)
    kinds = [each.kind.value for each in world.cluster.changes(since=began)]
    assert kinds == ["status", "event", "status", "event"]


async def test_samples_that_stop_coming_are_stale_before_the_load_is_believed() -> None:
    world = await settled()
    world.telemetry.faults.scraping = False
    world.users["llama"] = HIGH
    await world.run(OUTAGE)
    assert world.condition("TelemetryAvailable")[0] == "False"
    assert world.tries() == []


async def test_a_missing_engine_of_a_data_parallel_pod_is_partial_data() -> None:
    world = World()
    world.deploy(users=LOW, containers=[container(None, "vllm", "--data-parallel-size=2")])
    world.cluster.create_serving("llama", spec())
    world.telemetry.faults.missing_engines = {"1"}
    world.start()
    await world.run(600)
    assert world.condition("TelemetryAvailable") == ("False", "PartialData")
    assert world.tries() == []
    world.telemetry.faults.missing_engines = set()
    assert await world.run(600, until=world.finished("eagle2"))


async def test_ghosts_of_deleted_pods_are_not_looked_at() -> None:
    world = World()
    world.deploy(users=HIGH)
    world.cluster.create_serving("llama", spec())
    await world.run(3 * WINDOW)
    # The Pods that were busy are gone; their samples are in the window for a while.
    world.cluster.delete_deployment("llama")
    world.deploy(users=0.0)
    await world.run(WINDOW + 5)
    snapshot = await world.telemetry.read(world.cluster.now)
    assert any(pod.startswith("llama") for _, pod in snapshot.engines)
    world.start()
    await world.run(600)
    assert world.tries() == []
    assert world.status()["activeProfile"] == "eagle2"


async def test_a_failing_endpoint_disturbs_only_its_own_servings() -> None:
    world = World()
    other = SimulatedTelemetry(world.cluster, {}, name="other", window_seconds=WINDOW)
    world.sources["other"] = other
    other.faults.crash = RuntimeError("down")
    world.deploy("llama")
    world.deploy("qwen")
    world.cluster.create_serving("llama", spec())
    world.cluster.create_serving("qwen", spec("qwen", telemetry="other"))
    world.start()
    await world.run(3 * WINDOW)
    world.users.update(llama=HIGH, qwen=HIGH)
    assert await world.run(600, until=world.finished("none"))
    assert world.condition("TelemetryAvailable", "qwen") == ("False", "TelemetryUnavailable")
    assert world.tries("qwen") == []
    samples = world.process.metrics.registry.get_sample_value
    assert samples("ridgeline_telemetry_up", {"endpoint": "other"}) == 0
    assert samples("ridgeline_telemetry_up", {"endpoint": "default"}) == 1


class _Slow:
    """An endpoint that answers only when it is let."""

    def __init__(self) -> None:
        self.asked = 0

    async def read(self, now: float) -> TelemetrySnapshot:
        self.asked += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_an_endpoint_that_hangs_does_not_hold_up_the_tick() -> None:
    world = World()
    slow = _Slow()
    world.sources["slow"] = slow
    world.deploy("llama")
    world.cluster.create_serving("llama", spec())
    process = world.start()
    for _ in range(3):
        world.cluster.advance(world.cluster.now + 15)
        await process.cadence.tick(patience_seconds=0.01)
        await process.cadence.work_off()
    assert world.condition("Ready") == ("True", "Operating")
    assert world.telemetry.reads == 3
    assert slow.asked == 1
    await process.cadence.stop_reading()
