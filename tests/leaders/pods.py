"""Pods without nodes: a kubelet that runs nothing and says that everything runs.

On an API server with its controllers and no node it marks each new Pod Ready after a while, so
that rollouts go their way. Pods that are deleted are gone at once: they have no node.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.cluster.api import Api
from tests.cluster.errors import ClusterError

NO_SCHEDULER = "nobody"
"""Scheduler of the Pods: none, so that nothing tries to find a node for them."""

_NAME_LABEL = "app.kubernetes.io/name"
_PROFILE_LABEL = "ridgeline.dev/profile"
_EVERY_S = 0.3

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ReadyPod:
    """A Pod that serves."""

    name: str
    target: str
    profile: str
    since: float


class Kubelet:
    """Keeps the Pods of one namespace; use as a context manager.

    Attributes:
        ready: The Pods that are Ready, as of the last look.
        startup_s: How old a Pod is when it becomes Ready.
    """

    def __init__(self, api: Api, namespace: str, *, startup_s: float = 1.0) -> None:
        self.ready: tuple[ReadyPod, ...] = ()
        self.startup_s = startup_s
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            # Whatever it was, the next look finds the same Pods.
            with contextlib.suppress(OSError, ClusterError, ValueError):
                self._look()

    def _look(self) -> None:
        ready = []
        for pod in self._api.call("GET", self._path)["items"]:
            meta = pod["metadata"]
            if "deletionTimestamp" in meta:
                continue
            since = _ready_since(pod)
            age = time.time() - _epoch(meta["creationTimestamp"])
            if since is None and age >= self.startup_s:
                self._make_ready(pod)
            elif since is not None:
                labels = meta.get("labels") or {}
                ready.append(
                    ReadyPod(
                        name=meta["name"],
                        target=labels.get(_NAME_LABEL, ""),
                        profile=labels.get(_PROFILE_LABEL, ""),
                        since=since,
                    )
                )
        self.ready = tuple(ready)

    def _make_ready(self, pod: Object) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        conditions = [{"type": each, "status": "True", "lastTransitionTime": now} for each in kinds]
        containers = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for each in pod["spec"]["containers"]
        ]
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": conditions,
            "containerStatuses": containers,
        }
        path = f"{self._path}/{pod['metadata']['name']}/status"
        self._api.call("PATCH", path, {"status": status}, content="strategic-merge-patch+json")


def _ready_since(pod: Object) -> float | None:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready" and each["status"] == "True":
            return _epoch(each["lastTransitionTime"])
    return None


def _epoch(time_text: str) -> float:
    return datetime.fromisoformat(time_text).timestamp()
