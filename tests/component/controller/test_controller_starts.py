"""New Pods that do not start at once: an image that cannot be pulled, a start that is too long."""

from ridgeline.cluster.shape import ContainerTiming, TargetShape
from ridgeline.sim.fate import Fate, cannot_pull
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.pace import Pace
from ridgeline.sim.template import Template
from tests.component.controller.test_controller_canary import (
    CANARY,
    held_back,
    profiles,
    stands,
    with_canary,
)
from tests.component.controller.world import LOW, World, container, spec


async def test_a_canary_is_named_in_status_while_it_is_judged_and_after() -> None:
    world = await with_canary()
    await world.run(30)
    (name,) = [pod.name for pod in world.cluster.pods_of("llama") if pod.template.profile]
    assert world.status()["rollout"]["canaryPods"] == [name]
    world.cluster.force("llama", "none")
    assert await world.run(120, until=stands(world, "Restored"))
    assert world.status()["rollout"]["canaryPods"] == [name]


async def test_a_roll_without_a_canary_names_no_pods() -> None:
    world = World()
    world.deploy(users=LOW, containers=[container(None)])
    world.cluster.create_serving("llama", spec())
    world.start()
    assert await world.run(1200, until=world.finished("eagle2"))
    assert "canaryPods" not in world.status()["rollout"]


def fated(how: Fate | None) -> World:
    """A quiet world whose Pods on EAGLE fare so."""
    world = World()

    def fate(template: Template) -> Fate | None:
        return how if template.profile else None

    world.deploy(users=LOW, containers=[container(None)], pace=Pace(fate=fate))
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    return world


async def test_an_image_that_cannot_be_pulled_gets_the_kubelets_first_tries() -> None:
    world = fated(cannot_pull("503 from the registry"))
    assert await world.run(900, until=lambda: held_back(world))
    await world.run(45)
    assert world.roll() == "Canary", "the kubelet tries again meanwhile"
    assert await world.run(90, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "ImagePullFailed"
    assert "503 from the registry" in world.status()["rollout"]["message"]
    assert profiles(world) == [""] * 4


async def test_a_registry_that_stumbles_costs_no_roll() -> None:
    world = fated(cannot_pull("503 from the registry"))
    assert await world.run(900, until=lambda: held_back(world))
    await world.run(20)
    (pod,) = [each for each in world.cluster.pods_of("llama") if each.template.profile]
    pod.fate = None
    pod.begin(world.cluster.now)
    await world.run(300)
    assert world.roll() in ("Canary", "Rolling", "Finished")
    assert "quarantine" not in world.status()


async def test_a_server_that_its_probe_ends_in_peace_is_told_as_killed_by_its_probe() -> None:
    budget = 60.0
    world = World()

    def fate(template: Template) -> Fate | None:
        ended = Fate(ends_after=budget, ready=False, exit_code=0, reason="Completed")
        return ended if template.profile else None

    shape = TargetShape(timing={"vllm": ContainerTiming(start_budget=budget)})
    world.cluster.create_deployment(
        "llama", containers=(container(None),), replicas=4, pace=Pace(fate=fate), shape=shape
    )
    world.users["llama"] = LOW
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: LOW)
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    assert await world.run(1800, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "KilledByProbe"
