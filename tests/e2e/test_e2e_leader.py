"""Two operators and one Lease: its holder writes, the other is ready to go on where it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.e2e.rooms import nothing_happens, operator_of, small
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import DEADLINE_S, Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(400)

LEASE_S = 8
GRACE_S = 15.0
"""An operator that is told to stop has ended after this time; its Pod would be killed later."""


@dataclass
class Pair:
    """A leader and a standby; `scene` is what they look after."""

    leader: OperatorProcess
    standby: OperatorProcess
    scene: Placed

    def swap(self) -> None:
        """Call them by their new parts."""
        self.leader, self.standby = self.standby, self.leader
        self.scene.operator = self.leader


@pytest.fixture(scope="module")
def pair(prepared: Cluster, room: str) -> Iterator[Pair]:
    lease = {"namespace": room, "name": "ridgeline", "durationSeconds": LEASE_S}
    first = operator_of(prepared, room, lease=lease)
    second = operator_of(prepared, room, lease=lease)
    with first:
        first.wait_ready()
        _wait_leader(first)
        with second:
            second.wait_ready()
            # Slow to start, so that an operator can be ended while a roll is under way.
            slow = {"STAND_IN_STARTUP_SECONDS": "5", "STAND_IN_SHUTDOWN_SECONDS": "0"}
            scene = small(room, "led", replicas=2, max_unavailable=0, stand_in=slow)
            yield Pair(leader=first, standby=second, scene=Placed(prepared, scene, first))


def _is_leader(operator: OperatorProcess) -> bool:
    return operator.metric("ridgeline_leader") == 1.0


def _wait_leader(operator: OperatorProcess) -> None:
    wait_until(lambda: _is_leader(operator), "the Lease", timeout_s=DEADLINE_S)


def _written(operator: OperatorProcess) -> float:
    return operator.metric("ridgeline_writes_total") or 0.0


def _holder(scene: Placed) -> str:
    spec = scene.cluster.kubectl("get", "lease", "ridgeline", "-n", scene.scene.namespace)["spec"]
    return str(spec.get("holderIdentity") or "")


def test_only_the_leader_writes(pair: Pair, audit: AuditLog) -> None:
    scene = pair.scene
    scene.put()
    scene.wait_rolled("eagle")

    assert len(audit.profile_writes(scene.scene.namespace, "led")) == 1
    assert _written(pair.leader) > 0
    assert _written(pair.standby) == 0
    assert not _is_leader(pair.standby)
    # The standby has watched and decided all the same.
    scene.wait(
        lambda: pair.standby.metric("ridgeline_serving_concurrency", serving="led") is not None,
        "the standby's own sight of the load",
    )
    assert _written(pair.standby) == 0
    assert {each["reportingInstance"] for each in scene.events()} == {_holder(scene)}


def test_each_has_its_own_pages_and_logs_json(pair: Pair) -> None:
    for operator in (pair.leader, pair.standby):
        for page in ("/healthz", "/readyz"):
            assert operator.page(page) is not None, page
        assert "ridgeline_info" in operator.metrics()
        assert operator.page("/nothing") is None
        lines = [json.loads(line) for line in operator.log()]
        assert lines
        for line in lines:
            assert line["time"]
            assert line["logger"]
            assert line["level"] in ("info", "warning")
        assert "started" in [line["message"] for line in lines]


def test_a_standby_finishes_the_roll_of_a_leader_that_was_killed(
    pair: Pair, audit: AuditLog
) -> None:
    scene = pair.scene
    scene.want("none")
    scene.wait(lambda: scene.roll()["state"] == "Rolling", "a roll under way")
    history = scene.status()["switchHistory"]
    dead = pair.leader
    dead.kill()
    assert "finishTime" not in scene.roll()
    assert _written(pair.standby) == 0
    pair.swap()

    _wait_leader(pair.leader)
    scene.wait_rolled("none")
    scene.wait_condition("ProfileApplied", "True", "Applied")

    after = scene.status()["switchHistory"]
    assert [each["startTime"] for each in after] == [each["startTime"] for each in history]
    assert after[-1]["finishTime"] == scene.roll()["finishTime"]
    assert len(audit.profile_writes(scene.scene.namespace, "led")) == 1
    finishes = [each for each in scene.events("RollFinished") if "to none" in each["note"]]
    assert len(finishes) == 1

    dead.start()
    dead.wait_ready()
    assert nothing_happens(lambda: not _is_leader(dead), seconds=LEASE_S + 2)


def test_a_clean_stop_hands_the_lease_over(pair: Pair, audit: AuditLog) -> None:
    scene, leaving = pair.scene, pair.leader
    name = _holder(scene)
    assert pair.leader.stop(timeout_s=GRACE_S) == 0

    # Nobody has to wait for the Lease to run out: it is not the leaver's any more.
    assert _holder(scene) != name
    pair.swap()
    _wait_leader(pair.leader)
    scene.want("eagle")
    scene.wait_rolled("eagle")
    assert len(audit.profile_writes(scene.scene.namespace, "led")) == 1
    assert json.loads(leaving.log()[-1])["message"] == "stopped"


def test_a_stop_in_a_roll_is_clean_too_and_the_next_start_goes_on(
    pair: Pair, audit: AuditLog
) -> None:
    scene, operator = pair.scene, pair.leader
    scene.want("none")
    scene.wait(lambda: scene.roll()["state"] == "Rolling", "a roll under way")
    assert operator.stop(timeout_s=GRACE_S) == 0
    assert _holder(scene) == ""
    assert "finishTime" not in scene.roll()
    wait_until(scene.settled, "the end of the rollout", timeout_s=DEADLINE_S)
    assert "finishTime" not in scene.roll()

    operator.start()
    scene.wait_rolled("none")
    assert len(audit.profile_writes(scene.scene.namespace, "led")) == 1
