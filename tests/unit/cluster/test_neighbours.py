"""Quotas, autoscalers, owners and protections, as they are kept."""

from fractions import Fraction
from typing import Any

import pytest

from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.shape import trim_shape
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.policy.placement import Requirement

GPU = "requests.nvidia.com/gpu"


def meta(name: str, version: int = 1, namespace: str = "ns") -> dict[str, Any]:
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "resourceVersion": str(version),
    }


def quota_body(
    name: str = "team", *, hard: dict[str, str], used: dict[str, str], **spec: Any
) -> dict[str, Any]:
    return {
        "metadata": meta(name, namespace=spec.pop("namespace", "ns")),
        "spec": {"hard": {"pods": "1"}, **spec},
        "status": {"hard": hard, "used": used},
    }


def scaler_body(
    name: str = "hpa",
    *,
    kind: str = "Deployment",
    version: str = "apps/v1",
    target: str = "llama",
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    return {
        "metadata": meta(name, namespace=spec.pop("namespace", "ns")),
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": target},
            "maxReplicas": 8,
            **spec,
        },
        "status": {"currentReplicas": 4, "desiredReplicas": 4} if status is None else status,
    }


def test_a_quota_goes_by_what_the_api_server_goes_by() -> None:
    body = quota_body(hard={GPU: "8", "requests.memory": "1Ti"}, used={GPU: "6"})
    quota = trim_quota(body).quota
    assert quota.hard == {GPU: 8, "requests.memory": 2**40}
    assert quota.used == {GPU: 6}
    assert quota.scopes == ()


def test_a_quota_that_was_just_made_is_not_counted_yet() -> None:
    quota = trim_quota({"metadata": meta("new"), "spec": {"hard": {"pods": "1"}}}).quota
    assert (quota.hard, quota.used) == ({}, {})


def test_scopes_of_either_form() -> None:
    selected = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    body = quota_body(
        hard={},
        used={},
        scopes=["NotTerminating"],
        scopeSelector={"matchExpressions": [selected]},
    )
    assert trim_quota(body).quota.scopes == (
        Requirement(key="NotTerminating", operator="Exists"),
        Requirement(key="PriorityClass", operator="In", values=("high",)),
    )


def test_quotas_are_those_of_the_namespace() -> None:
    around = Surroundings()
    around.quotas.lay_over(0, [trim_quota(quota_body("a", hard={"pods": "1"}, used={}))])
    found = around.quotas_in("ns")
    assert found is not None
    assert [each.name for each in found] == ["a"]
    assert found[0].hard["pods"] == Fraction(1)
    assert around.quotas_in("elsewhere") == ()


def test_quotas_that_cannot_be_read_are_not_known_to_be_none() -> None:
    assert Surroundings().quotas_in("ns") is None


def test_quotas_follow_as_they_come_change_and_go() -> None:
    around = Surroundings()
    around.quotas.primed = True
    assert around.quotas_in("ns") == ()
    first = trim_quota(quota_body("a", hard={"pods": "1"}, used={}))
    around.quotas.put(first)
    assert len(around.quotas_in("ns") or ()) == 1
    raised = quota_body("a", hard={"pods": "2"}, used={})
    raised["metadata"]["resourceVersion"] = "2"
    around.quotas.put(trim_quota(raised))
    assert [each.hard["pods"] for each in around.quotas_in("ns") or ()] == [2]
    around.quotas.drop(("ns", "a"), first.uid)
    assert around.quotas_in("ns") == ()
    mark = around.quotas.listing_started()
    around.quotas.lay_over(mark, [trim_quota(quota_body("b", hard={}, used={}))])
    assert [each.name for each in around.quotas_in("ns") or ()] == ["b"]


