"""Cut-offs that come from the GPU: from the node's label to a roll, and what an odd label does.

The servings of this file follow the Ridge strategy. With K=4 the ridge of an H100, 120 tokens,
gives 24.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.gpu_nodes import PRODUCT, GpuNodes, gpu_nodes
from tests.e2e.plugin import explained, rows
from tests.e2e.rooms import Crowd, nothing_happens, prometheus_of, small
from tests.e2e.variants import on_nodes, serving_with, sized_by_accelerator, target_with
from tests.scene.load import Load
from tests.scene.manifests import H100, Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

UNKNOWN = "NVIDIA-E2E-9000"
A100 = "NVIDIA-A100-SXM4-80GB"
H100_TABLE: list[Object] = [
    {"profile": "eagle", "upToConcurrency": 24, "returnBelowConcurrency": 19},
    {"profile": "none"},
]


@pytest.fixture(scope="module")
def nodes(prepared: Cluster) -> Iterator[GpuNodes]:
    """The GPU nodes."""
    with gpu_nodes(prepared) as found:
        if len(found.names) < 3:
            pytest.skip("three nodes with GPUs are needed")
        yield found


def _service_url(scene: Placed) -> str:
    where = ("-n", scene.scene.namespace)
    service = scene.cluster.kubectl("get", f"service/{scene.scene.name}", *where)
    return f"http://{service['spec']['clusterIP']}"


def test_load_across_a_cutoff_that_came_from_the_nodes_label_rolls(
    scene_of: Callable[..., Placed], nodes: GpuNodes, prepared: Cluster
) -> None:
    scene = scene_of("sized")
    scene.put_target(target_with(scene, on_nodes(nodes.names[0])))
    scene.put_serving(serving_with(scene, sized_by_accelerator))
    scene.wait_rolled("eagle")

    status = scene.status()
    assert status["cutoff"]["strategy"] == "Ridge"
    assert status["cutoff"]["verdict"] == "Yes"
    assert status["accelerator"] == {
        "name": "h100-sxm",
        "source": PRODUCT,
        "labels": [f"{PRODUCT}={H100}"],
    }
    assert status["cutoffTable"] == H100_TABLE

    with Load(_service_url(scene), users=8) as load:
        scene.wait(lambda: _concurrency(scene) > 3, "load below the cut-off")
        live = ("--prometheus", prometheus_of(prepared), "--window", "8")
        # Its window is longer than the operator's, and must lie behind the Pod as well.
        scene.wait(
            lambda: "keep (bestprofileactive)" in explained(scene, *live).lower(),
            "a whole window of explain",
        )
        _check_explanation(explained(scene, *live))
        assert scene.roll()["to"] == "eagle"
        load.set_users(60)
        scene.wait_rolled("none")
    assert scene.status()["switchHistory"][-1]["reason"] == "AboveCutoff"
    (started,) = [each for each in scene.events("RollStarted") if "to none" in each["note"]]
    assert "AboveCutoff" in started["note"]


def _concurrency(scene: Placed) -> float:
    if scene.operator is None:
        raise AssertionError("the scene has no operator")
    where = {"namespace": scene.scene.namespace, "serving": scene.scene.name}
    return scene.operator.metric("ridgeline_serving_concurrency", **where) or 0.0


def _check_explanation(page: str) -> None:
    """The five checks of the heuristic with their grounds, and the numbers that were compared."""
    basis = {each[0]: each[1] for each in rows(page, "What the cut-offs rest on")}
    assert basis["accelerator"] == f"h100-sxm (from {PRODUCT}={H100})"
    assert basis["strategy"] == "Ridge"
    assert ("cutoff.strategy", "Ridge", "serving") in rows(page, "Settings")
    checks = rows(page, "Would speculation help? (eagle)")
    assert len(checks) == 5
    assert {answer for _, answer, _ in checks} <= {"Yes", "No", "Unknown"}
    bound, *_, positions = checks
    assert bound[1] == "Yes"
    assert positions[1] == "Yes"
    decision = page[page.index("A decision now") :]
    for part in ("Compared:", "24", "Seen:", "acceptance length", "1 of 1 seen"):
        assert part in decision
    assert "concurrency per engine: not known" not in decision
    assert "keep (BestProfileActive)" in decision.replace("Keep", "keep")


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Two scenes on nodes whose labels change: one replica, and two on different nodes."""

    one: Placed
    two: Placed
    crowd: Crowd


@pytest.fixture(scope="module")
def labelled(prepared: Cluster, room: str, operator: OperatorProcess, nodes: GpuNodes) -> Labelled:
    """The scenes, put up while their common node has a GPU that nobody knows."""
    audit = AuditLog(prepared)
    one = Placed(prepared, small(room, "one"), operator)
    two = Placed(prepared, small(room, "two", replicas=2), operator)
    nodes.call(UNKNOWN, nodes.names[2])
    one.put_target(target_with(one, on_nodes(nodes.names[2])))
    two.put_target(target_with(two, on_nodes(*nodes.names[1:3])))
    for scene in (one, two):
        scene.put_serving(serving_with(scene, sized_by_accelerator))
    return Labelled(one=one, two=two, crowd=Crowd(scenes={"one": one, "two": two}, audit=audit))


