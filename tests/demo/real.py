"""The demo on a real cluster: applies the scene, runs the operator and the load, looks on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.cluster.progress import Progress
from tests.demo.frame import Frame, Replica
from tests.demo.scenario import Outcome, Scenario, Show
from tests.demo.status import frame_of
from tests.scene.load import Load
from tests.scene.manifests import STAND_IN_GPU, Scene
from tests.scene.operator_process import OperatorProcess
from tests.scene.telemetry import PodNumbers, read_pods

NAMESPACE = "ridgeline-demo"
LOOK_EVERY_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A scene that is on a cluster and served."""

    cluster: Cluster
    scene: Scene
    prometheus_url: str
    service_url: str


@contextmanager
def staged(cluster: Cluster, progress: Progress) -> Iterator[Stage]:
    """Put the scene on a cluster, and take it off again.

    Raises:
        ClusterError: kubectl failed.
    """
    if cluster.prometheus_url is None:
        raise RuntimeError("the demo needs RIDGELINE_PROMETHEUS_URL beside RIDGELINE_KUBECONFIG")
    scene = Scene(namespace=NAMESPACE, strategy="Goodput")
    with progress.step("four replicas of the stand-in are up on nodes labelled as H100"):
        cluster.kubectl("apply", "-f", str(REPO / "crds"))
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")
        cluster.kubectl(
            "create",
            "-f",
            "-",
            input_object={
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": NAMESPACE},
            },
        )
        items = {"apiVersion": "v1", "kind": "List", "items": scene.objects()}
        cluster.kubectl("apply", "-f", "-", input_object=items)
        cluster.kubectl(
            "rollout",
            "status",
            f"deployment/{scene.name}",
            "-n",
            NAMESPACE,
            "--timeout=120s",
            timeout_s=150.0,
        )
        cluster.kubectl("apply", "-f", "-", input_object=STAND_IN_GPU)
        cluster.kubectl("apply", "-f", "-", input_object=scene.serving())
    service = cluster.kubectl("get", "service", scene.name, "-n", NAMESPACE)
    try:
        yield Stage(
            cluster=cluster,
            scene=scene,
            prometheus_url=cluster.prometheus_url,
            service_url=f"http://{service['spec']['clusterIP']}",
        )
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
        cluster.kubectl("delete", "accel", STAND_IN_GPU["metadata"]["name"], "--ignore-not-found")


def play(stage: Stage, scenario: Scenario, show: Show, log_copy: Path | None = None) -> Outcome:
    """Run operator and load until the scenario is over."""
    operator = OperatorProcess(stage.cluster.kubeconfig, stage.prometheus_url)
    with operator, Load(stage.service_url, users=scenario.users) as load:
        try:
            operator.wait_ready()
            began = time.monotonic()
            while not scenario.over:
                load.set_users(scenario.users)
                frame = look(stage, operator, scenario, time.monotonic() - began)
                show(frame)
                scenario.feed(frame)
                if not operator.running:
                    raise RuntimeError(f"the operator ended:\n{operator.log_tail()}")
                time.sleep(LOOK_EVERY_S)
        finally:
            if log_copy is not None:
                log_copy.write_text(operator.log_path.read_text(errors="replace"))
    return scenario.outcome()


def look(stage: Stage, operator: OperatorProcess, scenario: Scenario, elapsed_s: float) -> Frame:
    """Ask kubectl, Prometheus and the operator what there is to see."""
    scene, kubectl = stage.scene, stage.cluster.kubectl
    serving = kubectl("get", f"sps/{scene.name}", "-n", scene.namespace)
    chosen = f"app.kubernetes.io/name={scene.name}"
    pods = kubectl("get", "pods", "-n", scene.namespace, "-l", chosen)["items"]
    numbers = read_pods(stage.prometheus_url, scene.namespace)
    metrics = operator.metrics(namespace=scene.namespace, serving=scene.name)
    return frame_of(
        scenario,
        serving.get("status") or {},
        metrics.get,
        tuple(_replica(pod, numbers) for pod in pods),
        elapsed_s,
    )


def _replica(pod: dict[str, Any], numbers: dict[str, PodNumbers]) -> Replica:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    known = numbers.get(pod["metadata"]["name"])
    return Replica(
        name=pod["metadata"]["name"],
        profile=(pod["metadata"].get("labels") or {}).get("ridgeline.dev/profile", ""),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
        concurrency=known.concurrency if known else None,
        tpot_ms=known.tpot_ms if known else None,
    )