def test_an_autoscaler() -> None:
    found = trim_autoscaler(scaler_body(minReplicas=2))
    scaler = found.autoscaler
    assert found.target == "llama"
    assert (scaler.least, scaler.most, scaler.current, scaler.desired) == (2, 8, 4, 4)
    assert not scaler.scaling
    assert trim_autoscaler(scaler_body()).autoscaler.least == 1
    assert trim_autoscaler(scaler_body(minReplicas=0)).autoscaler.least == 0


@pytest.mark.parametrize(
    ("status", "scaling"),
    [
        ({"currentReplicas": 4, "desiredReplicas": 6}, True),
        ({"currentReplicas": 4, "desiredReplicas": 2}, True),
        ({"currentReplicas": 4, "desiredReplicas": 4}, False),
        # It has not looked yet.
        ({}, False),
        ({"desiredReplicas": 6}, False),
        ({"currentReplicas": 4, "desiredReplicas": 0}, False),
    ],
)
def test_a_scale_up_or_down_under_way(status: dict[str, Any], scaling: bool) -> None:
    assert trim_autoscaler(scaler_body(status=status)).autoscaler.scaling is scaling


@pytest.mark.parametrize(("active", "scaling"), [("True", True), ("False", False)])
def test_an_autoscaler_without_metrics_does_not_act(active: str, scaling: bool) -> None:
    status = {
        "currentReplicas": 4,
        "desiredReplicas": 6,
        "conditions": [
            {"type": "AbleToScale", "status": "False"},
            {"type": "ScalingActive", "status": active},
        ],
    }
    assert trim_autoscaler(scaler_body(status=status)).autoscaler.scaling is scaling


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "other"},
        {"kind": "StatefulSet"},
        {"version": "argoproj.io/v1alpha1"},
        {"namespace": "elsewhere"},
    ],
)
def test_only_the_autoscaler_of_the_target_counts(changes: dict[str, Any]) -> None:
    around = Surroundings()
    around.autoscalers.put(trim_autoscaler(scaler_body(**changes)))
    assert around.autoscaler_of("ns", "llama") is None
    around.autoscalers.put(trim_autoscaler(scaler_body("right")))
    found = around.autoscaler_of("ns", "llama")
    assert found is not None
    assert found.name == "right"


def test_of_two_autoscalers_the_one_that_scales_speaks() -> None:
    around = Surroundings()
    moving = {"currentReplicas": 1, "desiredReplicas": 2}
    around.autoscalers.put(trim_autoscaler(scaler_body("a")))
    around.autoscalers.put(trim_autoscaler(scaler_body("b", status=moving)))
    found = around.autoscaler_of("ns", "llama")
    assert found is not None
    assert found.name == "b"


def spec_of(**metadata: Any) -> dict[str, Any]:
    return {"template": {"metadata": metadata, "spec": {"containers": [{"name": "vllm"}]}}}


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (
            [{"kind": "InferenceService", "name": "llama", "controller": True}],
            "InferenceService/llama",
        ),
        ([{"kind": "App", "name": "a"}], ""),
        ([{"kind": "App", "name": "a", "controller": False}], ""),
        (
            [
                {"kind": "App", "name": "a"},
                {"kind": "VLLMRuntime", "name": "llama", "controller": True},
            ],
            "VLLMRuntime/llama",
        ),
        ([], ""),
    ],
)
def test_the_controller_of_a_deployment_is_its_owner(
    owners: list[dict[str, Any]], owner: str
) -> None:
    assert trim_shape(spec_of(), {"ownerReferences": owners}).owner == owner


def test_without_metadata_no_owner_is_known() -> None:
    assert trim_shape(spec_of()).owner == ""


def test_what_the_template_protects_is_kept_to_compare_with() -> None:
    annotations = {"karpenter.sh/do-not-disrupt": "true"}
    assert trim_shape(spec_of(annotations=annotations)).protected_by == next(iter(annotations))
    assert trim_shape(spec_of()).protected_by is None
    on_deployment = trim_shape(spec_of(), {"annotations": annotations})
    assert on_deployment.protected_by is None
