"""A node without a machine: its Pods become Ready at once, and go when they are told to.

What a kubelet would tell the API server of containers that run; nothing runs.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tests.cluster.api import Api
from tests.cluster.errors import ClusterError
from tests.faults.sight import PROFILE_LABEL
from tests.scene.manifests import H100

Object = dict[str, Any]

NODE: Final = "hollow"
APP_LABEL: Final = "app.kubernetes.io/name"
_PULSE_S: Final = 0.25
_HEARTBEAT_PULSES: Final = 32
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_ROOM: Final = {"cpu": "1000", "memory": "8000Gi", "pods": "2000", "nvidia.com/gpu": "2000"}
_MERGE: Final = "merge-patch+json"


@dataclass(frozen=True, kw_only=True)
class HollowPod:
    """A Pod of the node.

    Attributes:
        namespace: Where it is.
        name: Its name.
        app: The Deployment it belongs to.
        profile: Its profile label; empty without one.
        ready: Whether it is Ready.
    """

    namespace: str
    name: str
    app: str
    profile: str
    ready: bool


class HollowNode:
    """One node of a control plane; use as a context manager. Calls are good from any thread."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._held: set[tuple[str, str]] = set()
        self._pods: tuple[HollowPod, ...] = ()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> HollowNode:
        labels = {"nvidia.com/gpu.product": H100, "kubernetes.io/hostname": NODE}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}}
        self._api.call("POST", "/api/v1/nodes", node)
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NODE, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": _micro_now()},
        }
        self._api.call("POST", _LEASES, lease)
        self._beat()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=20)
        with contextlib.suppress(ClusterError, OSError):
            self._api.call("DELETE", f"/api/v1/nodes/{NODE}")

    @property
    def pods(self) -> tuple[HollowPod, ...]:
        """The Pods that it has now."""
        return self._pods

    def hold(self, namespace: str, app: str) -> None:
        """Let no Pod of this Deployment become Ready any more; those that are, stay so."""
        self._held.add((namespace, app))

    def let_go(self, namespace: str, app: str) -> None:
        """Let Pods of this Deployment become Ready again."""
        self._held.discard((namespace, app))

    def _live(self) -> None:
        pulses = 0
        while not self._over.wait(_PULSE_S):
            # The API server may be away for a while, and objects may change under its hands.
            with contextlib.suppress(ClusterError, OSError, ValueError):
                pulses += 1
                if pulses % _HEARTBEAT_PULSES == 0:
                    self._beat()
                self._care()

    def _beat(self) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "Hollow", "lastHeartbeatTime": _now()}
        status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [ready]}
        path = f"/api/v1/nodes/{NODE}/status"
        self._api.call("PATCH", path, {"status": status}, content=_MERGE)
        renewed = {"spec": {"renewTime": _micro_now()}}
        self._api.call("PATCH", f"{_LEASES}/{NODE}", renewed, content=_MERGE)

    def _care(self) -> None:
        listed = self._api.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NODE}")
        found = []
        for pod in listed["items"]:
            if "deletionTimestamp" in pod["metadata"]:
                self._end(pod)
                continue
            told = _told(pod)
            if not told.ready and (told.namespace, told.app) not in self._held:
                self._start(pod)
            found.append(told)
        self._pods = tuple(found)

    def _end(self, pod: Object) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        with contextlib.suppress(ClusterError):
            self._api.call("DELETE", _path(pod), body)

    def _start(self, pod: Object) -> None:
        now = _now()
        states = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": each["image"],
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for each in pod["spec"]["containers"]
        ]
        kinds = ("Initialized", "ContainersReady", "Ready", "PodScheduled")
        conditions = [{"type": each, "status": "True", "lastTransitionTime": now} for each in kinds]
        status = {
            "phase": "Running",
            "startTime": now,
            "podIP": "192.0.2.1",
            "conditions": conditions,
            "containerStatuses": states,
        }
        with contextlib.suppress(ClusterError):
            self._api.call("PATCH", f"{_path(pod)}/status", {"status": status}, content=_MERGE)


def _told(pod: Object) -> HollowPod:
    labels = pod["metadata"].get("labels") or {}
    conditions = pod["status"].get("conditions") or ()
    return HollowPod(
        namespace=pod["metadata"]["namespace"],
        name=pod["metadata"]["name"],
        app=str(labels.get(APP_LABEL, "")),
        profile=str(labels.get(PROFILE_LABEL, "")),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
    )


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
