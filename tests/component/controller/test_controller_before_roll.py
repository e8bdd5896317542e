"""What is looked into before a roll, in the whole controller: it holds, says why, and lets go."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ridgeline.cluster.devices import trim_claim, trim_class
from ridgeline.cluster.gangs import trim_pod_group
from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.surroundings import Surroundings, trim_node
from ridgeline.controller.explain import Seen, told, view_of
from ridgeline.policy.placement import PodClaim, PodNeeds
from ridgeline.policy.quota import PodCost
from ridgeline.policy.roll_neighbours import Gang
from ridgeline.sim.fleet_load import ClosedLoop
from tests.component.controller.world import HIGH, REPLICAS, World, container, spec
from tests.unit.cluster.device_bodies import (
    claim_body,
    class_body,
    node_body,
    published,
    slice_body,
)
from tests.unit.cluster.test_neighbours import quota_body, scaler_body

PODS = PodCost(amounts={"pods": Fraction(1)})


def quota(used: int, version: int = 1) -> Any:
    body = quota_body("team", hard={"pods": "4"}, used={"pods": str(used)}, namespace="default")
    body["metadata"]["resourceVersion"] = str(version)
    return trim_quota(body)


def scaler(desired: int, version: int = 1) -> Any:
    body = scaler_body(
        "hpa",
        namespace="default",
        status={"currentReplicas": REPLICAS, "desiredReplicas": desired},
    )
    body["metadata"]["resourceVersion"] = str(version)
    return trim_autoscaler(body)


def busy(around: Surroundings | None = None, **shape: Any) -> World:
    """A target with these fields, and more users on it than its profile is for."""
    world = World()
    world.cluster.create_deployment(
        "llama", containers=(container(),), replicas=REPLICAS, shape=TargetShape(**shape)
    )
    world.users["llama"] = HIGH
    world.telemetry.traffic["llama"] = ClosedLoop(lambda _: world.users["llama"])
    world.cluster.create_serving("llama", spec())
    world.start(around=around)
    return world


def assert_held(world: World, reason: str, *said: str) -> None:
    decision = world.status()["lastDecision"]
    assert decision["reason"] == reason
    for each in said:
        assert each in decision["message"]
    assert world.status()["recommendedProfile"] == "none"
    assert world.tries() == []


async def test_a_quota_that_is_full_holds_until_it_is_raised() -> None:
    around = Surroundings()
    around.quotas.lay_over(0, [quota(4)])
    world = busy(around, cost=PODS)
    await world.run(900)
    assert_held(world, "NoQuotaForSurge", "ResourceQuota team has 4 of 4 pods in use")
    around.quotas.put(quota(3, 2))
    assert await world.run(900, until=world.finished("none"))


async def test_an_autoscaler_that_is_scaling_holds_until_it_is_there() -> None:
    around = Surroundings()
    around.autoscalers.lay_over(0, [scaler(REPLICAS + 2)])
    world = busy(around)
    await world.run(900)
    assert_held(world, "ScalingUnderWay", "from 4 to 6 replicas")
    around.autoscalers.put(scaler(REPLICAS, 2))
    assert await world.run(900, until=world.finished("none"))


async def test_a_gang_holds() -> None:
    world = busy(gang=Gang(name="llama", key="scheduling.x-k8s.io/pod-group"))
    await world.run(900)
    assert_held(world, "GangScheduled", "scheduling.x-k8s.io/pod-group")


async def test_a_gang_of_one_rolls() -> None:
    world = busy(gang=Gang(name="llama", key="k", least=1))
    assert await world.run(1800, until=world.finished("none"))


async def test_a_gang_whose_pods_are_there_rolls_and_one_of_more_holds() -> None:
    around = Surroundings()
    gang = Gang(name="llama", key="scheduling.x-k8s.io/pod-group", group="scheduling.x-k8s.io")
    around.pod_groups[gang.group].lay_over(0, [pod_group(REPLICAS + 2)])
    world = busy(around, gang=gang, max_surge=1, max_unavailable=0)
    await world.run(900)
    assert_held(world, "GangScheduled", "of which 6 Pods must", "5 are there: 4 old ones stay")
    around.pod_groups[gang.group].put(pod_group(REPLICAS + 1, 2))
    assert await world.run(1800, until=world.finished("none"))


async def test_a_roll_whose_pods_claim_devices_waits_until_one_is_free() -> None:
    around = readable()
    claims = [
        trim_claim(claim_body(f"c{n}", ("gpu.example.com", "n", f"gpu-{n}"))) for n in range(4)
    ]
    around.devices.claims.lay_over(0, claims)
    needs = PodNeeds(claims=(PodClaim(template="gpu"),))
    world = busy(around, needs=needs, max_surge=1, max_unavailable=0)
    await world.run(900)
    assert_held(world, "NoRoomForSurge", "room for 0 more Pods (1 × gpu.example.com each)")
    around.devices.claims.drop((claims[0].namespace, "c0"), claims[0].uid)
    assert await world.run(1800, until=world.finished("none"))


async def test_devices_that_cannot_be_counted_hold_nothing_and_explain_says_why() -> None:
    around = readable()
    odd = trim_class(class_body("gpu.example.com", "device.capacity['m'].size > 3"))
    around.devices.classes.lay_over(around.devices.classes.listing_started(), [odd])
    needs = PodNeeds(claims=(PodClaim(template="gpu"),))
    world = busy(around, needs=needs, max_surge=1, max_unavailable=0)
    assert await world.run(1800, until=world.finished("none"))
    view = view_of(
        world.process.store, world.cluster.serving("llama"), around, None, world.cluster.now
    )
    basis = dict(told(Seen(serving=view.serving, events=(), view=view, snapshot=None)).basis)
    assert "DeviceClass gpu.example.com selects devices by" in basis["room for a surge Pod"]


def readable() -> Surroundings:
    """One node with four devices, and a class and a template for one of them."""
    around = Surroundings()
    around.nodes.lay_over(0, [trim_node(node_body("n"))])
    published(around.devices, slice_body("s", node="n"), count=1)
    template = replace(around.devices.templates.all()[0], namespace="default")
    mark = around.devices.templates.listing_started()
    around.devices.templates.lay_over(mark, [template])
    return around


def pod_group(least: int, version: int = 1) -> Any:
    metadata = {"namespace": "default", "name": "llama", "uid": "g"}
    body = {"metadata": {**metadata, "resourceVersion": str(version)}}
    return trim_pod_group({**body, "spec": {"minMember": least}})


async def test_another_controllers_target_is_recommended_for_and_never_written() -> None:
    world = busy(owner="InferenceService/llama")
    await world.run(900)
    assert_held(
        world,
        "TargetOwnedByController",
        "InferenceService/llama owns this Deployment",
        "env item SPECULATION_CONFIG = ''",
    )
    world.cluster.force("llama", "none")
    await world.run(900)
    assert_held(world, "TargetOwnedByController", "InferenceService/llama owns this Deployment")


@pytest.mark.parametrize("around", [None, Surroundings()])
async def test_without_rights_to_look_a_roll_goes_on(around: Surroundings | None) -> None:
    world = busy(around, cost=PODS)
    assert await world.run(1800, until=world.finished("none"))


async def explained(world: World, around: Surroundings) -> dict[str, str]:
    serving, now = world.cluster.serving("llama"), world.cluster.now
    view = view_of(world.process.store, serving, around, None, now)
    return dict(told(Seen(serving=serving, events=(), view=view, snapshot=None)).basis)


async def test_explain_tells_what_was_looked_into_and_what_could_not_be() -> None:
    around = Surroundings()
    around.quotas.lay_over(0, [quota(1)])
    around.autoscalers.lay_over(0, [scaler(REPLICAS)])
    world = busy(around, cost=PODS)
    await world.run(60)
    basis = await explained(world, around)
    assert "allows 3 more Pods" in basis["quota"]
    assert "may scale at any moment" in basis["autoscaler"]
    assert basis["not readable"].startswith("PodDisruptionBudgets:")
    assert "without the right to read nodes" in basis["room for a surge Pod"]
    nothing = await explained(world, Surroundings())
    assert nothing["quota"] == "not known: ResourceQuotas cannot be read"
    assert "HorizontalPodAutoscalers" in nothing["not readable"]
