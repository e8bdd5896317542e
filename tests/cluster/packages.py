"""The Debian packages a cluster needs: found, or installed when that is allowed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.progress import Progress
from tests.cluster.spec import Level


@dataclass(frozen=True, kw_only=True)
class Need:
    """A program and the Debian package that brings it."""

    package: str
    program: str


_CONTROL_PLANE = (
    Need(package="etcd-server", program="etcd"),
    Need(package="openssl", program="openssl"),
)
_FULL = (
    *_CONTROL_PLANE,
    Need(package="containerd", program="containerd"),
    Need(package="runc", program="runc"),
    Need(package="containernetworking-plugins", program="/usr/lib/cni/bridge"),
    Need(package="busybox-static", program="/bin/busybox"),
    Need(package="iptables", program="iptables"),
    Need(package="iproute2", program="ip"),
    Need(package="mount", program="mount"),
    Need(package="debootstrap", program="debootstrap"),
)
_DOCKER = (
    Need(package="docker.io", program="/usr/sbin/dockerd"),
    Need(package="docker.io", program="/usr/bin/docker"),
    Need(package="containerd", program="containerd"),
    Need(package="runc", program="runc"),
)

_POLICY = Path("/usr/sbin/policy-rc.d")
_OTHER_WAYS = (
    "or use kind with a Docker engine (see docs/how-to/test-cluster.md), "
    "or set RIDGELINE_KUBECONFIG to use another cluster"
)


def missing(level: Level, find: Callable[[str], str | None] = shutil.which) -> list[str]:
    """The packages whose programs are not on this machine, in the order of need."""
    needs = _FULL if level is Level.FULL else _CONTROL_PLANE
    return [need.package for need in needs if find(need.program) is None]


def require(level: Level, progress: Progress, *, yes: bool) -> None:
    """See that the level's programs are there; says first what it would install.

    Installation needs root on Debian, and `yes`, `CI=true` or a person who agrees.

    Raises:
        ClusterError: this machine cannot run the level, or the answer was no.
    """
    if sys.platform != "linux":
        raise ClusterError(
            f"a cluster from packages needs Linux, this is {sys.platform}; "
            "use kind or set RIDGELINE_KUBECONFIG"
        )
    if level is Level.FULL and os.geteuid() != 0:
        raise ClusterError(f"a full cluster needs root: run it as root, {_OTHER_WAYS}")
    _obtain(lambda: missing(level), progress, yes=yes)


def missing_for_docker(find: Callable[[str], str | None] = shutil.which) -> list[str]:
    """The packages that a Docker engine of this machine lacks."""
    return list(dict.fromkeys(need.package for need in _DOCKER if find(need.program) is None))


def require_docker(progress: Progress, *, yes: bool) -> None:
    """See that a Docker engine can be started here; says first what it would install.

    Raises:
        ClusterError: this machine cannot run one, or the answer was no.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        raise ClusterError("building the image needs a Docker engine, which needs root on Linux")
    _obtain(missing_for_docker, progress, yes=yes)


def _obtain(missing: Callable[[], list[str]], progress: Progress, *, yes: bool) -> None:
    absent = missing()
    if not absent:
        return
    wanted = " ".join(absent)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ClusterError(
            f"these Debian packages are missing: {wanted}; install them as root on Debian "
            f"(apt-get install --no-install-recommends {wanted}), {_OTHER_WAYS}"
        )
    progress.say(f"Debian packages to install: {wanted}")
    if not (yes or os.environ.get("CI") == "true" or _agreed()):
        raise ClusterError(
            f"not installed: {wanted}; run `python -m tests.cluster up --yes`, set CI=true, "
            f"{_OTHER_WAYS}"
        )
    with progress.step(f"installed {wanted}"):
        _install(absent)
    if still := missing():
        raise ClusterError(f"installed, and yet their programs are missing: {' '.join(still)}")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Install them with apt-get now? [y/N] ").strip().lower() in {"y", "yes"}


def _install(packages: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with no_services():
        for command in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages],
        ):
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if result.returncode != 0:
                text = (result.stderr or result.stdout).strip()
                raise ClusterError(f"`{' '.join(command)}` failed: {text}")


@contextlib.contextmanager
def no_services(policy: Path = _POLICY) -> Iterator[None]:
    """Keep Debian packages from starting services (etcd, containerd) meanwhile.

    A policy that the machine has already is put back as it was.
    """
    before = (policy.read_bytes(), policy.stat().st_mode) if policy.exists() else None
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        if before is None:
            policy.unlink()
        else:
            policy.write_bytes(before[0])
            policy.chmod(before[1])
