"""A running cluster, as tests and commands see it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.audit import Request, Write, read_requests, read_writes
from tests.cluster.bringup import ctr
from tests.cluster.control import ask
from tests.cluster.errors import ClusterError
from tests.cluster.processes import ProcessId
from tests.cluster.spec import Level

_PRINTS_OBJECTS = {"get", "create", "apply", "patch", "replace", "label", "annotate", "scale"}


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Everything needed to use a cluster, whoever started it.

    `state_dir`, `audit_log`, `pids` and the fault methods exist only for clusters of this
    package; for another one they are None or empty, and the methods say so.
    """

    kubeconfig: Path
    api_server: str
    kubectl_path: str
    prometheus_url: str | None = None
    level: Level = Level.FULL
    nodes: tuple[str, ...] = ()
    state_dir: Path | None = None
    audit_log: Path | None = None
    pids: dict[str, ProcessId] = field(default_factory=dict)
    """Component → process, as seen from this machine, when the cluster became ready."""

    def kubectl(self, *arguments: str, input_object: object = None, timeout_s: float = 60.0) -> Any:
        """Run kubectl; objects come back decoded, everything else as text.

        `input_object` is given to it as JSON on standard input (with `-f -`).

        Raises:
            ClusterError: kubectl failed; the message is its own.
        """
        chosen = any(argument.startswith(("-o", "--output")) for argument in arguments)
        as_object = arguments[0] in _PRINTS_OBJECTS and not chosen and "--raw" not in arguments
        form = ["-o", "json"] if as_object else []
        result = subprocess.run(
            [self.kubectl_path, arguments[0], *form, *arguments[1:]],
            input=None if input_object is None else json.dumps(input_object),
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if result.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(arguments)}: {result.stderr.strip()}")
        return json.loads(result.stdout) if as_object and result.stdout else result.stdout

    def environment(self) -> dict[str, str]:
        """The environment in which kubectl, the operator and tests find this cluster."""
        added = {
            "KUBECONFIG": str(self.kubeconfig),
            "RIDGELINE_KUBECONFIG": str(self.kubeconfig),
        }
        if self.prometheus_url is not None:
            added["RIDGELINE_PROMETHEUS_URL"] = self.prometheus_url
        if self.state_dir is not None:
            added["KUBECACHEDIR"] = str(self.state_dir / "kubectl-cache")
        return {**os.environ, **added}

    def writes(self) -> list[Write]:
        """Every write that the API server has seen, in the order of its audit log."""
        return read_writes(self._audit_log())

    def requests(self) -> list[Request]:
        """Also the reads of an operator that runs in the cluster, see `read_requests`."""
        return read_requests(self._audit_log())

    def _audit_log(self) -> Path:
        if self.audit_log is None:
            raise ClusterError("this cluster has no audit log that can be read here")
        return self.audit_log

    def stop_component(self, name: str) -> None:
        """End one component (`prometheus`, `kube-apiserver`, `kubelet-node-0`, …)."""
        ask(self._control(), f"stop {name}")

    def start_component(self, name: str) -> None:
        """Start a stopped component again; it needs a moment to be of use."""
        ask(self._control(), f"start {name}")

    def load_image(self, archive: Path) -> None:
        """Import an OCI archive into every node."""
        if self.state_dir is None:
            raise ClusterError("images can be loaded only into a cluster of tests/cluster")
        running = [(node, _start_import(ctr(self.state_dir, node, archive))) for node in self.nodes]
        failures = []
        for node, process in running:
            _, errors = process.communicate()
            if process.returncode != 0:
                failures.append(f"{node}: {errors.decode(errors='replace').strip()}")
        if failures:
            raise ClusterError(f"importing {archive.name} failed on {'; '.join(failures)}")

    def _control(self) -> Path:
        if self.state_dir is None:
            raise ClusterError("components can be stopped only in a cluster of tests/cluster")
        return self.state_dir / "control.sock"


def _start_import(command: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def dump_cluster(cluster: Cluster) -> str:
    """The content of `cluster.json`."""
    pids = {
        name: {"pid": one.pid, "start_ticks": one.start_ticks} for name, one in cluster.pids.items()
    }
    content = {
        "level": cluster.level,
        "kubeconfig": str(cluster.kubeconfig),
        "api_server": cluster.api_server,
        "kubectl_path": cluster.kubectl_path,
        "prometheus_url": cluster.prometheus_url,
        "nodes": cluster.nodes,
        "state_dir": str(cluster.state_dir),
        "audit_log": str(cluster.audit_log),
        "pids": pids,
    }
    return json.dumps(content, indent=1)


def load_cluster(file: Path) -> Cluster:
    """The cluster that a `cluster.json` describes."""
    data = json.loads(file.read_text())
    return Cluster(
        level=Level(data["level"]),
        kubeconfig=Path(data["kubeconfig"]),
        api_server=data["api_server"],
        kubectl_path=data["kubectl_path"],
        prometheus_url=data["prometheus_url"],
        nodes=tuple(data["nodes"]),
        state_dir=Path(data["state_dir"]),
        audit_log=Path(data["audit_log"]),
        pids={name: ProcessId(**one) for name, one in data["pids"].items()},
    )
