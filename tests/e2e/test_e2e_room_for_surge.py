"""Room for a roll's surge Pod: counted over the Pods of all namespaces, where all can be seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.counting import counting_operator
from tests.e2e.gpu_nodes import GpuNodes
from tests.e2e.rooms import fresh_namespace, nothing_happens, small
from tests.e2e.variants import on_nodes, target_with
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def counting(
    prepared: Cluster, room: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator that sees the whole cluster and may write in the room alone."""
    with counting_operator(prepared, room, tmp_path_factory.mktemp("kubeconfig")) as process:
        yield process


@pytest.fixture
def elsewhere(prepared: Cluster) -> Iterator[str]:
    """Another namespace."""
    with fresh_namespace(prepared) as name:
        yield name


def test_a_roll_waits_for_a_gpu_that_another_namespaces_pod_has(
    counting: OperatorProcess, prepared: Cluster, room: str, elsewhere: str, audit: AuditLog
) -> None:
    node = GpuNodes(prepared).names[-1]
    here, count = on_nodes(node), _gpus(prepared, node)
    scene = Placed(prepared, small(room, "tight", gpus=1, max_unavailable=0), counting)
    other = Placed(prepared, small(elsewhere, "neighbour", gpus=count - 1))
    scene.put_target(target_with(scene, here))
    other.put_target(target_with(other, here))
    scene.put_serving()

    scene.wait_reason("NoRoomForSurge")
    assert nothing_happens(lambda: scene.reason() == "NoRoomForSurge")
    message = scene.status()["lastDecision"]["message"]
    for part in ("1 suitable nodes", "0 more Pods", "1 × nvidia.com/gpu", "maxUnavailable: 1"):
        assert part in message
    assert scene.condition("Ready") == ("True", "Operating")
    assert audit.tries(room, "tight") == []

    prepared.kubectl("scale", "deployment/neighbour", "--replicas=0", "-n", elsewhere)

    scene.wait_rolled("eagle")
    assert len(audit.profile_writes(room, "tight")) == 1


def _gpus(cluster: Cluster, node: str) -> int:
    found: Object = cluster.kubectl("get", f"node/{node}")["status"]["allocatable"]
    return int(found["nvidia.com/gpu"])
