"""Everybody wants the one spare GPU: who rolls first, and that nobody is forgotten."""

from typing import Any

import pytest

from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.surroundings import BoundPod, NodeObject, Surroundings
from ridgeline.policy.placement import Node
from ridgeline.sim.fleet_objects import NAMESPACE
from ridgeline.sim.session import Call, CallKind, Fault, Moment
from ridgeline.sim.workload import Pace, SimulatedPod
from tests.component.controller.test_controller_goodput import SLOW_GPU, goodput, server
from tests.component.controller.world import EAGLE_CONFIG, World

GPU = "nvidia.com/gpu"
SERVINGS = 50
QUIET = 5.0
STARTUP = 10.0


class Pool:
    """GPUs of one node: Pods take free ones, some time after they were made.

    Attributes:
        around: What the operator sees of it.
        bind_seconds: How long a Pod waits for its node at least.
        most_wanted: Most GPUs that Pods ever wanted at once.
    """

    def __init__(self, world: World, gpus: int, bind_seconds: float = 0.0) -> None:
        self.around = Surroundings()
        self.around.accelerators.put(SLOW_GPU)
        self.around.nodes.lay_over(0, [_node(gpus)])
        self.gpus = gpus
        self.bind_seconds = bind_seconds
        self.most_wanted = 0
        self._world = world
        self._made: dict[str, float] = {}
        self._bound: dict[str, BoundPod] = {}
        world.cluster.every(1.0, self._schedule)

    def _schedule(self, now: float) -> None:
        cluster = self._world.cluster
        pods = {pod.name: pod for name in self._world.users for pod in cluster.pods_of(name)}
        for name in [each for each in self._bound if each not in pods]:
            gone = self._bound.pop(name)
            self.around.drop_bound((NAMESPACE, name), gone.uid)
        self.most_wanted = max(self.most_wanted, len(pods))
        for name, pod in pods.items():
            waited = now - self._made.setdefault(name, now)
            settled = pod.ready_since is not None
            if name not in self._bound and (settled or waited >= self.bind_seconds):
                bound = _bound(pod)
                self._bound[name] = bound
                self.around.put_bound(bound)


def _node(gpus: int) -> NodeObject:
    node = Node(name="node", labels={}, allocatable={GPU: gpus})
    return NodeObject(name="node", uid="node", resource_version="1", node=node)


def _bound(pod: SimulatedPod) -> BoundPod:
    return BoundPod(
        namespace=NAMESPACE,
        name=pod.name,
        uid=pod.uid,
        resource_version="1",
        node="node",
        requests={GPU: 1},
    )


def _names(count: int) -> list[str]:
    return [f"s{number:02}" for number in range(count)]


def _fleet(
    count: int, gpus: int, bind_seconds: float = 0.0, stopping: float = 2.0, **options: Any
) -> tuple[World, Pool]:
    """Servings with one replica each on one node, and no operator yet."""
    world = World(**options)
    pace = Pace(startup_seconds=STARTUP, stopping_seconds=stopping)
    for name in _names(count):
        containers = [server(EAGLE_CONFIG)]
        world.deploy(name, containers=containers, users=QUIET, replicas=1, gpus=1, pace=pace)
        world.cluster.create_serving(name, goodput(targetRef={"name": name}))
    return world, Pool(world, gpus, bind_seconds)


def _rolling(world: World, count: int) -> list[str]:
    return [name for name in _names(count) if world.roll(name) in ("Intended", "Rolling")]


async def test_fifty_that_want_one_spare_gpu_roll_one_by_one_by_gain_and_none_is_forgotten() -> (
    None
):
    """Scenario F1."""
    world, pool = _fleet(SERVINGS, gpus=SERVINGS + 1)
    world.start(around=pool.around)
    await world.run(150)
    # The later the name, the busier: the order of names would be the wrong one.
    world.users.update({name: 100.0 + index for index, name in enumerate(_names(SERVINGS))})
    begun: list[str] = []
    waited: set[str] = set()

    def all_done() -> bool:
        now = _rolling(world, SERVINGS)
        assert len(now) <= 1
        begun.extend(name for name in now if name not in begun)
        for name in set(_names(SERVINGS)) - set(begun):
            waits = world.status(name)["lastDecision"]["reason"] == "WaitingForRollBudget"
            waited.update([name] if waits else [])
            assert waits or name not in waited, "who waits goes on waiting until it is its turn"
        return all(world.finished("none", name)() for name in _names(SERVINGS))

    assert await world.run(SERVINGS * 120, until=all_done)
    assert pool.most_wanted == SERVINGS + 1
    assert begun == sorted(begun, reverse=True)
    assert waited == set(begun[1:])
    for name in _names(SERVINGS)[:-1]:
        assert world.events(name)[0] == "WaitingForRollBudget"
        assert world.events(name).count("WaitingForRollBudget") == 1


