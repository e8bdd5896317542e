"""Profiles whose servers do not start: recognised early, taken back, named, and left alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import Crowd, nothing_happens, small
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

CANARY = {"canary": {"when": "Always", "deadlineSeconds": 300}, "trial": "Never"}

FAILURES: dict[str, tuple[dict[str, str], str]] = {
    "refused": ({"STAND_IN_REFUSES": "eagle"}, "EngineRefusesConfig"),
    "refused-canary": ({"STAND_IN_REFUSES": "eagle"}, "EngineRefusesConfig"),
    "memory": ({"STAND_IN_KILLED_FOR_MEMORY": "eagle"}, "PodsCrash"),
    "probe": ({"STAND_IN_NEVER_READY": "eagle"}, "KilledByProbe"),
}
"""Scene → what its EAGLE profile does to the server, and the reason that must be told."""


def _target(scene: Placed) -> Object:
    """The target: its Git keeps the server's last words, and gives a start eight seconds."""
    deployment = copy.deepcopy(scene.scene.deployment())
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    container["startupProbe"] = {
        "httpGet": {"path": "/health", "port": "http"},
        "periodSeconds": 1,
        "failureThreshold": 8,
        "terminationGracePeriodSeconds": 1,
    }
    return deployment


def _scene(prepared: Cluster, room: str, name: str, operator: OperatorProcess) -> Placed:
    stand_in = {
        "STAND_IN_STARTUP_SECONDS": "1",
        "STAND_IN_SHUTDOWN_SECONDS": "0",
        **FAILURES[name][0],
    }
    changes: dict[str, Any] = {"max_unavailable": 0, "quiet_profile": "none", "stand_in": stand_in}
    if name.endswith("canary"):
        changes["rollout"] = CANARY
    return Placed(prepared, small(room, name, **changes), operator)


@pytest.fixture(scope="module")
def before() -> dict[str, tuple[Object, set[str]]]:
    """Spec and Pods of each target before its roll; filled by `crowd`."""
    return {}


@pytest.fixture(scope="module")
def crowd(
    prepared: Cluster,
    room: str,
    operator: OperatorProcess,
    before: dict[str, tuple[Object, set[str]]],
) -> Crowd:
    """Targets that were rolled to a profile which fails, and are back where they were."""
    audit = AuditLog(prepared)
    scenes = {name: _scene(prepared, room, name, operator) for name in FAILURES}
    for scene in scenes.values():
        scene.apply(scene.scene.default_config())
        scene.apply(_target(scene))
        scene.apply(scene.scene.service())
    for name, scene in scenes.items():
        scene.wait(scene.settled, "the target's replicas")
        before[name] = scene.target()["spec"], _pods(scene)
        scene.put_serving()
    for scene in scenes.values():
        scene.wait_reason("BestProfileActive")
        scene.want("eagle")
    for scene in scenes.values():
        _wait_restored(scene)
    return Crowd(scenes=scenes, audit=audit)


def _wait_restored(scene: Placed) -> None:
    scene.wait(lambda: scene.roll().get("state") == "Restored", "a roll taken back", timeout_s=240)


def _pods(scene: Placed) -> set[str]:
    chosen = ("-n", scene.scene.namespace, "-l", f"app.kubernetes.io/name={scene.scene.name}")
    items: list[Object] = scene.cluster.kubectl("get", "pods", *chosen)["items"]
    staying = (each["metadata"] for each in items if "deletionTimestamp" not in each["metadata"])
    return {each["name"] for each in staying}


@pytest.mark.parametrize("name", FAILURES)
def test_it_is_named_and_taken_back_and_no_old_pod_was_lost(
    crowd: Crowd, before: dict[str, tuple[Object, set[str]]], name: str
) -> None:
    scene = crowd.scenes[name]
    scene.wait(scene.settled, "the old replicas")
    spec, pods = before[name]
    assert scene.target()["spec"] == spec
    assert _pods(scene) == pods
    (entry,) = scene.status()["quarantine"]
    assert (entry["profile"], entry["reason"]) == ("eagle", FAILURES[name][1])
    assert scene.roll()["reason"] == FAILURES[name][1]
    (event,) = scene.events("RollUndone")
    assert event["type"] == "Warning"
    assert scene.condition("Ready") == ("True", "Operating")


def test_the_engines_own_words_are_told(crowd: Crowd) -> None:
    (entry,) = crowd.scenes["refused"].status()["quarantine"]
    assert "alidation" in entry["message"]


def test_none_is_tried_again(crowd: Crowd) -> None:
    for scene in crowd.scenes.values():
        scene.wait_reason("ProfileQuarantined")
    assert nothing_happens(
        lambda: all(
            (scene.status().get("lastDecision") or {}).get("reason") == "ProfileQuarantined"
            for scene in crowd.scenes.values()
        )
    )
    for name, scene in crowd.scenes.items():
        assert len(scene.events("RollUndone")) == 1, name


def test_an_image_or_an_argument_that_may_mend_it_lifts_the_quarantine(crowd: Crowd) -> None:
    scene = crowd.scenes["memory"]
    mended = _target(scene)
    container = mended["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [each for each in container["env"] if "MEMORY" not in each["name"]]
    scene.apply(mended)
    scene.wait_rolled("eagle")
    assert "quarantine" not in scene.status()
