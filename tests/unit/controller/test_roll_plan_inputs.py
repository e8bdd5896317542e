"""What of a target, its Pods and its surroundings goes into the plan of a roll."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ridgeline.cluster.devices import trim_claim
from ridgeline.cluster.gangs import trim_pod_group
from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.objects import DeploymentObject, PodObject, trim_pod
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.surroundings import Surroundings, trim_node
from ridgeline.controller.plan import roll_plan
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.engine.container import Container
from ridgeline.policy.facts import TargetFacts
from ridgeline.policy.placement import PodClaim, PodNeeds
from ridgeline.policy.quota import PodCost
from ridgeline.policy.roll_neighbours import Gang, ProtectedPod
from ridgeline.policy.roll_plan import RollPlan
from tests.unit.cluster.bodies import pod_body
from tests.unit.cluster.device_bodies import claim_body, node_body, published, slice_body
from tests.unit.cluster.test_neighbours import quota_body, scaler_body

KARPENTER = "karpenter.sh/do-not-disrupt"
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def target(image: str = "vllm/vllm-openai:v0.24.0", *words: str, **shape: Any) -> ResolvedTarget:
    container = Container(name="vllm", args=words, image=image)
    deployment = DeploymentObject(
        namespace="ns",
        name="llama",
        uid="d",
        generation=1,
        resource_version="1",
        deleting=False,
        replicas=4,
        paused=False,
        template_profile=None,
        containers=(container,),
        marker=None,
        observed_generation=1,
        current_replicas=4,
        updated_replicas=4,
        ready_replicas=4,
        available_replicas=4,
        progress_deadline_exceeded=False,
        shape=TargetShape(**shape),
    )
    facts = TargetFacts(
        uid="d",
        generation=1,
        last_writer="",
        desired_replicas=4,
        active_profile=None,
        active_config="",
        rollout=None,
    )
    return ResolvedTarget(deployment=deployment, container=container, facts=facts)


def pod(name: str = "p", **annotations: str) -> PodObject:
    keys = {"karpenter": KARPENTER, "autoscaler": AUTOSCALER}
    body = pod_body(name, annotations={keys[key]: value for key, value in annotations.items()})
    found = trim_pod(body)
    assert found is not None
    return found


def planned(
    aim: ResolvedTarget | None = None,
    *pods: PodObject,
    around: Surroundings | None = None,
    **more: Any,
) -> RollPlan:
    return roll_plan(aim or target(), pods, around, **more)


def readable() -> Surroundings:
    around = Surroundings()
    for shelf in (around.budgets, around.quotas, around.autoscalers):
        shelf.primed = True
    return around


def test_a_quota_is_counted_against_what_a_pod_takes() -> None:
    around = readable()
    gpu = "requests.nvidia.com/gpu"
    around.quotas.put(trim_quota(quota_body(hard={gpu: "8"}, used={gpu: "4"})))
    cost = PodCost(amounts={gpu: Fraction(4)})
    assert planned(target(cost=cost), around=around).quota.pods == 1
    assert planned(around=around).quota.pods is None


@pytest.mark.parametrize("around", [None, Surroundings()])
def test_what_cannot_be_read_is_said_and_holds_nothing(around: Surroundings | None) -> None:
    plan = planned(around=around)
    assert plan.quota.pods is None
    assert plan.quota.why == "not known: ResourceQuotas cannot be read"
    assert plan.autoscaler is None
    assert plan.unread == ("PodDisruptionBudgets", "ResourceQuotas", "HorizontalPodAutoscalers")


def test_what_is_read_and_empty_is_not_said_to_be_unreadable() -> None:
    plan = planned(around=readable())
    assert plan.unread == ()
    assert "no ResourceQuota" in plan.quota.why


def test_the_autoscaler_of_the_target() -> None:
    around = readable()
    around.autoscalers.put(trim_autoscaler(scaler_body("other", target="else")))
    assert planned(around=around).autoscaler is None
    around.autoscalers.put(trim_autoscaler(scaler_body("hpa")))
    found = planned(around=around).autoscaler
    assert found is not None
    assert found.name == "hpa"


def test_a_pod_that_somebody_protects_by_hand() -> None:
    pods = (pod("a"), pod("b", karpenter="true"), pod("c", autoscaler="false"))
    assert planned(None, *pods).protected == (
        ProtectedPod(name="b", by=KARPENTER),
        ProtectedPod(name="c", by=AUTOSCALER),
    )


def test_what_the_template_gives_every_pod_speaks_to_node_autoscalers_alone() -> None:
    aim = target(protected_by=KARPENTER)
    pods = (pod("a", karpenter="true"), pod("b", karpenter="true", autoscaler="false"))
    assert planned(aim, *pods).protected == (ProtectedPod(name="b", by=AUTOSCALER),)


def test_a_pod_that_goes_already_is_not_protected_any_more() -> None:
    assert planned(None, replace(pod("a", karpenter="true"), deleting=True)).protected == ()


def test_gang_and_owner_come_with_the_deployment() -> None:
    gang = Gang(name="g", key="k")
    plan = planned(target(gang=gang, owner="InferenceService/llama"))
    assert (plan.gang, plan.owner) == (gang, "InferenceService/llama")
    assert (planned().gang, planned().owner) == (None, "")


@pytest.mark.parametrize(
    ("image", "drains"),
    [
        ("vllm/vllm-openai:v0.18.0", True),
        ("vllm/vllm-openai:v0.17.2", False),
        ("vllm/vllm-openai:v1.0.0", True),
        ("vllm/vllm-openai:latest", None),
        ("", None),
    ],
)
def test_whether_the_engine_can_drain_follows_from_its_version(
    image: str, drains: bool | None
) -> None:
    assert planned(target(image)).drains is drains


def test_what_was_learned_and_seen_is_passed_on() -> None:
    plan = planned(learned_starts={"eagle2": 200.0}, longest_answer_seconds=90.0)
    assert plan.start_seconds_by_profile == {"eagle2": 200.0}
    assert plan.longest_answer_seconds == 90.0
    assert planned().start_seconds_by_profile == {}
    assert planned().longest_answer_seconds is None


CLAIMING = PodNeeds(claims=(PodClaim(template="gpu"),))


def claimable(devices: int = 4, taken: int = 1, of_quota: str = "9") -> Surroundings:
    """One node with devices, of which claims hold some, and a quota of them."""
    around = readable()
    around.nodes.lay_over(0, [trim_node(node_body("n"))])
    published(around.devices, slice_body("s", node="n", devices=devices))
    held = [("gpu.example.com", "n", f"gpu-{n}") for n in range(taken)]
    around.devices.claims.lay_over(0, [trim_claim(claim_body("c", *held))])
    limit = "gpu.example.com.deviceclass.resource.k8s.io/devices"
    quota = quota_body("devices", hard={limit: of_quota}, used={limit: "7"})
    around.quotas.lay_over(0, [trim_quota(quota)])
    return around


def test_claimed_devices_are_counted_where_that_can_be_known() -> None:
    plan = planned(target(needs=CLAIMING), around=claimable())
    assert plan.room.pods == 1
    assert "have room for 1 more Pods (2 × gpu.example.com each)" in plan.room.why
    assert planned(target(needs=CLAIMING), around=claimable(taken=3)).room.pods == 0


def test_quotas_of_device_classes_count_too() -> None:
    assert planned(target(needs=CLAIMING), around=claimable()).quota.pods == 1
    full = planned(target(needs=CLAIMING), around=claimable(of_quota="8")).quota
    assert full.pods == 0
    assert "has 7 of 8 gpu.example.com.deviceclass.resource.k8s.io/devices in use" in full.why


def test_in_namespaced_mode_claimed_devices_are_unknown() -> None:
    around = claimable()
    around.sees_all_pods = False
    room = planned(target(needs=CLAIMING), around=around).room
    assert room.pods is None


def test_in_namespaced_mode_nodes_that_each_have_one_of_the_pods_are_known_to_be_full() -> None:
    around = Surroundings(sees_all_pods=False)
    around.nodes.primed = True
    around.nodes.put(trim_node(node_body("n")))
    alone = target(needs=PodNeeds(requests={"nvidia.com/gpu": 1}, alone_on_node=True))
    here = replace(pod(), node="n")
    assert planned(alone, here, around=around).room.pods == 0
    assert planned(alone, around=around).room.pods is None
    around.nodes.primed = False
    assert planned(alone, here, around=around).room.pods is None


def test_claimed_devices_that_nobody_may_read_are_unknown_and_their_quota_is_not_counted() -> None:
    around = claimable()
    around.devices.forget()
    plan = planned(target(needs=CLAIMING), around=around)
    assert plan.room.pods is None
    assert "DRA" in plan.room.why
    assert "cannot be read" in plan.room.why
    assert plan.quota.pods is None


def test_the_number_of_a_gang_comes_from_its_pod_group() -> None:
    gang = Gang(name="g", key="k", group="scheduling.x-k8s.io")
    around = readable()
    metadata = {"namespace": "ns", "name": "g", "uid": "u", "resourceVersion": "1"}
    told = trim_pod_group({"metadata": metadata, "spec": {"minMember": 3}})
    around.pod_groups["scheduling.x-k8s.io"].lay_over(0, [told])
    plan = planned(target(gang=gang), around=around)
    assert plan.gang == replace(gang, least=3)
