"""What is kept of the API server's objects."""

from typing import Any

import pytest

from ridgeline.cluster.objects import (
    DeploymentObject,
    PodObject,
    ServingObject,
    template_fingerprint,
    trim_deployment,
    trim_pod,
    trim_serving,
)
from ridgeline.cluster.shape import trim_shape
from ridgeline.engine.container import Container, EnvItem
from tests.unit.cluster.bodies import deployment_body, pod_body, ready

TEN_O_CLOCK = 1_795_946_400.0


def test_a_pod() -> None:
    assert trim_pod(pod_body()) == PodObject(
        namespace="ns",
        name="llama-5d9c-x1",
        uid="pod-1",
        resource_version="7",
        deployment="llama",
        profile="eagle2",
        ready_since=TEN_O_CLOCK,
        deleting=False,
        trouble=None,
    )


@pytest.mark.parametrize(
    "body",
    [
        pod_body(template=None),
        pod_body(template=""),
        pod_body(ownerReferences=[]),
        pod_body(owner="llama-other"),
        pod_body(ownerReferences=[{"kind": "Job", "name": "llama-5d9c", "controller": True}]),
        pod_body(ownerReferences=[{"kind": "ReplicaSet", "name": "llama-5d9c"}]),
        {"metadata": {"namespace": "ns", "name": "bare", "uid": "u", "resourceVersion": "1"}},
    ],
    ids=["no hash", "empty hash", "no owner", "another hash", "a Job", "not controlled", "bare"],
)
def test_a_pod_of_no_deployment_is_left_out(body: dict[str, Any]) -> None:
    assert trim_pod(body) is None


def test_the_deployment_of_a_pod_may_have_dashes_and_look_like_a_hash() -> None:
    pod = trim_pod(pod_body(owner="llama-5d9c-5d9c"))

    assert pod is not None
    assert pod.deployment == "llama-5d9c"


@pytest.mark.parametrize(
    ("status", "since"),
    [
        (ready(), TEN_O_CLOCK),
        (ready(since="2026-11-29T11:00:00+01:00"), TEN_O_CLOCK),
        (ready("False"), None),
        (ready("Unknown"), None),
        (ready(since=None), None),
        ({"conditions": []}, None),
        ({}, None),
    ],
)
def test_since_when_a_pod_is_ready(status: dict[str, Any], since: float | None) -> None:
    pod = trim_pod(pod_body(status=status))

    assert pod is not None
    assert pod.ready_since == since


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "CrashLoopBackOff"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "ImagePullBackOff"),
        ({"waiting": {"reason": "ContainerCreating"}}, None),
        ({"waiting": {"reason": "PodInitializing"}}, None),
        ({"waiting": {}}, None),
        ({"running": {}}, None),
        ({}, None),
    ],
)
def test_why_a_pod_does_not_run(state: dict[str, Any], trouble: str | None) -> None:
    status = {"containerStatuses": [{"state": {"running": {}}}, {"state": state}]}
    pod = trim_pod(pod_body(status=status))

    assert pod is not None
    assert pod.trouble == trouble


def test_a_pod_on_its_way_out_is_told() -> None:
    pod = trim_pod(pod_body(deletionTimestamp="2026-11-29T10:00:00Z"))

    assert pod is not None
    assert pod.deleting


def test_a_deployment() -> None:
    assert trim_deployment(deployment_body()) == DeploymentObject(
        namespace="ns",
        name="llama",
        uid="dep-1",
        generation=5,
        resource_version="99",
        deleting=False,
        replicas=4,
        paused=False,
        template_profile="eagle2",
        containers=(
            Container(
                name="vllm",
                command=("vllm",),
                args=("serve",),
                env=(
                    EnvItem(name="A", value="1"),
                    EnvItem(name="B", value=None, from_elsewhere=True),
                    EnvItem(name="C", value=None),
                ),
                has_env_from=True,
                image="vllm:1",
            ),
            Container(name="sidecar"),
        ),
        marker='{"serving":"s","onDelete":"Keep"}',
        observed_generation=5,
        current_replicas=5,
        updated_replicas=4,
        ready_replicas=3,
        available_replicas=2,
        progress_deadline_exceeded=False,
        last_writer="joe",
        last_writer_at=1795950000.0,
        shape=trim_shape(deployment_body()["spec"]),
        template=template_fingerprint(deployment_body()["spec"]["template"]),
    )


@pytest.mark.parametrize(("replicas", "asked"), [(None, 1), (0, 0), (3, 3)])
def test_the_replicas_that_a_deployment_asks_for(replicas: int | None, asked: int) -> None:
    assert trim_deployment(deployment_body(replicas=replicas)).replicas == asked


@pytest.mark.parametrize(
    ("condition", "exceeded"),
    [
        (("Progressing", "False", "ProgressDeadlineExceeded"), True),
        (("Progressing", "True", "NewReplicaSetAvailable"), False),
        (("Progressing", "False", "FailedCreate"), False),
        (("Available", "False", "ProgressDeadlineExceeded"), False),
    ],
)
def test_a_deadline_that_passed(condition: tuple[str, str, str], exceeded: bool) -> None:
    body = deployment_body()
    kind, status, reason = condition
    body["status"]["conditions"] = [{"type": kind, "status": status, "reason": reason}]

    assert trim_deployment(body).progress_deadline_exceeded is exceeded


def test_a_deployment_that_nobody_has_looked_at_yet() -> None:
    body = deployment_body(paused=True)
    del body["status"], body["metadata"]["annotations"], body["metadata"]["managedFields"]
    body["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
    del body["spec"]["template"]["metadata"]

    trimmed = trim_deployment(body)

    assert (trimmed.observed_generation, trimmed.current_replicas, trimmed.last_writer) == (
        0,
        0,
        "",
    )
    assert (trimmed.paused, trimmed.deleting) == (True, True)
    assert (trimmed.marker, trimmed.template_profile) == (None, None)


def test_a_serving() -> None:
    body = {
        "metadata": {
            "namespace": "ns",
            "name": "s",
            "uid": "u",
            "generation": 2,
            "resourceVersion": "5",
            "creationTimestamp": "2026-11-29T10:00:00Z",
        },
        "spec": {"a": 1},
        "status": {"b": 2},
    }

    assert trim_serving(body) == ServingObject(
        namespace="ns",
        name="s",
        uid="u",
        generation=2,
        resource_version="5",
        created_at=TEN_O_CLOCK,
        deleting=False,
        spec={"a": 1},
        status={"b": 2},
    )


@pytest.mark.parametrize("missing", [{}, {"spec": None, "status": None}])
def test_a_serving_without_spec_and_status(missing: dict[str, Any]) -> None:
    metadata = {
        "namespace": "ns",
        "name": "s",
        "uid": "u",
        "resourceVersion": "5",
        "creationTimestamp": "2026-11-29T10:00:00Z",
        "deletionTimestamp": "2026-11-29T11:00:00Z",
    }

    trimmed = trim_serving({"metadata": metadata, **missing})

    assert (trimmed.spec, trimmed.status, trimmed.deleting) == ({}, {}, True)
