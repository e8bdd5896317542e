"""What the small cluster does: a real API server whose writers can be told apart."""

from __future__ import annotations

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until


def test_the_version_is_the_pinned_one(control_plane: Cluster) -> None:
    version = control_plane.kubectl("version", "-o", "json")
    assert '"gitVersion": "v1.34.4"' in version


def test_controllers_work(control_plane: Cluster, namespace: str) -> None:
    control_plane.kubectl(
        "create", "deployment", "web", "-n", namespace, "--image=none", "--replicas=2"
    )
    wait_until(
        lambda: len(control_plane.kubectl("get", "pods", "-n", namespace)["items"]) == 2,
        "two Pods of the Deployment",
    )


def test_the_audit_log_tells_who_wrote_what(control_plane: Cluster, namespace: str) -> None:
    control_plane.kubectl("create", "deployment", "who", "-n", namespace, "--image=none")
    wait_until(lambda: control_plane.kubectl("get", "pods", "-n", namespace)["items"], "the Pod")
    mine = [write for write in control_plane.writes() if write.namespace == namespace]
    found = {(write.user, write.verb, write.resource) for write in mine}
    controllers = "system:serviceaccount:kube-system"
    assert ("admin", "create", "deployments.apps") in found
    assert (f"{controllers}:deployment-controller", "create", "replicasets.apps") in found
    assert (f"{controllers}:replicaset-controller", "create", "pods") in found
    assert not [write for write in mine if write.verb in {"get", "list", "watch"}]


def test_a_service_account_token_is_one_of_its_own(control_plane: Cluster, namespace: str) -> None:
    control_plane.kubectl("create", "serviceaccount", "reader", "-n", namespace, "-o", "name")
    token = control_plane.kubectl(
        "create", "token", "reader", "-n", namespace, "-o", "jsonpath={.status.token}"
    )
    with pytest.raises(ClusterError, match=f"system:serviceaccount:{namespace}:reader"):
        control_plane.kubectl("get", "pods", "-n", namespace, f"--token={token}")
    control_plane.kubectl(
        "create", "rolebinding", "reader", "-n", namespace,
        "--clusterrole=view", f"--serviceaccount={namespace}:reader",
    )  # fmt: skip
    allowed = control_plane.kubectl("get", "pods", "-n", namespace, f"--token={token}")
    assert allowed["items"] == []


def test_a_refused_call_says_why(control_plane: Cluster) -> None:
    with pytest.raises(ClusterError, match='namespaces "nowhere" not found'):
        control_plane.kubectl("get", "namespace", "nowhere")