async def test_who_waits_is_told_who_goes_first_and_why() -> None:
    world, pool = _fleet(3, gpus=4)
    world.start(around=pool.around)
    await world.run(150)
    world.users.update({"s00": 30.0, "s01": 60.0, "s02": 45.0})
    assert await world.run(300, until=lambda: world.roll("s01") == "Rolling")
    assert world.status("s02")["lastDecision"]["reason"] == "WaitingForRollBudget"
    told = world.status("s02")["lastDecision"]["message"]
    assert told.startswith("none waits: "), told
    assert ": default/s01 (it " in told, told


async def test_one_whose_roll_fails_to_begin_does_not_keep_the_place_from_the_others() -> None:
    world, pool = _fleet(3, gpus=4)

    def fault(call: Call) -> Fault | None:
        hit = call.kind is CallKind.REHEARSAL and call.name == "s02"
        return Fault(Moment.BEFORE, UnavailableError("no answer")) if hit else None

    process = world.start(around=pool.around, faults=fault)
    await world.run(150)
    world.users.update({"s00": 30.0, "s01": 45.0, "s02": 60.0})
    others = ("s00", "s01")
    assert await world.run(
        600, until=lambda: all(world.finished("none", each)() for each in others)
    )
    assert world.profiles_written("s02") == []
    process.session.faults = None
    assert await world.run(600, until=world.finished("none", "s02"))


@pytest.mark.parametrize("spare", [1, 2])
async def test_no_two_rolls_count_on_the_same_free_gpu(spare: int) -> None:
    world, pool = _fleet(2, gpus=2 + spare, bind_seconds=STARTUP - 2.0, max_rolls_per_pool=2)
    world.start(around=pool.around)
    await world.run(150)
    world.users.update({"s00": 40.0, "s01": 60.0})
    most = 0

    def both_done() -> bool:
        nonlocal most
        most = max(most, len(_rolling(world, 2)))
        return all(world.finished("none", name)() for name in _names(2))

    assert await world.run(900, until=both_done)
    assert most == spare
    assert pool.most_wanted == 2 + spare
    if spare == 1:
        told = world.status("s00")["switchHistory"]
        assert len(told) == 1
        assert world.events("s00")[0] == "WaitingForRollBudget"


async def test_the_gpu_of_a_pod_that_still_drains_is_waited_for_as_the_turn_is() -> None:
    world, pool = _fleet(2, gpus=3, stopping=90.0)
    world.start(around=pool.around)
    await world.run(150)
    world.users.update({"s00": 40.0, "s01": 60.0})
    assert await world.run(300, until=world.finished("none", "s01"))
    reasons = set()

    def begun() -> bool:
        reasons.add(world.status("s00")["lastDecision"]["reason"])
        return world.roll("s00") == "Rolling"

    await world.run(60, until=begun)
    assert reasons == {"WaitingForRollBudget"}
    assert await world.run(300, until=begun)


async def test_without_a_roll_under_way_a_missing_gpu_is_told_as_that() -> None:
    world, pool = _fleet(1, gpus=1)
    world.start(around=pool.around)
    await world.run(150)
    world.users["s00"] = 40.0
    await world.run(300)
    assert world.status("s00")["lastDecision"]["reason"] == "NoRoomForSurge"
    assert world.tries("s00") == []


async def test_more_servings_than_are_settled_at_once_take_one_place_alone() -> None:
    world, pool = _fleet(30, gpus=60)
    world.start(around=pool.around)
    await world.run(150)
    world.users.update(dict.fromkeys(_names(30), 40.0))
    assert await world.run(300, until=lambda: bool(_rolling(world, 30)), step=15.0)
    assert len(_rolling(world, 30)) == 1


async def test_no_roll_has_the_gpu_that_one_pod_per_node_would_not_take() -> None:
    world = World(max_rolls_per_pool=2)
    world.cluster.add_node(Node(name="node", labels={}, allocatable={GPU: 8}))
    pace = Pace(startup_seconds=STARTUP)
    for name, alone in (("s00", True), ("s01", False)):
        containers = [server(EAGLE_CONFIG)]
        world.deploy(
            name,
            containers=containers,
            users=QUIET,
            replicas=1,
            gpus=1,
            pace=pace,
            alone_on_node=alone,
        )
        world.cluster.create_serving(name, goodput(targetRef={"name": name}))
    around = Surroundings()
    around.accelerators.put(SLOW_GPU)
    world.cluster.surround(around)
    world.start(around=around)
    await world.run(150)
    world.users.update({"s00": 40.0, "s01": 60.0})
    beside = set()

    def ended() -> bool:
        if world.roll("s01") == "Rolling":
            beside.add(world.status("s00")["lastDecision"]["reason"])
        return world.finished("none", "s01")()

    assert await world.run(600, until=ended)
    assert "WaitingForRollBudget" not in beside
    assert "NoRoomForSurge" in beside
    assert world.profiles_written("s00") == []
