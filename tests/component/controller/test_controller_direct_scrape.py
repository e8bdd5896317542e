"""Without any Prometheus: the controller decides on what it scrapes from the Pods itself."""

from collections.abc import AsyncIterator

import pytest

from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint
from tests.component.controller.simulated_pods import SimulatedPods, simulated_pods
from tests.component.controller.world import HIGH, LOW, TICK, WINDOW, World, spec

FRESH = ("True", "Fresh")


class Scene:
    """A world whose Pods are scraped directly."""

    def __init__(self, world: World, pods: SimulatedPods) -> None:
        self.world = world
        self.pods = pods
        self.start()

    def start(self) -> None:
        """Start an operator, with empty windows."""
        self.world.sources["default"] = ScrapeReader(
            PodsEndpoint(name="default"),
            self.pods.targets,
            window_seconds=WINDOW,
            backoff=Backoff(longest_seconds=60.0),
        )
        self.world.start()

    def names(self) -> list[str]:
        return [pod.name for pod in self.world.cluster.pods_of("llama") if pod.serves]

    def fresh(self) -> bool:
        return self.world.condition("TelemetryAvailable") == FRESH


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    await world.run(2 * WINDOW)
    async with simulated_pods(world) as pods:
        yield Scene(world, pods)


async def test_it_switches_off_under_load_and_on_again(scene: Scene) -> None:
    world = scene.world
    await world.run(3 * WINDOW)
    assert scene.fresh()
    assert world.tries() == []
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    world.users["llama"] = LOW
    assert await world.run(1800, until=world.finished("eagle2"))
    assert world.profiles_written() == ["none", "eagle2"]


async def test_a_restarted_operator_holds_until_its_windows_are_full_enough(scene: Scene) -> None:
    world = scene.world
    await world.run(3 * WINDOW)
    world.kill(world.process)
    world.users["llama"] = HIGH
    scene.start()
    await world.run(TICK)
    assert world.condition("TelemetryAvailable") == ("False", "NoData")
    assert "scraped for less than about half of the rate window" in world.message(
        "TelemetryAvailable"
    )
    assert world.tries() == []
    assert await world.run(WINDOW, until=scene.fresh)
    assert await world.run(900, until=world.finished("none"))


async def test_one_pod_that_cannot_be_scraped_keeps_speculation_off(scene: Scene) -> None:
    world = scene.world
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    await world.run(600)
    scene.pods.broken = set(scene.names()[:1])
    world.users["llama"] = LOW
    began = world.cluster.now
    await world.run(900)
    assert [
        each for each in world.cluster.writes if each.at > began and each.what == "eagle2"
    ] == []
    assert world.condition("TelemetryAvailable") == ("False", "PartialData")
    assert "HTTP 500" in world.message("TelemetryAvailable")
    scene.pods.broken = set()
    assert await world.run(900, until=world.finished("eagle2"))


async def test_pods_that_none_can_be_scraped_are_told_once_and_it_heals(scene: Scene) -> None:
    world = scene.world
    await world.run(3 * WINDOW)
    before = world.events()
    scene.pods.broken = set(scene.names())
    world.users["llama"] = HIGH
    await world.run(600)
    assert world.condition("TelemetryAvailable") == ("False", "TelemetryUnavailable")
    assert "NetworkPolicy" in world.message("TelemetryAvailable")
    assert world.events()[len(before) :] == ["TelemetryUnavailable"]
    assert world.tries() == []
    scene.pods.broken = set()
    # The next attempt is at most a minute away, and half a window must be seen.
    assert await world.run(60 + WINDOW, until=scene.fresh)
    assert await world.run(900, until=world.finished("none"))