def _held(labelled: Labelled, scene: Placed, reason: str, *parts: str) -> None:
    """Check that it is told once that a person is needed, and that nothing is written."""
    scene.wait_condition("Ready", "False", reason)
    assert scene.condition("Stalled") == ("True", reason)
    told = scene.full_condition("Ready")
    assert told is not None
    for part in parts:
        assert part in told["message"]
    (event,) = scene.events(reason)
    assert event["type"] == "Warning"
    assert event["note"] == told["message"]
    assert "accelerator" not in scene.status()
    assert "cutoffTable" not in scene.status()
    where = scene.scene.namespace
    assert labelled.crowd.audit.tries(where, scene.scene.name) == []


def test_labels_that_name_no_whole_known_gpu_hold_until_they_do(
    labelled: Labelled, nodes: GpuNodes, prepared: Cluster
) -> None:
    one, two, node = labelled.one, labelled.two, nodes.names[2]
    for scene in (one, two):
        _held(labelled, scene, "AcceleratorUnknown", f"{PRODUCT}={UNKNOWN}", "AcceleratorProfile")
    assert nothing_happens(
        lambda: all(each.reason() == "AcceleratorUnknown" for each in (one, two))
    )

    nodes.call(f"{H100}-SHARED", node)
    for scene in (one, two):
        _held(labelled, scene, "AcceleratorShared", f"{H100}-SHARED", "spec.accelerator")

    # On A100 it depends on model and parallelism, so it is said and left to a person.
    nodes.call(A100, node)
    one.wait_reason("CutoffUndecided")
    assert one.condition("Ready") == ("True", "Operating")
    status = one.status()
    assert status["accelerator"]["name"] == "a100-sxm-80gb"
    assert status["cutoff"]["verdict"] == "Undecided"
    assert status["activeProfile"] == "none"
    assert status["recommendedProfile"] == "eagle"
    _held(labelled, two, "AcceleratorMixed", "h100-sxm", "a100", nodes.names[1], node)
    assert nothing_happens(
        lambda: (one.reason(), two.reason()) == ("CutoffUndecided", "AcceleratorMixed")
    )
    for scene in (one, two):
        assert labelled.crowd.audit.tries(scene.scene.namespace, scene.scene.name) == []

    _check_accelerator_profile(labelled, nodes, prepared)

    # With the label back all is as if it had never been otherwise.
    for scene in (one, two):
        scene.wait(partial(_follows, scene, H100_TABLE), "the table of an H100")
        scene.wait_condition("Ready", "True", "Operating")
        scene.wait_rolled("eagle")
    assert len(two.events("AcceleratorMixed")) == 1


def _check_accelerator_profile(labelled: Labelled, nodes: GpuNodes, cluster: Cluster) -> None:
    """A GPU of one's own is known by its AcceleratorProfile, with the cut-off that it tells."""
    one, node = labelled.one, nodes.names[2]
    profile = _accelerator("e2e-9000")
    one.edit_serving(mode="RecommendOnly")
    try:
        one.apply(profile)
        nodes.call(UNKNOWN, node)
        one.wait(lambda: _accelerator_name(one) == "e2e-9000", "the GPU of one's own")
        status = one.status()
        assert status["accelerator"]["labels"] == [f"{PRODUCT}={UNKNOWN}"]
        # 50 tokens ÷ (K + 1), and 80 % of it.
        assert status["cutoffTable"][0] == {
            "profile": "eagle",
            "upToConcurrency": 10,
            "returnBelowConcurrency": 8,
        }
        assert one.condition("Ready") == ("True", "Operating")
    finally:
        cluster.kubectl("delete", "accel", "e2e-9000", "--ignore-not-found")
    one.wait_condition("Ready", "False", "AcceleratorUnknown")
    nodes.call(H100, node)
    one.edit_serving(mode="Automatic")


def _follows(scene: Placed, table: list[Object]) -> bool:
    found: list[Object] | None = scene.status().get("cutoffTable")
    return found == table


def _accelerator(name: str) -> Object:
    return {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "AcceleratorProfile",
        "metadata": {"name": name},
        "spec": {
            "match": {"productNames": [UNKNOWN]},
            "memoryGiB": 96,
            "memoryBandwidthGBps": 3000,
            "denseBF16TFLOPS": 900,
            "ridgeTokens": 50,
        },
    }


def _accelerator_name(scene: Placed) -> str | None:
    name: str | None = (scene.status().get("accelerator") or {}).get("name")
    return name
