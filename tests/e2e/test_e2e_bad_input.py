"""What is wrong with a serving or its target: told once, nothing is written, and it heals itself.

All the servings stand side by side and would all like another profile than their target has.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.cluster.handle import Cluster
from tests.e2e.rooms import Crowd, nothing_happens, small
from tests.scene.manifests import Object
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        name: Name of the scene that has it.
        reason: Reason that must be told.
        names: What the message must name.
        put: Brings the scene about.
        mend: Puts it right.
    """

    name: str
    reason: str
    names: tuple[str, ...]
    put: Callable[[Placed], None]
    mend: Callable[[Placed], None]


def _put_without_target(scene: Placed) -> None:
    scene.put_serving()


def _put_changed(change: Callable[[Object], None]) -> Callable[[Placed], None]:
    def put(scene: Placed) -> None:
        scene.put_target(_changed(scene, change))
        scene.put_serving()

    return put


def _changed(scene: Placed, change: Callable[[Object], None]) -> Object:
    deployment = copy.deepcopy(scene.scene.deployment())
    change(deployment["spec"]["template"]["spec"])
    return deployment


def _put_as_in_git(scene: Placed) -> None:
    scene.put_target()


def _add_sidecar(pod: Object) -> None:
    sidecar = copy.deepcopy(pod["containers"][0])
    for key in ("ports", "readinessProbe", "lifecycle"):
        del sidecar[key]
    sidecar.update(name="sidecar", command=["sleep"], args=["86400"])
    pod["containers"].append(sidecar)


def _set_broken_config(pod: Object) -> None:
    # The flag of a server that is never asked about it: vLLM itself would not start with it.
    pod["containers"][0]["command"] = ["sh", "-c", 'exec vllm serve "$1" "$2" "$3"', "vllm"]
    pod["containers"][0]["args"][-1] = "--speculative-config={not JSON"


def _read_nothing(pod: Object) -> None:
    pod["containers"][0]["args"].pop()


def _name_container(scene: Placed) -> None:
    scene.edit_serving(targetRef={"name": scene.scene.name, "containerName": "vllm"})


FAULTS = (
    Fault(
        name="missing",
        reason="TargetNotFound",
        names=("Deployment missing", "spec.targetRef.name"),
        put=_put_without_target,
        mend=_put_as_in_git,
    ),
    Fault(
        name="two-containers",
        reason="ContainerAmbiguous",
        names=("vllm", "sidecar", "spec.targetRef.containerName"),
        put=_put_changed(_add_sidecar),
        mend=_name_container,
    ),
    Fault(
        name="malformed",
        reason="SpeculativeConfigInvalid",
        names=("{not JSON", "vllm"),
        put=_put_changed(_set_broken_config),
        mend=_put_as_in_git,
    ),
    Fault(
        name="reads-nothing",
        reason="InjectionPointMissing",
        names=("vllm", "--speculative-config=$(SPECULATION_CONFIG)"),
        put=_put_changed(_read_nothing),
        mend=_put_as_in_git,
    ),
)


@pytest.fixture(scope="module")
def broken(prepared: Cluster, room: str, operator: OperatorProcess) -> Crowd:
    """Every faulty scene, told about, and then left alone for as long as a roll would need."""
    audit = AuditLog(prepared)
    scenes = {each.name: Placed(prepared, small(room, each.name), operator) for each in FAULTS}
    for each in FAULTS:
        each.put(scenes[each.name])
    for each in FAULTS:
        scenes[each.name].wait_condition("Ready", "False", each.reason)
    assert nothing_happens(
        lambda: all(_reason(scenes[each.name]) == each.reason for each in FAULTS)
    )
    return Crowd(scenes=scenes, audit=audit)


def _reason(scene: Placed) -> str:
    condition = scene.condition("Ready")
    return condition[1] if condition else ""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_once_and_heals_when_it_is_mended(broken: Crowd, fault: Fault) -> None:
    scene = broken.scenes[fault.name]
    assert scene.condition("Stalled") == ("True", fault.reason)
    condition = scene.full_condition("Ready")
    assert condition is not None
    for part in fault.names:
        assert part in condition["message"]
    (event,) = scene.events(fault.reason)
    assert event["type"] == "Warning"
    assert event["note"] == condition["message"]
    assert broken.audit.tries(scene.scene.namespace, scene.scene.name) == []

    fault.mend(scene)

    scene.wait_condition("Ready", "True", "Operating")
    assert scene.condition("Stalled") is None
    assert scene.condition("TargetResolved") == ("True", "Resolved")
    scene.wait(lambda: scene.recoveries("Ready"), "the Event of recovery")
    # Nothing but the fault had stood in the way.
    scene.wait_rolled("eagle")
    assert len(scene.recoveries("Ready")) == len(scene.events(fault.reason)) == 1


def test_of_two_servings_of_one_target_the_younger_is_told_and_waits(
    scene_of: Callable[..., Placed], audit: AuditLog
) -> None:
    older = scene_of("shared", quiet_profile="none")
    older.put()
    older.wait_reason("BestProfileActive")
    younger = scene_of("younger")
    serving = younger.scene.serving()
    serving["spec"]["targetRef"]["name"] = "shared"
    younger.put_serving(serving)

    younger.wait_condition("Ready", "False", "TargetConflict")
    assert nothing_happens(lambda: _reason(younger) == "TargetConflict")

    assert older.condition("Ready") == ("True", "Operating")
    assert older.events("TargetConflict") == []
    (event,) = younger.events("TargetConflict")
    assert event["type"] == "Warning"
    assert "shared" in event["note"]
    assert audit.tries(older.scene.namespace, "shared") == []

    older.cluster.kubectl("delete", "sps/shared", "-n", older.scene.namespace)
    younger.wait_condition("Ready", "True", "Operating")
    younger.wait_rolled("eagle")
    assert len(younger.events("TargetConflict")) == len(younger.recoveries("Ready")) == 1


def test_without_prometheus_nothing_changes_until_it_is_back(
    scene_of: Callable[..., Placed], prepared: Cluster, audit: AuditLog
) -> None:
    scene = scene_of("blind", quiet_profile="none")
    scene.put()
    scene.wait_reason("BestProfileActive")
    prepared.stop_component("prometheus")
    try:
        scene.wait_condition("TelemetryAvailable", "False", "TelemetryUnavailable")
        scene.want("eagle")
        assert nothing_happens(
            lambda: scene.condition("TelemetryAvailable") == ("False", "TelemetryUnavailable")
        )
        assert scene.condition("Ready") == ("True", "Operating")
        assert scene.reason() == "TelemetryUnavailable"
        assert audit.tries(scene.scene.namespace, scene.scene.name) == []
        (event,) = scene.events("TelemetryUnavailable")
        assert event["type"] == "Warning"
    finally:
        prepared.start_component("prometheus")

    scene.wait_condition("TelemetryAvailable", "True", "Fresh")
    scene.wait(lambda: scene.recoveries("TelemetryAvailable"), "the Event of recovery")
    scene.wait_rolled("eagle")
    assert len(scene.events("TelemetryUnavailable")) == 1
