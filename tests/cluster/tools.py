"""The Go binaries: Kubernetes components, kubectl, Prometheus and promtool, Helm.

They are built from the pinned modules in `tools/`, once per content of the module and the flags,
into the cache folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.locking import build_once
from tests.cluster.paths import HERE, REPO, cache_dir, content_key, read_all
from tests.cluster.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """Binaries that come from one Go module."""

    name: str
    binaries: Mapping[str, str]
    """Binary name → Go package."""
    flags: tuple[str, ...]
    home: Path = HERE / "tools"
    """The folder in which the module lies."""

    @property
    def module(self) -> Path:
        """The folder with `go.mod`, `go.sum` and the module's own code, where it has any."""
        return self.home / self.name

    @property
    def folder(self) -> Path:
        """Where the built binaries lie; it exists only when all of them do."""
        own_code = sorted(self.module.rglob("*.go"))
        pins = read_all([self.module / "go.mod", self.module / "go.sum", *own_code])
        key = content_key(*pins, *self.flags, *self.binaries)
        return cache_dir() / "tools" / f"{self.name}-{key}"


_KUBERNETES_VERSION = "1.34.4"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = _KUBERNETES_VERSION.split(".")

KUBERNETES = Toolset(
    name="kubernetes",
    binaries={
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in (
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kube-proxy",
            "kubectl",
        )
    },
    # Without the version in the binary the API server calls itself v0.0.0 and clients refuse it.
    flags=(
        "-trimpath",
        "-ldflags",
        f"-s -w -X {_VERSION_PACKAGE}.gitVersion=v{_KUBERNETES_VERSION} "
        f"-X {_VERSION_PACKAGE}.gitMajor={_MAJOR} -X {_VERSION_PACKAGE}.gitMinor={_MINOR}",
    ),
)

PROMETHEUS = Toolset(
    name="prometheus",
    binaries={
        name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")
    },
    # Only Kubernetes discovery (file and static targets are always there): a third of the size.
    flags=(
        "-trimpath",
        "-ldflags",
        "-s -w",
        "-tags",
        "remove_all_sd,enable_kubernetes_sd,slicelabels",
    ),
)

_HELM_VERSION = "4.2.3"

HELM = Toolset(
    name="helm",
    binaries={"helm": "helm.sh/helm/v4/cmd/helm"},
    # Without its version Helm calls itself v4.2 with no patch, whatever was built.
    flags=(
        "-trimpath",
        "-ldflags",
        f"-s -w -X helm.sh/helm/v4/internal/version.version=v{_HELM_VERSION}",
    ),
)

_HELM3_VERSION = "3.22.0"

HELM3 = Toolset(
    name="helm3",
    binaries={"helm": "helm.sh/helm/v3/cmd/helm"},
    # Without them it takes a cluster of 1.20 for granted where it is asked none.
    flags=(
        "-trimpath",
        "-ldflags",
        f"-s -w -X helm.sh/helm/v3/internal/version.version=v{_HELM3_VERSION}",
    ),
)

GITOPS = Toolset(
    name="gitops",
    binaries={name: f"./{name}" for name in ("argolua", "fluxtypes", "kstatus")},
    flags=("-trimpath", "-ldflags", "-s -w"),
    home=REPO / "tests" / "tools",
)
"""Small programs around what Argo CD and Flux run on our objects."""


def ensure(toolset: Toolset, progress: Progress) -> Path:
    """The folder with the toolset's binaries, built first when they are not there.

    Raises:
        ClusterError: Go is missing, or a build failed (with the end of its output).
    """
    return build_once(toolset.folder, lambda scratch: _build(toolset, scratch, progress), progress)


def _build(toolset: Toolset, scratch: Path, progress: Progress) -> None:
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            f"Go is needed to build {', '.join(toolset.binaries)} and `go` is not on the PATH; "
            "install Go 1.26 or later (https://go.dev/dl/), or set RIDGELINE_KUBECONFIG to use "
            "another cluster"
        )
    progress.say(f"building {len(toolset.binaries)} {toolset.name} binaries (minutes, once)")
    for name, package in toolset.binaries.items():
        with progress.step(f"built {name}"):
            _go_build(go, toolset, package, scratch / name)


def _go_build(go: str, toolset: Toolset, package: str, output: Path) -> None:
    command = [go, "build", *toolset.flags, "-o", str(output), package]
    process = subprocess.Popen(
        command,
        cwd=toolset.module,
        env={**os.environ, "CGO_ENABLED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # The compilers are Go's children: a group of their own is ended as a whole.
        start_new_session=True,
    )
    try:
        output_text, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        raise
    if process.returncode != 0:
        raise ClusterError(with_log_tail(f"`go build {package}` failed", output_text))
