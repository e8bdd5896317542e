"""Faults of a cluster's own programs: paused, ended, their containers killed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.control import ask
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.nodes import containerd_socket
from tests.cluster.processes import ProcessId, identify, inner_pids


def process_of(cluster: Cluster, component: str) -> ProcessId:
    """The process of a component as it is now, also after a restart."""
    inner = ask(state_of(cluster) / "control.sock", "status")["running"].get(component)
    outer = inner_pids(cluster.pids["supervisor"].pid).get(inner)
    found = None if outer is None else identify(outer)
    if found is None:
        raise ClusterError(f"{component} does not run; see {state_of(cluster) / 'logs'}")
    return found


@contextlib.contextmanager
def paused(process: ProcessId) -> Iterator[None]:
    """Stop a process as a debugger would; it goes on at the end of the block."""
    process.kill(signal.SIGSTOP)
    try:
        yield
    finally:
        process.kill(signal.SIGCONT)


def run_in_pulses(process: ProcessId, *, seconds: float, still_s: float, awake_s: float) -> None:
    """Let a process run only a part of the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with paused(process):
            time.sleep(still_s)
        time.sleep(awake_s)


def kill_containers(cluster: Cluster, node: str) -> None:
    """SIGKILL to every container of a node."""
    listed = _ctr(cluster, node, "tasks", "ls", "-q")
    for task in listed.split():
        with contextlib.suppress(ClusterError):  # it may have ended with its neighbour
            _ctr(cluster, node, "tasks", "kill", "--signal", "SIGKILL", task)


def state_of(cluster: Cluster) -> Path:
    """The state folder of a cluster that may be hurt."""
    if cluster.state_dir is None:
        raise ClusterError("faults need a cluster of tests/cluster: unset RIDGELINE_KUBECONFIG")
    return cluster.state_dir


def _ctr(cluster: Cluster, node: str, *words: str) -> str:
    address = str(containerd_socket(state_of(cluster), node))
    command = ("ctr", "-a", address, "-n", "k8s.io", *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        raise ClusterError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout
