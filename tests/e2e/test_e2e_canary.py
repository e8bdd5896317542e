"""A canary on the real cluster: what the real Deployment controller makes of our writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.test_e2e_killed import QuickLook
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

MANAGER = "ridgeline-profile"
REPLICAS = 2


@pytest.fixture
def scene(scene_of: Callable[..., Placed], request: pytest.FixtureRequest) -> Placed:
    """A target that runs without speculation, and a serving that will want a canary of EAGLE."""
    scene = scene_of(
        f"canary-{abs(hash(request.node.name)) % 10_000}",
        replicas=REPLICAS,
        max_unavailable=0,
        max_surge=1,
        quiet_profile="none",
        rollout={"canary": {"when": "Always", "deadlineSeconds": 120}, "trial": "Never"},
    )
    scene.put()
    scene.wait_reason("BestProfileActive")
    return scene


def held_back(scene: Placed) -> bool:
    """Whether the target is paused, with one new Pod beside every old one."""
    target = scene.target()
    status = target.get("status") or {}
    return (
        bool(target["spec"].get("paused"))
        and status.get("updatedReplicas") == 1
        and status.get("availableReplicas", 0) >= REPLICAS
    )


def replicas_by_template(scene: Placed) -> list[int]:
    """Replicas of each ReplicaSet that has any, the largest first."""
    counts = [each["spec"]["replicas"] for each in scene.replica_sets()]
    return sorted((each for each in counts if each), reverse=True)


def names_of_pods(scene: Placed) -> set[str]:
    """Names of the target's Pods that stay."""
    chosen = ("-n", scene.scene.namespace, "-l", f"app.kubernetes.io/name={scene.scene.name}")
    items: list[Object] = scene.cluster.kubectl("get", "pods", *chosen)["items"]
    staying = (each["metadata"] for each in items if "deletionTimestamp" not in each["metadata"])
    return {each["name"] for each in staying}


def begin_canary(scene: Placed) -> None:
    scene.want("eagle")
    scene.wait(lambda: held_back(scene), "a target that is held back with one new Pod")


def forced(scene: Placed, profile: str) -> None:
    words = ("annotate", f"sps/{scene.scene.name}", "-n", scene.scene.namespace, "--overwrite")
    scene.cluster.kubectl(*words, f"ridgeline.dev/force-profile={profile}", "-o", "json")


def test_a_canary_that_is_taken_back_leaves_the_old_pods_and_the_old_template(
    scene: Placed, audit: AuditLog
) -> None:
    before, pods = scene.target(), names_of_pods(scene)
    begin_canary(scene)
    assert replicas_by_template(scene) == [REPLICAS, 1]
    assert scene.roll()["way"] == "Canary"
    assert scene.condition("Ready") == ("True", "Operating")
    assert scene.status()["activeProfile"] == "none"

    forced(scene, "none")
    scene.wait(lambda: scene.roll().get("state") == "Restored", "the old template")
    scene.wait(scene.settled, "the old replicas")
    after = scene.target()
    assert after["spec"] == before["spec"]
    assert names_of_pods(scene) == pods
    assert scene.owned_by(MANAGER) is None
    assert "ridgeline.dev/serving" not in (after["metadata"].get("annotations") or {})


def test_a_canary_that_is_let_go_rolls_the_rest(scene: Placed) -> None:
    begin_canary(scene)
    forced(scene, "eagle")
    scene.wait_rolled("eagle")
    assert replicas_by_template(scene) == [REPLICAS]
    assert "paused" not in scene.target()["spec"]
    owned = scene.owned_by(MANAGER)
    assert owned is not None
    assert "f:paused" not in owned["f:spec"]
    reasons = [each["reason"] for each in scene.events()]
    assert reasons.count("CanaryStarted") == 1
    assert reasons.count("RollFinished") == 1


def test_a_serving_deleted_under_its_canary_leaves_no_paused_target(scene: Placed) -> None:
    before, pods = scene.target(), names_of_pods(scene)
    begin_canary(scene)
    name, namespace = scene.scene.name, scene.scene.namespace
    scene.cluster.kubectl("delete", f"sps/{name}", "-n", namespace, "-o", "name")
    scene.wait(lambda: "paused" not in scene.target()["spec"], "a target that is not paused")
    scene.wait(scene.settled, "the old replicas")
    assert scene.target()["spec"] == before["spec"]
    assert names_of_pods(scene) == pods


def test_somebody_who_owns_paused_keeps_it_and_is_named(scene: Placed) -> None:
    target: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": scene.scene.name, "namespace": scene.scene.namespace},
        "spec": {"paused": False},
    }
    scene.apply(target, "--server-side", "--field-manager=flux")
    scene.want("eagle")
    scene.wait_condition("Stalled", "True", "FieldConflict")
    message = (scene.full_condition("Stalled") or {})["message"]
    assert "'flux'" in message
    assert ".spec.paused" in message
    assert replicas_by_template(scene) == [REPLICAS]


def test_an_operator_killed_while_a_canary_is_judged_goes_on_with_it(
    scene: Placed, operator: OperatorProcess
) -> None:
    begin_canary(scene)
    operator.kill()
    assert held_back(scene)
    operator.start()
    scene.wait_reason("CanaryUnderWay")
    assert held_back(scene)
    forced(scene, "eagle")
    scene.wait_rolled("eagle")
    assert "paused" not in scene.target()["spec"]
    assert len(scene.events("CanaryStarted")) == 1


def test_an_operator_killed_while_it_takes_a_canary_back_ends_what_it_began(
    scene: Placed, operator: OperatorProcess
) -> None:
    before, pods = scene.target(), names_of_pods(scene)
    begin_canary(scene)
    look = QuickLook(scene.cluster.kubeconfig)
    path = f"/apis/ridgeline.dev/v1alpha1/namespaces/{scene.scene.namespace}/speculativeservings/"

    def undoing() -> bool:
        rollout = look.get(path + scene.scene.name).get("status", {}).get("rollout", {})
        return rollout.get("state") in ("Undoing", "Restored")

    forced(scene, "none")
    scene.wait(undoing, "the moment to kill", every_s=0.005)
    operator.kill()
    look.close()
    operator.start()
    scene.wait(lambda: scene.roll().get("state") == "Restored", "the old template")
    scene.wait(scene.settled, "the old replicas")
    assert scene.target()["spec"] == before["spec"]
    assert names_of_pods(scene) == pods
