"""Prometheus: alone with any configuration, or in a cluster discovering its Pods."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.component import Component
from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.processes import die_with_parent

_ANNOTATION = "__meta_kubernetes_pod_annotation_prometheus_io"


def pod_discovery_config(kubeconfig: Path, *, scrape_interval_s: float) -> str:
    """Scrape every running Pod annotated `prometheus.io/scrape: "true"`.

    The scraped port is the declared container port that `prometheus.io/port` gives, else the one
    named `http` or `metrics`; the path is `prometheus.io/path`, else `/metrics`. Series carry
    `namespace`, `pod`, `container`, `node`, and `profile` (the label `ridgeline.dev/profile`).
    """
    copied = {
        "namespace": "__meta_kubernetes_namespace",
        "pod": "__meta_kubernetes_pod_name",
        "container": "__meta_kubernetes_pod_container_name",
        "node": "__meta_kubernetes_pod_node_name",
        "profile": "__meta_kubernetes_pod_label_ridgeline_dev_profile",
    }
    relabel: list[dict[str, object]] = [
        {"source_labels": [f"{_ANNOTATION}_scrape"], "regex": "true", "action": "keep"},
        {
            "source_labels": ["__meta_kubernetes_pod_phase"],
            "regex": "Succeeded|Failed",
            "action": "drop",
        },
        {
            "source_labels": [
                "__meta_kubernetes_pod_container_port_name",
                "__meta_kubernetes_pod_container_port_number",
            ],
            "regex": "(?:http|metrics);(.+)",
            "target_label": "__tmp_port",
        },
        {
            "source_labels": [f"{_ANNOTATION}_port"],
            "regex": "(.+)",
            "target_label": "__tmp_port",
        },
        {
            "source_labels": ["__meta_kubernetes_pod_container_port_number"],
            "target_label": "__tmp_port",
            "action": "keepequal",
        },
        # A container without ports equals a Pod without a chosen one: both are empty.
        {"source_labels": ["__tmp_port"], "regex": ".+", "action": "keep"},
        {
            "source_labels": [f"{_ANNOTATION}_path"],
            "regex": "(.+)",
            "target_label": "__metrics_path__",
        },
    ]
    for target, source in copied.items():
        relabel.append({"source_labels": [source], "target_label": target})
    job = {
        "job_name": "pods",
        "kubernetes_sd_configs": [{"role": "pod", "kubeconfig_file": str(kubeconfig)}],
        "relabel_configs": relabel,
    }
    interval = f"{round(scrape_interval_s * 1000)}ms"
    settings = {"scrape_interval": interval, "scrape_timeout": interval}
    # JSON is YAML.
    return json.dumps({"global": settings, "scrape_configs": [job]}, indent=1)


def prometheus_component(binary: Path, config: Path, data_dir: Path, listen: str) -> Component:
    """The program with its files and its address (HOST:PORT)."""
    return Component(
        name="prometheus",
        argv=(
            str(binary),
            f"--config.file={config}",
            f"--storage.tsdb.path={data_dir}",
            f"--web.listen-address={listen}",
            "--web.enable-lifecycle",
            "--log.level=warn",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class RunningPrometheus:
    """A Prometheus that answers queries at `url` until `stop`."""

    url: str
    stop: Callable[[], None]
    config_file: Path
    """Edit it and call `reload`."""

    def reload(self) -> None:
        """Read the configuration file again.

        Raises:
            ClusterError: Prometheus refused it.
        """
        request = urllib.request.Request(f"{self.url}/-/reload", method="POST")
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace").strip()
            raise ClusterError(f"Prometheus refused {self.config_file}: {text}") from error


def start_prometheus(
    config: str, data_dir: Path, *, binary: Path, timeout_s: float = 60.0
) -> RunningPrometheus:
    """Start a Prometheus on a free loopback port and return once it is ready.

    `config` is the text of its configuration file. It ends with the process that started it, at
    the latest.

    Raises:
        ClusterError: it ended or was not ready in time; the message holds the end of its log.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    config_file = data_dir / "prometheus.yml"
    config_file.write_text(config)
    log = data_dir / "prometheus.log"
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    component = prometheus_component(binary, config_file, data_dir / "tsdb", listen)
    with log.open("wb") as output:
        process = subprocess.Popen(
            component.argv,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
    try:
        _wait_ready(process, f"http://{listen}", log, timeout_s=timeout_s)
    except BaseException:
        _stop(process)
        raise
    return RunningPrometheus(
        url=f"http://{listen}", stop=lambda: _stop(process), config_file=config_file
    )


def is_ready(url: str) -> bool:
    """Whether a Prometheus at this address answers queries."""
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait_ready(process: subprocess.Popen[bytes], url: str, log: Path, *, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not is_ready(url):
        if process.poll() is not None:
            text = f"Prometheus ended with code {process.returncode}"
            raise ClusterError(with_log_tail(text, log.read_bytes()))
        if time.monotonic() > end:
            text = f"Prometheus was not ready within {timeout_s:.0f} s"
            raise ClusterError(with_log_tail(text, log.read_bytes()))
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listened on a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
