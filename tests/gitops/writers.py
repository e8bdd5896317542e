"""Tools that bring manifests to a cluster, each by the calls that it really makes."""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.handle import Cluster
from tests.gitops.repository import Object, Repository

TRACKING: Final = "argocd.argoproj.io/tracking-id"


class SyncError(RuntimeError):
    """A tool could not bring its manifests to the cluster; the text is the API server's."""


@dataclass(kw_only=True)
class Writer(ABC):
    """A tool at work on one application.

    Attributes:
        cluster: Where it writes.
        repository: What it reads.
        syncs: How often it wrote.
    """

    cluster: Cluster
    repository: Repository
    syncs: int = 0

    @property
    @abstractmethod
    def manager(self) -> str:
        """The field manager by which the Deployment is known as its own."""

    @abstractmethod
    def sync(self) -> None:
        """Bring what stands in Git to the cluster.

        Raises:
            SyncError: The API server refused.
        """

    @property
    def _namespace(self) -> str:
        return self.repository.scene.namespace

    def _run(self, *command: str, stdin: str | None = None) -> str:
        self.syncs += 1
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=self.cluster.environment(),
        )
        if done.returncode != 0:
            raise SyncError(done.stderr)
        return done.stdout


@dataclass(kw_only=True)
class Applied(Writer):
    """`kubectl apply` with the options that a tool gives to the same code.

    Argo CD applies by kubectl's own library, by three-way merge or (`ServerSideApply=true`) on the
    server and by force; Flux on the server, by force. Both put their mark on every object, and
    prune what carries it and is not in Git any more.
    """

    field_manager: str
    server_side: bool
    replace: bool = False

    @property
    def manager(self) -> str:
        return self.field_manager

    def sync(self) -> None:
        items = self.repository.manifests()
        for each in items:
            each["metadata"].setdefault("annotations", {})[TRACKING] = self.repository.name
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        kubectl = (self.cluster.kubectl_path, "--namespace", self._namespace)
        manager = f"--field-manager={self.field_manager}"
        if self.replace:
            self._run(*kubectl, "replace", manager, "-f", "-", stdin=body)
            return
        how = ("--server-side", "--force-conflicts") if self.server_side else ()
        self._run(*kubectl, "apply", manager, *how, "-f", "-", stdin=body)
        self._prune(items)

    def _prune(self, items: list[Object]) -> None:
        kept = {(each["kind"], each["metadata"]["name"]) for each in items}
        kinds = "deployments,replicasets,pods,configmaps,speculativeservings"
        there = self.cluster.kubectl("get", kinds, "-n", self._namespace)["items"]
        for each in there:
            metadata = each["metadata"]
            mine = (metadata.get("annotations") or {}).get(TRACKING) == self.repository.name
            if mine and not metadata.get("ownerReferences"):
                key = (each["kind"], metadata["name"])
                if key not in kept:
                    self.cluster.kubectl("delete", key[0], key[1], "-n", self._namespace)

    def differences(self) -> str:
        """What `kubectl diff`, the rehearsal of the same apply, has to tell; empty for nothing."""
        items = self.repository.manifests()
        for each in items:
            each["metadata"].setdefault("annotations", {})[TRACKING] = self.repository.name
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        how = ("--server-side", "--force-conflicts") if self.server_side else ()
        command = (self.cluster.kubectl_path, "diff", f"--field-manager={self.field_manager}", *how)
        done = subprocess.run(
            [*command, "-f", "-"],
            input=body,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=self.cluster.environment(),
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout


@dataclass(kw_only=True)
class Helm(Writer):
    """A real Helm: `helm upgrade --install` of a chart with the manifests.

    Attributes:
        binary: Helm 3 merges three ways, Helm 4 applies server-side.
        folder: Where the chart is written.
        options: Further options of the upgrade.
    """

    binary: Path
    folder: Path
    options: tuple[str, ...] = ()

    @property
    def manager(self) -> str:
        return "helm"

    def sync(self) -> None:
        chart = self.folder / self.repository.name
        (chart / "templates").mkdir(parents=True, exist_ok=True)
        about: dict[str, Any] = {"apiVersion": "v2", "name": "model", "version": "1.0.0"}
        (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
        text = yaml.safe_dump_all(self.repository.manifests())
        (chart / "templates" / "all.yaml").write_text(text)
        where = ("--namespace", self._namespace, "--history-max", "2")
        self._run(
            *(str(self.binary), "upgrade", "--install", self.repository.name, str(chart)),
            *where,
            *self.options,
        )
