"""An operator that looks after one namespace with a Role alone: it can read no node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.e2e.accounts import NAMESPACED_RULES, kubeconfig_of, put_account
from tests.e2e.rooms import nothing_happens, operator_of, small
from tests.e2e.variants import serving_with, sized_by_accelerator
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

ACCOUNT = "namespaced"


@pytest.fixture(scope="module")
def confined(
    prepared: Cluster, room: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator with the rights of a Role."""
    put_account(prepared, room, ACCOUNT, NAMESPACED_RULES)
    folder: Path = tmp_path_factory.mktemp("kubeconfig")
    kubeconfig = kubeconfig_of(prepared, room, ACCOUNT, folder)
    with operator_of(prepared, room, kubeconfig=kubeconfig) as process:
        process.wait_ready()
        yield process


def _may(cluster: Cluster, room: str, verb: str, resource: str) -> bool:
    who = f"system:serviceaccount:{room}:{ACCOUNT}"
    try:
        cluster.kubectl("auth", "can-i", verb, resource, "-A", f"--as={who}")
    except ClusterError:
        return False
    return True


def test_without_nodes_it_asks_for_the_accelerator_and_works_with_it(
    confined: OperatorProcess, prepared: Cluster, room: str, audit: AuditLog
) -> None:
    assert not _may(prepared, room, "list", "nodes")
    # maxUnavailable 0: with a right to count GPUs the room for a surge Pod would matter.
    changes = {"max_unavailable": 0, "gpus": 1}
    scene = Placed(prepared, small(room, "blind", **changes), confined)
    scene.put_target()
    scene.put_serving(serving_with(scene, sized_by_accelerator))

    scene.wait_condition("Ready", "False", "AcceleratorNotReadable")
    assert nothing_happens(lambda: scene.reason() == "AcceleratorNotReadable")
    (event,) = scene.events("AcceleratorNotReadable")
    assert event["type"] == "Warning"
    for part in ("spec.accelerator", "h100-sxm", "list nodes"):
        assert part in event["note"]
    assert audit.tries(room, "blind") == []

    scene.edit_serving(accelerator="h100-sxm")

    scene.wait_rolled("eagle")
    status = scene.status()
    assert status["accelerator"] == {"name": "h100-sxm", "source": "spec.accelerator"}
    assert status["cutoffTable"][0]["upToConcurrency"] == 24
    assert scene.condition("Ready") == ("True", "Operating")
    (write,) = audit.profile_writes(room, "blind")
    assert write.user == f"system:serviceaccount:{room}:{ACCOUNT}"
    # What it may not read it does without: nothing fails time and again.
    said = [json.loads(line) for line in confined.log()]
    assert [each for each in said if each["level"] in ("warning", "error", "critical")] == []
    assert any("nodes are out of reach" in each["message"] for each in said)
