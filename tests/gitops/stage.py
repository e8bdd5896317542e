"""Applications on a bare API server: a tool brings each from Git, the operator looks after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL
from tests.cluster.handle import Cluster
from tests.gitops.repository import Object, Repository, scene
from tests.gitops.writers import Applied, Helm, Writer
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog, Trace

WINDOW_S: Final = 4
PATIENCE_S: Final = 400.0

OURS: Final = "ridgeline-profile"
_ITEM: Final = f'k:{{"name":"{PROFILE_ENV}"}}'

TOOLS: Final = ("argo-client-side", "argo-server-side", "flux", "helm-4", "helm-3")


def operator_config(namespace: str) -> dict[str, Any]:
    """A configuration with short times, that lets all targets of a stage be rolled at once."""
    return {
        "namespaces": [namespace],
        "tickSeconds": 1,
        "rateWindowSeconds": WINDOW_S,
        "relistSeconds": 10,
        "maxConcurrentRolls": 100,
        "maxConcurrentRollsPerPool": 100,
        "lease": {"namespace": namespace, "name": "ridgeline", "durationSeconds": 5},
    }


class Application(Placed):
    """An application that a tool brings to the cluster.

    Attributes:
        repository: What stands in Git.
        writer: The tool.
    """

    def __init__(
        self, cluster: Cluster, operator: OperatorProcess, repository: Repository, writer: Writer
    ) -> None:
        super().__init__(cluster, repository.scene, operator)
        self.repository = repository
        self.writer = writer

    def sync(self) -> None:
        """Let the tool bring Git to the cluster."""
        self.writer.sync()

    def rolls(self) -> list[str]:
        """The profiles that the operator rolled it to, finished ones, the first one first."""
        history = self.status().get("switchHistory") or ()
        moments = sorted(history, key=lambda each: str(each["startTime"]))
        return [each["to"] for each in moments if "finishTime" in each]

    def owners_of_item(self) -> set[str]:
        """The field managers that own the env item of the Deployment."""
        words = (f"deployment/{self.scene.name}", "-n", self.scene.namespace)
        body = self.cluster.kubectl("get", *words, "--show-managed-fields")
        entries = body["metadata"]["managedFields"]
        return {each["manager"] for each in entries if _ITEM in str(each["fieldsV1"])}

    def container(self) -> Object:
        """The container of the Deployment as it is now."""
        container: Object = self.target()["spec"]["template"]["spec"]["containers"][0]
        return container

    def item(self) -> str | None:
        """The value of the env item; None where there is none."""
        env = self.container().get("env", ())
        return next((each.get("value", "") for each in env if each["name"] == PROFILE_ENV), None)

    def label(self) -> str | None:
        """The profile that the Pod template names."""
        labels: dict[str, str] = self.target()["spec"]["template"]["metadata"]["labels"]
        return labels.get(PROFILE_LABEL)

    def stalled(self, reason: str) -> bool:
        """Whether the operator holds for a reason that needs a person."""
        return self.condition("Stalled") == ("True", reason)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where applications are played.

    Attributes:
        cluster: The API server.
        namespace: The namespace of all of them.
        operator: The operator that looks after it.
        audit: The writes since before the first application.
        helm4: The binary of Helm 4.
        helm3: The binary of Helm 3.
        folder: Where charts are written.
    """

    cluster: Cluster
    namespace: str
    operator: OperatorProcess
    audit: AuditLog
    helm4: Path
    helm3: Path
    folder: Path

    def application(self, name: str, tool: str, **changes: Any) -> Application:
        """An application that is in Git and not on the cluster yet."""
        repository = Repository(scene=scene(self.namespace, name))
        common: dict[str, Any] = {"cluster": self.cluster, "repository": repository, **changes}
        writer: Writer
        if tool.startswith("helm"):
            binary = self.helm4 if tool == "helm-4" else self.helm3
            writer = Helm(binary=binary, folder=self.folder, **common)
        else:
            manager = "kustomize-controller" if tool == "flux" else "argocd-controller"
            by_server = tool != "argo-client-side"
            writer = Applied(field_manager=manager, server_side=by_server, **common)
        return Application(self.cluster, self.operator, repository, writer)

    def profile_writes(self, application: Application) -> list[Trace]:
        """The operator's own writes to the application's Deployment that were stored."""
        found = self.audit.profile_writes(self.namespace, application.scene.name)
        return [each for each in found if each.user_agent.startswith("ridgeline/")]

    def until(
        self,
        applications: Iterable[Application],
        done: Callable[[Application], bool],
        what: str,
        *,
        syncing: bool = True,
    ) -> None:
        """Let every tool heal, one after the other and again, until all applications are done.

        Raises:
            TimeoutError: One of them was not done in time; the text tells its status.
        """
        all_of_them, end = list(applications), time.monotonic() + PATIENCE_S
        while left := [each for each in all_of_them if not done(each)]:
            if time.monotonic() > end:
                story = "\n".join(f"{each.scene.name}: {each.status()}" for each in left)
                raise TimeoutError(f"{what}\n{story}\n{self.operator.log_tail()}")
            for each in all_of_them if syncing else ():
                each.sync()
            time.sleep(0.2)
