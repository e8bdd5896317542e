"""Deployments and Pods of a simulated cluster as the JSON that the API server would send."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ridgeline.cluster import managed_fields
from ridgeline.engine.container import Container
from ridgeline.sim.fate import Ended
from ridgeline.sim.pod import SimulatedPod
from ridgeline.sim.template import Template
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION

if TYPE_CHECKING:
    from ridgeline.sim.workload import Workload

PAUSED_PATH: Final = ".spec.paused"
LABEL_PATH: Final = f".spec.template.metadata.labels.{PROFILE_LABEL}"
ANNOTATION_PATH: Final = f".metadata.annotations.{SERVING_ANNOTATION}"
RESTARTED_ANNOTATION: Final = "kubectl.kubernetes.io/restartedAt"

_CONTAINER_PATH: Final = re.compile(r'^\.spec\.template\.spec\.containers\[name="([^"]*)"\]')


def env_path(container: str) -> str:
    """Return the path of the env item's value, as the API server writes it."""
    containers = f'.spec.template.spec.containers[name="{container}"]'
    return f'{containers}.env[name="{PROFILE_ENV}"].value'


def args_path(container: str) -> str:
    """Return the path of an argument list, as the API server writes it."""
    return f'.spec.template.spec.containers[name="{container}"].args'


def deployment_body(workload: "Workload") -> dict[str, Any]:
    """Return a Deployment as the API server sends it."""
    annotations = {} if workload.marker is None else {SERVING_ANNOTATION: workload.marker}
    metadata: dict[str, Any] = {
        "namespace": workload.namespace,
        "name": workload.name,
        "uid": workload.uid,
        "generation": workload.generation,
        "resourceVersion": str(workload.version),
        "annotations": annotations,
        "managedFields": list(_managers(workload)),
    }
    if workload.deleting:
        metadata["deletionTimestamp"] = _told(workload.created_at)
    spec: dict[str, Any] = {
        "replicas": workload.replicas,
        "progressDeadlineSeconds": int(workload.pace.deadline_seconds),
        "template": _template(workload.template),
    }
    if workload.paused:
        spec["paused"] = True
    counts = workload.counts
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {
            "observedGeneration": workload.observed_generation,
            "replicas": counts.current,
            "updatedReplicas": counts.updated,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.ready,
            "unavailableReplicas": max(0, workload.replicas - counts.ready),
            "conditions": [_progressing(workload)],
        },
    }


def pod_body(workload: "Workload", pod: SimulatedPod) -> dict[str, Any]:
    """Return a Pod as the API server sends it."""
    digest = pod.template.digest
    labels = {"pod-template-hash": digest}
    if pod.template.profile is not None:
        labels[PROFILE_LABEL] = pod.template.profile
    metadata: dict[str, Any] = {
        "namespace": workload.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "resourceVersion": str(pod.version),
        "creationTimestamp": _told(pod.created_at),
        "labels": labels,
        "ownerReferences": [
            {"kind": "ReplicaSet", "name": f"{workload.name}-{digest}", "controller": True}
        ],
    }
    if pod.deleting:
        metadata["deletionTimestamp"] = _told(pod.stops_at)
    spec: dict[str, Any] = {
        "containers": [{"name": each.name} for each in pod.template.containers],
    }
    if pod.node:
        spec["nodeName"] = pod.node
    status: dict[str, Any] = {
        "phase": "Pending" if pod.pending else "Running",
        "conditions": list(_conditions(pod)),
    }
    if not pod.unschedulable:
        status["containerStatuses"] = [
            _container_status(pod, each.name, server=number == 0)
            for number, each in enumerate(pod.template.containers)
        ]
    return {"metadata": metadata, "spec": spec, "status": status}


def _progressing(workload: "Workload") -> dict[str, Any]:
    progress = workload.counts.progress
    return {"type": "Progressing", "status": progress.status, "reason": progress.value}


def _template(template: Template) -> dict[str, Any]:
    metadata: dict[str, Any] = {"labels": {}, "annotations": {}}
    if template.profile is not None:
        metadata["labels"][PROFILE_LABEL] = template.profile
    if template.restarted_at:
        metadata["annotations"][RESTARTED_ANNOTATION] = template.restarted_at
    return {
        "metadata": metadata,
        "spec": {"containers": [_container(each) for each in template.containers]},
    }


def _container(container: Container) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": container.name,
        "image": container.image,
        "command": list(container.command),
        "args": list(container.args),
        "env": [
            {"name": item.name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
            if item.from_elsewhere
            else {"name": item.name, "value": item.value}
            for item in container.env
        ],
    }
    if container.has_env_from:
        body["envFrom"] = [{"configMapRef": {"name": "no-speculation"}}]
    return body


def _managers(workload: "Workload") -> Iterator[dict[str, Any]]:
    owned: dict[str, list[str]] = {}
    for path, managers in workload.owners.items():
        for manager in managers:
            owned.setdefault(manager, []).append(path)
    for manager in sorted(owned.keys() | workload.writers.keys()):
        fields: dict[str, Any] = {} if manager == PROFILE_MANAGER else {"f:spec": {}}
        for path in owned.get(manager, ()):
            level = fields
            for step in _way(path):
                level = level.setdefault(step, {})
        if fields:
            yield {
                "manager": manager,
                "time": _told(workload.writers.get(manager, workload.created_at)),
                "fieldsV1": fields,
            }


def _way(path: str) -> tuple[str, ...]:
    """Return how managed fields lead to a path."""
    container = _CONTAINER_PATH.match(path)
    if container is not None and path == args_path(container[1]):
        return managed_fields.args_of(container[1])
    if container is not None:
        return (*managed_fields.env_item(container[1]), "f:value")
    return {
        PAUSED_PATH: managed_fields.PAUSED,
        LABEL_PATH: ("f:spec", "f:template", "f:metadata", "f:labels", f"f:{PROFILE_LABEL}"),
        ANNOTATION_PATH: ("f:metadata", "f:annotations", f"f:{SERVING_ANNOTATION}"),
    }[path]


def _conditions(pod: SimulatedPod) -> Iterator[dict[str, Any]]:
    if pod.unschedulable:
        yield {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": pod.unschedulable,
            "lastTransitionTime": _told(pod.created_at),
        }
        return
    yield {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": _told(pod.created_at),
    }
    ready = pod.ready_since
    if ready is not None:
        yield {"type": "Ready", "status": "True", "lastTransitionTime": _told(ready)}
        return
    since = pod.ended.ended_at if pod.ended else pod.created_at
    yield {
        "type": "Ready",
        "status": "False",
        "reason": "ContainersNotReady",
        "lastTransitionTime": _told(since),
    }


def _container_status(pod: SimulatedPod, name: str, *, server: bool) -> dict[str, Any]:
    """Return a container's status; only the first container of a Pod has a fate of its own."""
    running = {"running": {"startedAt": _told(pod.began_at)}}
    if not server:
        return {"name": name, "ready": True, "restartCount": 0, "state": running, "lastState": {}}
    state: Mapping[str, Any] = running
    if pod.waiting is not None:
        state = {"waiting": {"reason": pod.waiting[0], "message": pod.waiting[1]}}
    return {
        "name": name,
        "ready": pod.ready_since is not None,
        "restartCount": pod.restarts,
        "state": state,
        "lastState": {} if pod.ended is None else {"terminated": _terminated(pod.ended)},
    }


def _terminated(ended: Ended) -> dict[str, Any]:
    body = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": _told(ended.began_at),
        "finishedAt": _told(ended.ended_at),
    }
    return body | ({"message": ended.message} if ended.message else {})


def _told(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
