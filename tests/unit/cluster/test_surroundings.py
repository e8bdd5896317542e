"""Nodes, GPUs in use, disruption budgets and the shape of a target, as they are kept."""

from typing import Any

import pytest

from ridgeline.cluster.shape import ContainerTiming, requests_of, trim_shape
from ridgeline.cluster.surroundings import (
    BoundPod,
    Surroundings,
    trim_bound,
    trim_budget,
    trim_node,
    trim_spec,
)
from ridgeline.policy.placement import Requirement, Taint, Toleration

GPU = "nvidia.com/gpu"


def meta(name: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), **more}


def gpu_pod(name: str, *, node: str = "a", gpus: int = 1, **status: Any) -> dict[str, Any]:
    resources = {"limits": {GPU: str(gpus), "cpu": "4"}}
    return {
        "metadata": meta(name, namespace="ns"),
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": "Running", **status},
    }


def bound(name: str, **changes: Any) -> BoundPod:
    pod = trim_bound(gpu_pod(name, **changes))
    assert pod is not None
    return pod


def test_a_pod_keeps_its_gpus_until_it_has_ended() -> None:
    assert bound("p", gpus=2).requests == {GPU: 2}
    assert trim_bound(gpu_pod("p", phase="Succeeded")) is None
    assert trim_bound(gpu_pod("p", node="")) is None
    leaving = gpu_pod("p")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert trim_bound(leaving) is not None


def test_a_pod_without_extended_resources_is_left_out() -> None:
    pod = gpu_pod("p")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    assert trim_bound(pod) is None


def test_containers_add_up_and_init_containers_run_one_at_a_time() -> None:
    one = {"resources": {"requests": {GPU: "1"}}}
    three = {"resources": {"requests": {GPU: "3"}}}
    assert requests_of({"containers": [one, one], "initContainers": [three, one]}) == {GPU: 3}
    assert requests_of({"containers": [one, three], "initContainers": [three]}) == {GPU: 4}


def test_gpus_in_use_follow_pods_as_they_come_move_and_go() -> None:
    around = Surroundings()
    around.put_bound(bound("p", node="a", gpus=2))
    around.put_bound(bound("q", node="a", gpus=1))
    around.put_bound(bound("r", node="b", gpus=4))
    assert around.used() == {"a": {GPU: 3}, "b": {GPU: 4}}
    around.drop_bound(("ns", "p"), "uid-p")
    around.drop_bound(("ns", "r"), "uid-r")
    around.drop_bound(("ns", "unknown"), "uid-x")
    assert around.used() == {"a": {GPU: 1}}


def test_a_listing_mends_the_gpus_in_use() -> None:
    around = Surroundings()
    around.put_bound(bound("p", node="a"))
    around.put_bound(bound("q", node="a"))
    mark = around.bound.listing_started()
    around.lay_over_bound(mark, [bound("q", node="a"), bound("s", node="b")])
    assert around.used() == {"a": {GPU: 1}, "b": {GPU: 1}}


def test_a_node() -> None:
    body = {
        "metadata": meta("n", labels={"zone": "z"}),
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "8", GPU: "8", "pods": "110"},
        },
    }
    node = trim_node(body).node
    assert node.usable
    assert node.labels == {"zone": "z"}
    assert node.taints == (Taint(key="gpu", value="", effect="NoSchedule"),)
    assert node.allocatable == {GPU: 8}
    assert not trim_node({**body, "spec": {"unschedulable": True}}).node.usable
    assert not trim_node({**body, "status": {}}).node.usable


def test_the_tightest_budget_over_the_pods_counts() -> None:
    around = Surroundings()
    for name, allowed, selector in (
        ("loose", 3, {"matchLabels": {"app": "x"}}),
        (
            "tight",
            1,
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]},
        ),
        ("other", 0, {"matchLabels": {"app": "z"}}),
    ):
        around.budgets.put(
            trim_budget(
                {
                    "metadata": meta(name, namespace="ns"),
                    "spec": {"selector": selector},
                    "status": {"disruptionsAllowed": allowed},
                }
            )
        )
    found = around.budget_over("ns", {"app": "x"})
    assert found is not None
    assert (found.name, found.allowed) == ("tight", 1)
    assert around.budget_over("elsewhere", {"app": "x"}) is None
    assert around.budget_over("ns", {"app": "none"}) is None


