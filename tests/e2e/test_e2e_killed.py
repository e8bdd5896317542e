"""An operator that is killed in a roll: its successor finishes the roll, and never begins another.

One Deployment is rolled to and fro; each time the operator's process dies at another moment.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.handle import Cluster
from tests.e2e.rooms import small
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(400)

Object = dict[str, Any]
Moment = Callable[[Object, Object], bool]
"""Tells from serving and Deployment whether it is time to kill."""

REPLICAS = 2


class QuickLook:
    """Reads objects over one connection: kubectl would take longer than some moments last."""

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster = content["clusters"][0]["cluster"]
        server = urllib.parse.urlsplit(cluster["server"])
        self._headers = {"Authorization": f"Bearer {content['users'][0]['user']['token']}"}
        self._connection = http.client.HTTPSConnection(
            server.hostname or "", server.port, context=ssl._create_unverified_context(), timeout=10
        )

    def get(self, path: str) -> Object:
        """Read one object by its path."""
        self._connection.request("GET", path, headers=self._headers)
        answer: Object = json.loads(self._connection.getresponse().read())
        return answer

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


@pytest.fixture(scope="module")
def scene(prepared: Cluster, room: str, operator: OperatorProcess) -> Placed:
    """A Deployment that runs what is desired: nothing is rolled until a test turns the table."""
    changes = {"replicas": REPLICAS, "max_unavailable": 0, "quiet_profile": "none"}
    placed = Placed(prepared, small(room, "killed", **changes), operator)
    placed.put()
    placed.wait_reason("BestProfileActive")
    return placed


@pytest.fixture
def look(prepared: Cluster) -> Iterator[QuickLook]:
    quick = QuickLook(prepared.kubeconfig)
    yield quick
    quick.close()


def _announced(serving: Object, deployment: Object) -> bool:
    return _open(serving)


def _one_updated(serving: Object, deployment: Object) -> bool:
    return _open(serving) and deployment["status"].get("updatedReplicas", 0) == 1


def _all_but_over(serving: Object, deployment: Object) -> bool:
    return _open(serving) and deployment["status"].get("updatedReplicas", 0) == REPLICAS


def _open(serving: Object) -> bool:
    rollout = (serving.get("status") or {}).get("rollout") or {}
    return rollout.get("state") in ("Intended", "Rolling")


@pytest.mark.parametrize(
    ("moment", "profile"),
    [(_announced, "eagle"), (_one_updated, "none"), (_all_but_over, "eagle")],
    ids=["as soon as the roll is announced", "with one replica updated", "just before the end"],
)
def test_a_roll_whose_operator_was_killed_is_finished_by_the_next_one(
    scene: Placed,
    operator: OperatorProcess,
    audit: AuditLog,
    look: QuickLook,
    moment: Moment,
    profile: str,
) -> None:
    before = scene.status().get("switchHistory") or []
    scene.want(profile, cooldownSeconds=0)
    _kill_when(moment, scene, operator, look)
    at_kill = scene.status()
    assert at_kill["rollout"]["to"] == profile
    assert "finishTime" not in at_kill["rollout"]

    # The load is another one by now; a roll that was begun is finished all the same.
    operator.start()
    scene.wait_rolled(profile)
    scene.wait_condition("ProfileApplied", "True", "Applied")

    after = scene.status()["switchHistory"]
    assert len(after) == len(before) + 1
    assert after[-1]["to"] == profile
    assert after[-1]["startTime"] == at_kill["rollout"]["startTime"]
    assert after[-1]["finishTime"] == scene.roll()["finishTime"]
    assert len(audit.profile_writes(scene.scene.namespace, scene.scene.name)) == 1

    # Cooldown began when the roll ended: what was decided long before still binds.
    other = "none" if profile == "eagle" else "eagle"
    scene.want(other, cooldownSeconds=3600)
    scene.wait_reason("Cooldown")
    assert len(audit.profile_writes(scene.scene.namespace, scene.scene.name)) == 1
    scene.want(profile, cooldownSeconds=3600)


def _kill_when(moment: Moment, scene: Placed, operator: OperatorProcess, look: QuickLook) -> None:
    where, name = scene.scene.namespace, scene.scene.name
    serving = f"/apis/ridgeline.dev/v1alpha1/namespaces/{where}/speculativeservings/{name}"
    deployment = f"/apis/apps/v1/namespaces/{where}/deployments/{name}"
    scene.wait(
        lambda: moment(look.get(serving), look.get(deployment)), "the moment to kill", every_s=0.005
    )
    operator.kill()
