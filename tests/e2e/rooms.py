"""Rooms of one test file: a namespace, an operator that looks at nothing else, small scenes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.scene.manifests import Scene
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog

WINDOW_S = 6
DWELL_S = 2
TICK_S = 1

BLIND_S = WINDOW_S + DWELL_S + 6 * TICK_S
"""In this time a serving that wants another profile, and may have it, is rolled to it."""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Scenes that stand side by side, so that a file waits once for all of them.

    Attributes:
        scenes: The scenes by name.
        audit: The writes since before the first of them was put up.
    """

    scenes: dict[str, Placed]
    audit: AuditLog


def small(namespace: str, name: str, **changes: Any) -> Scene:
    """A scene that starts and rolls as quickly as can be, and asks for no GPU."""
    quick: dict[str, Any] = {
        "replicas": 1,
        "gpus": 0,
        "busier_seconds": DWELL_S,
        "quieter_seconds": DWELL_S,
        "cooldown_seconds": 0,
        "stand_in": {"STAND_IN_STARTUP_SECONDS": "1", "STAND_IN_SHUTDOWN_SECONDS": "0"},
    }
    return Scene(namespace=namespace, name=name, **{**quick, **changes})


def operator_of(
    cluster: Cluster, namespace: str, *, kubeconfig: Path | None = None, **changes: Any
) -> OperatorProcess:
    """An operator that watches one namespace and has its Lease there; not started yet.

    `kubeconfig` gives it other rights than the tests have.
    """
    config = {
        "namespaces": [namespace],
        "tickSeconds": TICK_S,
        "rateWindowSeconds": WINDOW_S,
        "relistSeconds": 10,
        "lease": {"namespace": namespace, "name": "ridgeline", "durationSeconds": 5},
    }
    rights = kubeconfig or cluster.kubeconfig
    return OperatorProcess(rights, prometheus_of(cluster), **{**config, **changes})


def prometheus_of(cluster: Cluster) -> str:
    """The address of the cluster's Prometheus."""
    if cluster.prometheus_url is None:
        raise RuntimeError("set RIDGELINE_PROMETHEUS_URL beside RIDGELINE_KUBECONFIG")
    return cluster.prometheus_url


@contextlib.contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace for as long as the block lasts; its end is not waited for."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "e2e-"}}
    name: str = cluster.kubectl("create", "-f", "-", input_object=body)["metadata"]["name"]
    accounts = ("get", "serviceaccounts", "-n", name, "-o", "name")
    wait_until(lambda: "default" in cluster.kubectl(*accounts), "the default service account")
    try:
        yield name
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def nothing_happens(holds: Callable[[], bool], *, seconds: float = BLIND_S) -> bool:
    """Tell whether something holds for a while, without a break."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not holds():
            return False
        time.sleep(0.5)
    return holds()
