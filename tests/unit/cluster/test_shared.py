"""What many Pods have alike is in memory once, and cannot be changed for one of them."""

import json

import pytest

from ridgeline.cluster.objects import PodObject, trim_pod
from ridgeline.cluster.shared import shared_amounts
from ridgeline.cluster.surroundings import BoundPod, trim_bound
from tests.unit.cluster.bodies import pod_body


def pods(name: str) -> tuple[PodObject, BoundPod]:
    body = pod_body(name)
    body["spec"] = {
        "nodeName": "node-1",
        "containers": [
            {
                "name": "vllm",
                "ports": [{"name": "http", "containerPort": 8000}],
                "resources": {"limits": {"nvidia.com/gpu": "2"}},
            }
        ],
    }
    body = json.loads(json.dumps(body))  # as from the wire: every text is a new one
    pod, bound = trim_pod(body), trim_bound(body)
    assert pod is not None
    assert bound is not None
    return pod, bound


def test_pods_of_one_deployment_share_all_but_what_names_them() -> None:
    (one, one_bound), (other, other_bound) = pods("p-1"), pods("p-2")
    assert one.ports == (("http", 8000),)
    assert one_bound.requests == {"nvidia.com/gpu": 2}
    for each in ("namespace", "deployment", "node", "ports"):
        assert getattr(one, each) is getattr(other, each)
    assert one.node is other_bound.node
    assert one_bound.requests is other_bound.requests


def test_a_shared_mapping_cannot_be_changed() -> None:
    amounts = shared_amounts({"b": 2, "a": 1})
    assert amounts is shared_amounts({"a": 1, "b": 2})
    with pytest.raises(TypeError):
        amounts["a"] = 5  # type: ignore[index]
