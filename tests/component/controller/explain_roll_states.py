"""States of a serving whose profile is rolled, held back as a canary, or was taken back."""

from collections.abc import Callable
from typing import Any

from ridgeline.cluster.surroundings import Surroundings
from ridgeline.sim.fleet_load import EngineModel
from ridgeline.sim.fleet_telemetry import Oddity
from ridgeline.sim.pace import Pace
from ridgeline.sim.workload import SimulatedPod
from tests.component.controller import test_controller_goodput as goodput
from tests.component.controller.explain_states import Make
from tests.component.controller.test_controller_canary import quiet, with_canary
from tests.component.controller.world import EAGLE_CONFIG, LOW, World, container, spec

MUCH_ALIKE = EngineModel(acceptance=(0.12, 0.01))
"""Heads with which a step pays for its drafts, and for hardly more."""


def canary(
    odd: Oddity | None = None, seconds: float = 400, model: EngineModel | None = None
) -> Make:
    """A quiet serving that is to be rolled to EAGLE behind a canary, which may be odd."""

    async def make() -> tuple[World, Surroundings]:
        world = await quiet()
        if odd is not None:
            world.telemetry.oddity = _of_the_new(odd)
        if model is not None:
            world.telemetry.model = model
        await world.run(seconds)
        return world, Surroundings()

    return make


def _of_the_new(odd: Oddity) -> Callable[[SimulatedPod], Oddity]:
    return lambda pod: odd if pod.template.profile else Oddity()


async def canary_unseen() -> tuple[World, Surroundings]:
    """A canary that serves, and a Prometheus whose answers have become empty."""
    world = await with_canary()
    world.telemetry.faults.empty = True
    await world.run(90)
    return world, Surroundings()


async def canary_ordered() -> tuple[World, Surroundings]:
    """A canary much like the old replicas, and a person who lets the rest follow."""
    world = await quiet()
    world.telemetry.model = MUCH_ALIKE
    await world.run(400)
    assert world.roll() == "Canary"
    world.cluster.force("llama", "eagle2")
    assert await world.run(600, until=world.finished("eagle2"))
    await world.run(120)
    return world, Surroundings()


async def twenty() -> tuple[World, Surroundings]:
    """Twenty replicas of which the first step of a roll would replace five."""
    world = World()
    pace = Pace(max_surge=5, max_unavailable=5)
    world.deploy(users=5 * LOW, replicas=20, containers=[container(None)], pace=pace)
    always: dict[str, Any] = {"canary": {"when": "Always"}, "trial": "Never"}
    world.cluster.create_serving("llama", spec(rollout=always))
    world.start()
    await world.run(600)
    return world, Surroundings()


async def hardly_worth_it() -> tuple[World, Surroundings]:
    """Two replicas, no surge, and a profile that is a little better than the one that runs."""
    world = World()
    pace = Pace(max_surge=0, max_unavailable=1)
    world.deploy(containers=[goodput.server("")], users=16, replicas=2, pace=pace)
    world.cluster.create_serving("llama", goodput.goodput())
    world.start(around=goodput.around())
    await world.run(1500)
    return world, goodput.around()


async def latency_by_the_token() -> tuple[World, Surroundings]:
    """EAGLE within its objective by the token, and far beyond it by the step."""
    world = World()
    world.deploy(containers=[goodput.server(EAGLE_CONFIG)], users=LOW)
    objective = {"p99TPOTMilliseconds": 60}
    world.cluster.create_serving("llama", goodput.goodput(objective=objective))
    world.start(around=goodput.around())
    await world.run(900)
    return world, goodput.around()