def test_a_changed_policy_is_told_once() -> None:
    around = Surroundings()
    told: list[tuple[str, str]] = []
    around.listen_to_policies(lambda namespace, name: told.append((namespace, name)))
    policy = trim_spec({"metadata": meta("p", namespace="ns"), "spec": {"cooldownSeconds": 5}})
    around.put_policy(policy)
    around.put_policy(policy)
    around.drop_policy(("ns", "p"), "uid-p")
    assert told == [("ns", "p"), ("ns", "p")]


def pod_template(**pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "vllm"}], **pod}
    return {"template": {"metadata": {"labels": {"app": "x"}}, "spec": spec}}


def test_the_shape_of_a_plain_deployment_is_kubernetes_default() -> None:
    shape = trim_shape(pod_template())
    assert (shape.max_surge, shape.max_unavailable, shape.recreate) == ("25%", "25%", False)
    assert (shape.grace, shape.progress_deadline) == (30.0, 600.0)
    assert shape.timing == {"vllm": ContainerTiming()}
    assert not shape.needs.alone_on_node


def test_what_pods_ask_of_a_node() -> None:
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["h100"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    shape = trim_shape(
        pod_template(
            nodeSelector={"pool": "p"},
            tolerations=[{"operator": "Exists"}],
            affinity={"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}},
            resourceClaims=[{"name": "gpu"}],
        )
    )
    assert shape.needs.node_selector == {"pool": "p"}
    assert shape.needs.affinity_terms == (
        (Requirement(key="gpu", operator="In", values=("h100",)),),
    )
    assert shape.needs.tolerations == (Toleration(key="", operator="Exists", value="", effect=""),)
    assert shape.needs.claims


@pytest.mark.parametrize(
    ("selector", "topology", "alone"),
    [
        ({"matchLabels": {"app": "x"}}, "kubernetes.io/hostname", True),
        ({"matchLabels": {"app": "y"}}, "kubernetes.io/hostname", False),
        ({"matchLabels": {"app": "x"}}, "topology.kubernetes.io/zone", False),
    ],
)
def test_pods_that_repel_their_own_kind_are_alone_on_a_node(
    selector: dict[str, Any], topology: str, alone: bool
) -> None:
    term = {"labelSelector": selector, "topologyKey": topology}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    shape = trim_shape(pod_template(affinity={"podAntiAffinity": {required: [term]}}))
    assert shape.needs.alone_on_node is alone


@pytest.mark.parametrize(("keys", "alone"), [(["pod-template-hash"], False), (["other"], True)])
def test_pods_that_repel_their_own_template_alone_leave_room_for_a_new_one(
    keys: list[str], alone: bool
) -> None:
    selector = {"matchLabels": {"app": "x"}}
    host = "kubernetes.io/hostname"
    term = {"labelSelector": selector, "topologyKey": host, "matchLabelKeys": keys}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    shape = trim_shape(pod_template(affinity={"podAntiAffinity": {required: [term]}}))
    assert shape.needs.alone_on_node is alone


@pytest.mark.parametrize(
    ("container", "timing"),
    [
        (
            {"startupProbe": {"periodSeconds": 5, "failureThreshold": 60}},
            ContainerTiming(start_budget=300.0),
        ),
        (
            {"livenessProbe": {"initialDelaySeconds": 120}},
            ContainerTiming(start_budget=150.0),
        ),
        ({"readinessProbe": {"periodSeconds": 1}}, ContainerTiming()),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 7}}}}, ContainerTiming(pre_stop=7.0)),
        (
            {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 15; true"]}}}},
            ContainerTiming(pre_stop=15.0),
        ),
    ],
)
def test_times_that_probes_and_hooks_set(
    container: dict[str, Any], timing: ContainerTiming
) -> None:
    shape = trim_shape(pod_template(containers=[{"name": "vllm", **container}]))
    assert shape.timing["vllm"] == timing
