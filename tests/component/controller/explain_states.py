"""States of a serving, as scenarios that went wrong for others lead to them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import Kind
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.ports import TelemetrySource
from ridgeline.policy.facts import EngineFacts
from ridgeline.policy.placement import Node
from ridgeline.policy.quota import PodCost
from ridgeline.sim.fate import cannot_pull
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import EndpointFaults
from ridgeline.sim.pace import Pace
from ridgeline.sim.template import Template
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.controller.test_controller_explain import GPU, server
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    REPLICAS,
    World,
    container,
    settled,
    spec,
)
from tests.unit.cluster.test_neighbours import quota_body, scaler_body

Make = Callable[[], Awaitable[tuple[World, Surroundings]]]


def broken(breaks: Callable[[World, EndpointFaults], None], users: float = HIGH) -> Make:
    """A quiet serving whose telemetry breaks while its load changes."""

    async def make() -> tuple[World, Surroundings]:
        world = await settled()
        breaks(world, world.telemetry.faults)
        world.users["llama"] = users
        await world.run(600)
        return world, Surroundings()

    return make


def after(change: Callable[[World], None], seconds: float = 300, **options: Any) -> Make:
    """A settled serving to which something happens."""

    async def make() -> tuple[World, Surroundings]:
        world = await settled(**options)
        change(world)
        await world.run(seconds)
        return world, Surroundings()

    return make


def from_the_start(
    build: Callable[[World, Surroundings], None], seconds: float = 900, **fields: Any
) -> Make:
    """A busy serving of a world that was built so."""

    async def make() -> tuple[World, Surroundings]:
        world, around = World(), Surroundings()
        build(world, around)
        if "llama" not in world.users:
            world.deploy(users=HIGH)
        world.cluster.create_serving("llama", spec(**fields))
        world.start(around=around)
        await world.run(seconds)
        return world, around

    return make


def pods(world: World) -> list[str]:
    return [pod.name for pod in world.cluster.pods_of("llama")]


def stopped(world: World, faults: EndpointFaults) -> None:
    faults.scraping = False


def down(_: World, faults: EndpointFaults) -> None:
    faults.error = "HTTP 503: service unavailable"


def empty(_: World, faults: EndpointFaults) -> None:
    faults.empty = True


def nan(world: World, faults: EndpointFaults) -> None:
    faults.not_finite = set(pods(world))


def half(world: World, faults: EndpointFaults) -> None:
    faults.hidden = set(pods(world)[:2])


def engine_missing(world: World, _: Surroundings) -> None:
    world.deploy(users=LOW, containers=[container(None, "vllm", "--data-parallel-size=2")])
    world.telemetry.faults.missing_engines = {"1"}


def contested(world: World, _: Surroundings) -> None:
    world.deploy(users=HIGH)
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="flux")


def rivals(world: World, _: Surroundings) -> None:
    world.deploy(users=HIGH)
    world.cluster.create_serving("an-older-one", spec())
    world.cluster.advance(world.cluster.now + 60)


def quota_full(world: World, around: Surroundings) -> None:
    body = quota_body("team", hard={"pods": "4"}, used={"pods": "4"}, namespace="default")
    body["metadata"]["resourceVersion"] = "1"
    around.quotas.lay_over(0, [trim_quota(body)])
    shaped(world, cost=PodCost(amounts={"pods": Fraction(1)}))


def scaling(world: World, around: Surroundings) -> None:
    body = scaler_body(
        "hpa", namespace="default", status={"currentReplicas": REPLICAS, "desiredReplicas": 6}
    )
    body["metadata"]["resourceVersion"] = "1"
    around.autoscalers.lay_over(0, [trim_autoscaler(body)])
    world.deploy(users=HIGH)


def shaped(world: World, **shape: Any) -> None:
    world.cluster.create_deployment(
        "llama", containers=(container(),), replicas=REPLICAS, shape=TargetShape(**shape)
    )
    world.users["llama"] = HIGH
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: world.users["llama"])


def unstartable(world: World, _: Surroundings) -> None:
    pace = Pace(deadline_seconds=120.0, starts=lambda template: template.profile is None)
    world.deploy(pace=pace, users=HIGH)


def no_image(world: World, _: Surroundings) -> None:
    def fate(template: Template) -> Any:
        return cannot_pull("503 from the registry") if template.profile else None

    world.deploy(users=LOW, containers=[container(None)], pace=Pace(fate=fate))


async def undone() -> tuple[World, Surroundings]:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(900)
    return world, Surroundings()


async def rolling() -> tuple[World, Surroundings]:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    await world.run(20)
    return world, Surroundings()


def busy(world: World) -> None:
    world.users["llama"] = HIGH


def gone(world: World) -> None:
    world.cluster.delete_deployment("llama")


def paused(world: World) -> None:
    world.cluster.pause("llama", True)
    world.users["llama"] = HIGH


def suspended(world: World) -> None:
    world.cluster.edit_serving("llama", spec(suspend=True))
    world.users["llama"] = HIGH


def recommending(world: World) -> None:
    world.cluster.edit_serving("llama", spec(mode="RecommendOnly"))
    world.users["llama"] = HIGH


def no_replicas(world: World) -> None:
    world.cluster.scale("llama", 0)


async def behind_another() -> tuple[World, Surroundings]:
    world = World(max_rolls=1, max_rolls_per_pool=1)
    for name in ("aya", "llama"):
        world.deploy(name, pace=Pace(startup_seconds=300.0))
        world.cluster.create_serving(name, spec(name))
    world.start()
    await world.run(180)
    world.users["aya"] = HIGH
    assert await world.run(900, until=lambda: world.roll("aya") == "Rolling")
    world.users["llama"] = HIGH
    await world.run(180)
    return world, Surroundings()


PREDICTED: dict[str, Any] = {"accelerator": "slow", "cutoff": {"strategy": "Goodput"}}


def quiet_unseen(world: World, around: Surroundings) -> None:
    """A target that has never speculated, on a GPU that a person described."""
    around.accelerators.put(GPU)
    world.deploy(users=LOW, containers=[server()])


def nothing(_: World) -> None:
    """Leave it alone."""


def seen_through(change: Callable[[EngineFacts], EngineFacts]) -> Make:
    """A quiet, settled serving whose engines tell something else of themselves from then on."""

    async def make() -> tuple[World, Surroundings]:
        world = await settled()
        world.telemetry = world.sources["default"] = Retold(world.telemetry, change)  # type: ignore[assignment]
        await world.run(300)
        return world, Surroundings()

    return make


class Retold:
    """A telemetry endpoint whose engines say something else than they do."""

    def __init__(
        self, source: TelemetrySource, change: Callable[[EngineFacts], EngineFacts]
    ) -> None:
        self._source, self._change = source, change

    async def read(self, now: float) -> TelemetrySnapshot:
        snapshot = await self._source.read(now)
        engines = {
            pod: tuple(self._change(each) for each in found)
            for pod, found in snapshot.engines.items()
        }
        return replace(snapshot, engines=engines)


def no_latency(engine: EngineFacts) -> EngineFacts:
    """As `histogram_quantile` of buckets that are all zero leaves it."""
    return replace(engine, tpot_seconds=None, not_finite=("tpot_seconds",))


def long_prompts(engine: EngineFacts) -> EngineFacts:
    """A burst of prefills beside the few requests in decode."""
    return replace(
        engine, prompt_tokens_per_second=200_000.0, mean_prompt_tokens=50_000.0, waiting=20.0
    )


async def immovable() -> tuple[World, Surroundings]:
    """A target whose surge and unavailability both round to no Pod."""
    world = await settled()
    store = world.process.store
    target = world.cluster.deployment("llama")
    shape = replace(target.shape, max_surge=0, max_unavailable="10%")
    version = str(int(target.resource_version) + 1_000_000)
    store.put_deployment(replace(target, shape=shape, resource_version=version))
    world.users["llama"] = HIGH
    await world.run(300)
    return world, Surroundings()


def short_of_drain(world: World, _: Surroundings) -> None:
    world.cluster.create_deployment(
        "llama",
        containers=(container(EAGLE_CONFIG, "vllm", "--shutdown-timeout=60"),),
        replicas=REPLICAS,
        shape=TargetShape(grace=30.0),
    )
    world.users["llama"] = HIGH
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: world.users["llama"])


def alone_on_its_node(world: World, around: Surroundings) -> None:
    world.cluster.add_node(Node(name="node", labels={}, allocatable={"nvidia.com/gpu": 8}))
    world.deploy(users=HIGH / REPLICAS, replicas=1, gpus=1, alone_on_node=True)
    world.cluster.surround(around)


def on_a_share(world: World, around: Surroundings) -> None:
    """Pods that share a GPU with others, and so have none of its cut-offs."""
    product = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED"}
    world.cluster.add_node(Node(name="node", labels=product, allocatable={"nvidia.com/gpu": 8}))
    world.deploy(users=LOW, containers=[server()], gpus=1)
    world.cluster.surround(around)


async def taken_back() -> tuple[World, Surroundings]:
    """A roll that passed its deadline and is being undone."""
    world = World()
    unstartable(world, Surroundings())
    world.cluster.create_serving("llama", spec())
    world.start()
    assert await world.run(900, until=lambda: world.roll() == "Undoing", step=1.0)
    return world, Surroundings()


async def upgraded() -> tuple[World, Surroundings]:
    """A person's upgrade of another argument, just after the operator's own change."""
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    await world.run(120)
    changed = container("", "vllm", "--max-num-seqs=128")
    world.cluster.set_containers("llama", (changed,), manager="kubectl-client-side-apply")
    await world.run(30)
    return world, Surroundings()


async def renamed() -> tuple[World, Surroundings]:
    """A chart that calls the container by another name than the serving does."""
    world = await settled()
    world.cluster.set_containers("llama", (container(EAGLE_CONFIG, "server"),), manager="helm")
    named = {"name": "llama", "containerName": "vllm"}
    world.cluster.edit_serving("llama", spec(targetRef=named))
    await world.run(300)
    return world, Surroundings()


async def watch_dead() -> tuple[World, Surroundings]:
    """An edit that no watch stream tells the operator."""
    world = await settled()
    world.process.stream.stalled = set(Kind)
    world.cluster.edit_serving("llama", spec(suspend=True))
    await world.run(300)
    return world, Surroundings()


async def standby() -> tuple[World, Surroundings]:
    """The process that is asked holds no Lease: it decides and writes nothing."""
    world = await settled()
    world.process.leader.held = False
    world.users["llama"] = HIGH
    await world.run(300)
    return world, Surroundings()
