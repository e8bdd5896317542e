"""At rest nothing is written: under steady load the operator renews its Lease, and that is all.

`RIDGELINE_SOAK_SECONDS` says for how long (60 by default).
"""

from __future__ import annotations

import os

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import nothing_happens, small
from tests.scene.load import Load
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

SOAK_S = float(os.environ.get("RIDGELINE_SOAK_SECONDS", "60"))
USERS = 12

pytestmark = pytest.mark.timeout(SOAK_S + 400)


def _without_its_controllers_fields(deployment: Object) -> Object:
    """A Deployment without what the controller-manager writes into it: status, and its traces."""
    meta = {
        key: value
        for key, value in deployment["metadata"].items()
        if key not in ("resourceVersion", "managedFields")
    }
    return {"metadata": meta, "spec": deployment["spec"]}


def test_under_steady_load_nothing_but_the_lease_is_written(
    prepared: Cluster, room: str, operator: OperatorProcess
) -> None:
    scene = Placed(prepared, small(room, "steady", replicas=2), operator)
    scene.put_target()
    service = prepared.kubectl("get", "service", "steady", "-n", room)
    url = f"http://{service['spec']['clusterIP']}"
    with Load(url, users=USERS, longest_s=SOAK_S + 400) as load:
        scene.put_serving()
        scene.wait_rolled("eagle")
        scene.wait_reason("BestProfileActive")
        scene.wait_condition("TelemetryAvailable", "True", "Fresh")
        serving, target = scene.serving(), _without_its_controllers_fields(scene.target())
        events = len(scene.events())
        ticks = operator.metric("ridgeline_pass_seconds_count") or 0.0
        answered = load.summary().answered
        audit = AuditLog(prepared)

        def concurrency() -> float:
            return operator.metric("ridgeline_serving_concurrency", serving="steady") or 0.0

        assert nothing_happens(lambda: operator.running, seconds=SOAK_S)

        assert concurrency() > 1.0
        assert (operator.metric("ridgeline_pass_seconds_count") or 0.0) > ticks + SOAK_S / 4
        assert load.summary().answered > answered
    assert audit.by_operator() == []
    leases = [each for each in audit.writes() if each.by_operator and each.resource == "leases"]
    assert {each.name for each in leases} == {"ridgeline"}
    assert scene.serving()["metadata"]["resourceVersion"] == serving["metadata"]["resourceVersion"]
    assert _without_its_controllers_fields(scene.target()) == target
    assert len(scene.events()) == events
