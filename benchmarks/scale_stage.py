"""Where benchmarks/scale.py plays: a real API server, and a Prometheus with synthetic targets."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.scale_exporter import pages_for
from ridgeline.telemetry.endpoint import Endpoint, Matcher
from ridgeline.telemetry.reader import TelemetryReader
from tests.cluster import tools
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options, launch
from tests.cluster.paths import REPO
from tests.cluster.processes import die_with_parent
from tests.cluster.progress import Progress
from tests.cluster.prometheus import RunningPrometheus, free_ports, start_prometheus
from tests.cluster.spec import Level

NAMESPACE: Final = "ridgeline-system"
ACCOUNT: Final = "ridgeline"
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
SHELF: Final = "shelf"
_BASE: Final = REPO / "deploy" / "kustomize" / "base"


@contextmanager
def control_plane(progress: Progress) -> Iterator[Cluster]:
    """An API server and etcd with what an installation makes, and nobody else who writes.

    Raises:
        ClusterError: It did not come up.
    """
    launched = launch(Options(level=Level.CONTROL_PLANE, yes=True), progress)
    cluster = launched.cluster
    try:
        # They would look for kubelets and ReplicaSets, and find neither.
        cluster.stop_component("kube-controller-manager")
        cluster.stop_component("kube-scheduler")
        cluster.kubectl("apply", "--server-side", "-k", str(_BASE), "-o", "name")
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")
        yield cluster
    finally:
        launched.end()


@contextmanager
def prometheus(
    folder: Path, shelves: Sequence[int], replicas: int, scrape_seconds: float, progress: Progress
) -> Iterator[RunningPrometheus]:
    """A Prometheus that scrapes every series of the largest fleet.

    Raises:
        ClusterError: It cannot be built, or did not come up.
    """
    binary = tools.ensure(tools.PROMETHEUS, progress) / "prometheus"
    port = free_ports(1)[0]
    with exporter(port, shelves, replicas, progress):
        running = start_prometheus(
            _config(port, pages_for(shelves[-1]), scrape_seconds), folder, binary=binary
        )
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def exporter(
    port: int, shelves: Sequence[int], replicas: int, progress: Progress
) -> Iterator[None]:
    """The synthetic targets, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.scale_exporter"]
    command += ["--port", str(port), "--servings", str(shelves[-1]), "--replicas", str(replicas)]
    command += ["--shelves", ",".join(map(str, shelves))]
    process = subprocess.Popen(command, cwd=REPO, preexec_fn=die_with_parent)
    try:
        with progress.step(f"synthetic targets of {shelves[-1] * replicas} replicas"):
            _wait_for_page(process, f"http://127.0.0.1:{port}/page/0")
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for_page(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=60) as page:
                page.read()
        except urllib.error.URLError:
            time.sleep(0.2)
        else:
            return
    raise ClusterError(f"the synthetic targets ended with code {process.returncode}")


def _config(port: int, pages: int, scrape_seconds: float) -> str:
    jobs = [
        {
            "job_name": f"page-{number}",
            "metrics_path": f"/page/{number}",
            "honor_labels": True,
            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        }
        for number in range(pages)
    ]
    interval = f"{round(scrape_seconds * 1000)}ms"
    settings = {"scrape_interval": interval, "scrape_timeout": interval}
    # JSON is YAML.
    return json.dumps({"global": settings, "scrape_configs": jobs})


def wait_for_samples(
    running: RunningPrometheus, replicas: int, window_seconds: float, progress: Progress
) -> None:
    """Wait until a whole rate window of every replica is there."""
    promql = (
        "count(count_over_time(vllm:generation_tokens_total"
        f"[{round(window_seconds)}s:{max(1, round(window_seconds / 8))}s]) >= 7)"
    )
    with progress.step(f"Prometheus holds a rate window of {replicas} replicas"):
        while _number(running.url, promql) < replicas:
            time.sleep(max(0.5, window_seconds / 20))


def _number(url: str, promql: str) -> float:
    query = urllib.parse.urlencode({"query": promql})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=300) as answer:
        result = json.loads(answer.read())["data"]["result"]
    return float(result[0]["value"][1]) if result else 0.0


def matcher_of(servings: int, shelves: Sequence[int]) -> Matcher:
    """What chooses the replicas of a fleet of that size."""
    value = "|".join(str(shelf) for shelf in shelves if shelf <= servings)
    return Matcher(label=SHELF, operator="=~", value=value)


def queries_of(servings: int, shelves: Sequence[int], window_seconds: float) -> dict[str, str]:
    """What the operator will ask: PromQL by name of the query."""
    endpoint = Endpoint(
        name="default", url="http://127.0.0.1", matchers=(matcher_of(servings, shelves),)
    )
    return dict(TelemetryReader(endpoint, window_seconds=window_seconds).promql)
