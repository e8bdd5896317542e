"""Leaving: whatever the operator is doing, or if it is gone, everything can be deleted."""

from __future__ import annotations

import json

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.e2e.rooms import fresh_namespace, nothing_happens, operator_of, small
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)

GONE_WITHIN_S = 60


def test_with_the_operator_stopped_servings_and_their_namespace_go_at_once(
    prepared: Cluster,
) -> None:
    with fresh_namespace(prepared) as namespace, operator_of(prepared, namespace) as operator:
        operator.wait_ready()
        scene = Placed(prepared, small(namespace, "leaving"), operator)
        scene.put()
        scene.wait_rolled("eagle")

        meta = scene.serving()["metadata"]
        assert "finalizers" not in meta
        assert set(meta["annotations"]) == {"kubectl.kubernetes.io/last-applied-configuration"}
        target = scene.target()["metadata"]
        assert "finalizers" not in target
        assert "kopf" not in json.dumps(target["annotations"])

        assert operator.stop() == 0
        scene.operator = None
        kubectl = prepared.kubectl
        timeout = f"--timeout={GONE_WITHIN_S}s"
        kubectl("delete", "sps/leaving", "-n", namespace, timeout, timeout_s=90)
        assert kubectl("get", "sps", "-n", namespace)["items"] == []
        assert scene.target()["spec"]["template"]["metadata"]["labels"] == {
            "app.kubernetes.io/name": "leaving",
            "ridgeline.dev/profile": "eagle",
        }

        scene.put_serving()
        kubectl("delete", "namespace", namespace, timeout, timeout_s=90)
        with pytest.raises(ClusterError, match="not found"):
            kubectl("get", "namespace", namespace)


def test_a_serving_that_is_deleted_in_its_roll_leaves_the_deployment_to_itself(
    prepared: Cluster, audit: AuditLog
) -> None:
    with fresh_namespace(prepared) as namespace, operator_of(prepared, namespace) as operator:
        operator.wait_ready()
        scene = Placed(prepared, small(namespace, "going", replicas=2), operator)
        scene.put()
        scene.wait(lambda: scene.roll().get("state") == "Rolling", "a roll")

        prepared.kubectl("delete", "sps/going", "-n", namespace, "--timeout=60s")
        written = scene.target()["metadata"]["generation"]
        wait_until(scene.settled, "the end of the rollout", timeout_s=120)
        assert nothing_happens(lambda: operator.running)

        target = scene.target()
        assert target["metadata"]["generation"] == written
        assert target["spec"]["template"]["metadata"]["labels"]["ridgeline.dev/profile"] == "eagle"
        assert len(audit.profile_writes(namespace, "going")) == 1
        assert prepared.kubectl("get", "sps", "-n", namespace)["items"] == []
        assert operator.page("/healthz") is not None
        assert operator.metric("ridgeline_servings") == 0.0
        assert operator.metric("ridgeline_serving_concurrency", serving="going") is None
        troubles = [line for line in operator.log() if json.loads(line)["level"] == "error"]
        assert troubles == []
