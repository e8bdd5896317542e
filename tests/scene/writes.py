"""Who wrote what on a cluster: the audit log, with rehearsals told apart and the operator found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cluster.handle import Cluster

_OPERATOR = ("ridgeline/", "kopf/")
"""User agents of the operator's own calls and of the library that watches for it."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One write that the API server has answered.

    Attributes:
        user: Who, by the name that the API server knows.
        user_agent: With which program.
        verb: create, update, patch or delete.
        resource: With its subresource: `deployments`, `speculativeservings/status`, …
        namespace: Where; empty for what has none.
        name: Name of the object.
        code: HTTP status of the answer.
        dry_run: Whether nothing was to be stored.
    """

    user: str
    user_agent: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    dry_run: bool

    @property
    def by_operator(self) -> bool:
        """Whether the operator made it: all that neither Kubernetes itself nor a person made."""
        if self.user_agent.startswith(_OPERATOR):
            return True
        by_kubernetes = self.user.startswith("system:") or self.user == "prometheus"
        return not by_kubernetes and not self.user_agent.startswith("kubectl")

    @property
    def stored(self) -> bool:
        """Whether it was taken and was more than a rehearsal."""
        return self.code < 300 and not self.dry_run


class AuditLog:
    """The writes on a cluster from the moment of construction on."""

    def __init__(self, cluster: Cluster) -> None:
        if cluster.audit_log is None:
            pytest.skip("this cluster has no audit log that can be read here")
        self._path = cluster.audit_log
        self._offset = self._path.stat().st_size

    def writes(self) -> list[Trace]:
        """Every write since then, in the order of the log."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            # A last line that is still being written is left out, and so is a first one.
            lines = log.read().split(b"\n")[:-1]
        return [_trace(json.loads(line)) for line in lines if line.startswith(b"{")]

    def by_operator(self, resource: str | None = None, namespace: str | None = None) -> list[Trace]:
        """What the operator wrote, Leases aside."""
        return [
            each
            for each in self.writes()
            if each.by_operator
            and each.resource != "leases"
            and resource in (None, each.resource)
            and namespace in (None, each.namespace)
        ]

    def profile_writes(self, namespace: str, name: str) -> list[Trace]:
        """The operator's writes to a Deployment that were stored."""
        return [
            each
            for each in self.by_operator("deployments", namespace)
            if each.name == name and each.stored
        ]

    def tries(self, namespace: str, name: str) -> list[Trace]:
        """Everything that the operator asked of a Deployment: rehearsals and refusals too."""
        return [each for each in self.by_operator("deployments", namespace) if each.name == name]


def _trace(event: dict[str, Any]) -> Trace:
    target = event.get("objectRef") or {}
    resource = str(target.get("resource", ""))
    if target.get("subresource"):
        resource = f"{resource}/{target['subresource']}"
    return Trace(
        user=str(event["user"].get("username", "")),
        user_agent=str(event.get("userAgent", "")),
        verb=str(event["verb"]),
        resource=resource,
        namespace=str(target.get("namespace", "")),
        name=str(target.get("name", "")),
        code=int((event.get("responseStatus") or {}).get("code", 0)),
        dry_run="dryRun=" in str(event.get("requestURI", "")),
    )
