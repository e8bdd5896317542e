"""A Docker engine for as long as a block lasts: it builds images and leaves nothing.

It runs in namespaces of its own, so its mounts and processes end with it, touches neither the
machine's firewall nor its bridges, and keeps everything in one folder that is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import packages
from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.processes import ProcessId, die_with_parent, identify
from tests.cluster.progress import Progress

# Of Debian's docker.io: a newer client on the PATH may refuse to talk to this engine.
DOCKER = "/usr/bin/docker"
DOCKERD = "/usr/sbin/dockerd"
_START_S = 60.0
_STOP_S = 30.0


@dataclass(frozen=True, kw_only=True)
class DockerEngine:
    """A running engine."""

    folder: Path
    process: ProcessId

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"unix://{self.folder / 'docker.sock'}"

    def docker(self, *arguments: str, timeout_s: float = 300.0) -> str:
        """Run a docker command and return what it prints.

        Raises:
            ClusterError: it failed; the message holds the end of its output.
        """
        result = subprocess.run(
            [DOCKER, *arguments],
            env={
                **os.environ,
                "DOCKER_HOST": self.address,
                "DOCKER_CONFIG": str(self.folder / "client"),
                # The engine's own builder: the other one is a plugin that may be missing.
                "DOCKER_BUILDKIT": "0",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=timeout_s,
        )
        if result.returncode != 0:
            text = f"docker {' '.join(arguments[:2])} failed"
            raise ClusterError(with_log_tail(text, result.stdout))
        return result.stdout.decode(errors="replace")

    def import_base(self, layer: Path, name: str) -> None:
        """Make an image of a root file system's tar."""
        self.docker("import", str(layer), name)

    def build(self, context: Path, name: str, arguments: Mapping[str, str]) -> str:
        """Build the context's Dockerfile without a network; return what the build says."""
        given = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        return self.docker("build", "--network=none", *given, "--tag", name, str(context))

    def save(self, name: str, file: Path) -> None:
        """Write an image as an archive that `ctr images import` takes."""
        self.docker("save", "--output", str(file), name)


@contextlib.contextmanager
def docker_engine(progress: Progress, *, yes: bool = False) -> Iterator[DockerEngine]:
    """Start an engine, and stop it with the block.

    Raises:
        ClusterError: it is not installed and may not be, or it did not start.
    """
    packages.require_docker(progress, yes=yes)
    folder = Path(tempfile.mkdtemp(prefix="ridgeline-docker-"))
    try:
        # Its own, empty one: the machine's is not asked.
        (folder / "daemon.json").write_text("{}")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                _command(folder), stdout=log, stderr=log, preexec_fn=die_with_parent
            )
        try:
            with progress.step("the Docker engine has started"):
                engine = _wait(folder, process)
            yield engine
        finally:
            _stop(folder, process)
    finally:
        shutil.rmtree(folder)


def _command(folder: Path) -> list[str]:
    # Whoever ends `unshare` ends the whole namespace, however many processes the engine has.
    own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [
        *("unshare", *own, DOCKERD),
        *("--host", f"unix://{folder / 'docker.sock'}"),
        *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--pidfile", str(folder / "pid"), "--config-file", str(folder / "daemon.json")),
        *("--iptables=false", "--ip6tables=false", "--bridge=none", "--log-level=warn"),
    ]


def _wait(folder: Path, process: subprocess.Popen[bytes]) -> DockerEngine:
    started = identify(process.pid)
    end = time.monotonic() + _START_S
    while started is not None and process.poll() is None and time.monotonic() < end:
        engine = DockerEngine(folder=folder, process=started)
        with contextlib.suppress(ClusterError):
            engine.docker("version", timeout_s=10.0)
            return engine
        time.sleep(0.2)
    text = "the Docker engine did not start"
    raise ClusterError(with_log_tail(text, (folder / "log").read_bytes()))


def _stop(folder: Path, process: subprocess.Popen[bytes]) -> None:
    inner = _engine_pid(process.pid)
    if inner is not None:
        # It unmounts and ends its containerd itself when it is asked to.
        inner.stop(grace_s=_STOP_S)
    process.kill()
    process.wait()


def _engine_pid(outer: int) -> ProcessId | None:
    listing = Path(f"/proc/{outer}/task/{outer}/children")
    pids = listing.read_text().split() if listing.exists() else []
    return identify(int(pids[0])) if pids else None
