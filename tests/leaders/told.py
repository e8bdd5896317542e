"""Audit logs that a test makes up: one line for each request, as an API server writes it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.leaders.audit import Entry, Object, entry_of
from tests.leaders.rules import Rules

A = "system:serviceaccount:inference:operator-a"
B = "system:serviceaccount:inference:operator-b"
CONTROLLERS = "system:serviceaccount:kube-system:deployment-controller"
BEGIN = 1_795_860_000.0
BLIND_AFTER_S = 10.0
LEASE_S = 5

RULES = Rules(
    users=frozenset({A, B}),
    lease=("inference", "ridgeline"),
    max_rolls=1,
    blind_after_s=BLIND_AFTER_S,
)
"""What the operators of these logs may do."""


class Told:
    """A log in the making; its clock goes on by a second with each request.

    Attributes:
        lines: What was written.
        now: Seconds since its beginning.
        revision: The store's.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.revision = 100
        self._targets: dict[str, Object] = {}

    def entries(self) -> list[Entry]:
        """The log, read."""
        return [entry_of(each) for each in self.lines]

    def renew(
        self,
        user: str = A,
        *,
        holder: str | None = None,
        lasts: int = LEASE_S,
        begun_before_s: float = 0.0,
    ) -> None:
        """Somebody writes that the Lease is theirs, having looked at the clock some time before."""
        name = user.rpartition(":")[2] if holder is None else holder
        spec = {
            "holderIdentity": name,
            "renewTime": _time(self.now + 1.0 - begun_before_s),
            "leaseDurationSeconds": lasts,
        }
        path = "/apis/coordination.k8s.io/v1/namespaces/inference/leases/ridgeline"
        target = _ref("coordination.k8s.io", "leases", "ridgeline")
        self.write(user, "update", path, target, answer={"spec": spec})

    def target(self, name: str = "llama") -> None:
        """A person creates a Deployment, and it serves."""
        self._targets[name] = _deployment(name)
        self._store_target(name, "admin", "create", {})
        self.settle(name)

    def settle(self, name: str = "llama") -> None:
        """The Deployment controller says that all replicas are of the newest template."""
        target = self._targets[name]
        counts = ("replicas", "updatedReplicas", "availableReplicas")
        generation = target["metadata"]["generation"]
        target["status"] = {"observedGeneration": generation, **dict.fromkeys(counts, 2)}
        self._store_target(name, CONTROLLERS, "update", {}, subresource="status")

    def announce(
        self,
        to: str,
        *,
        name: str = "llama",
        user: str = A,
        start: str = "",
        state: str = "Intended",
    ) -> None:
        """An operator writes a roll into a status."""
        rollout = {"to": to, "state": state, "startTime": start or f"at {self.now}"}
        body = {
            "apiVersion": "ridgeline.dev/v1alpha1",
            "kind": "SpeculativeServing",
            "metadata": {"name": name, "namespace": "inference", **self._read(name)},
            "status": {"rollout": rollout},
        }
        path = "/apis/ridgeline.dev/v1alpha1/namespaces/inference/speculativeservings"
        query = "?fieldManager=ridgeline-status&force=true"
        target = _ref("ridgeline.dev", "speculativeservings", name, "status")
        self.write(user, "patch", f"{path}/{name}/status{query}", target, body=body, answer=body)

    def apply(
        self,
        profile: str,
        *,
        name: str = "llama",
        user: str = A,
        change: Mapping[str, Any] | None = None,
        query: str = "fieldManager=ridgeline-profile&force=false",
        read: int | None = None,
        code: int = 200,
    ) -> None:
        """An operator applies a profile; `change` replaces parts of the body."""
        body = {**_profile(name, profile, self._read(name, read)), **(change or {})}
        target = self._targets[name]
        if code < 300 and "dryRun" not in query:
            _put(target, profile)
        self._store_target(name, user, "patch", body, query=query, code=code)

    def event(self, user: str = A) -> None:
        """An operator tells what it has done."""
        target = _ref("events.k8s.io", "events", "")
        path = "/apis/events.k8s.io/v1/namespaces/inference/events"
        self.write(user, "create", path, target, code=201)

    def roll(self, profile: str, *, name: str = "llama", user: str = A) -> None:
        """An operator announces a roll and applies it."""
        self.announce(profile, name=name, user=user)
        self.apply(profile, name=name, user=user)

    def write(
        self,
        user: str,
        verb: str,
        path: str,
        target: Object,
        *,
        body: Object | None = None,
        answer: Object | None = None,
        code: int = 200,
        takes: float = 0.01,
    ) -> None:
        """Anybody writes anything."""
        self.now += 1.0
        told = copy.deepcopy(answer or {})
        if code < 300 and "dryRun" not in path:
            self.revision += 1
            told.setdefault("metadata", {})["resourceVersion"] = str(self.revision)
        event = {
            "requestReceivedTimestamp": _time(self.now),
            "stageTimestamp": _time(self.now + takes),
            "user": {"username": user},
            "verb": verb,
            "requestURI": path,
            "objectRef": target,
            "responseStatus": {"code": code},
            "requestObject": body,
            "responseObject": told,
        }
        self.lines.append(json.dumps(event))

    def _read(self, name: str, version: int | None = None) -> Object:
        return {
            "uid": f"u-{name}",
            "resourceVersion": str(self.revision if version is None else version),
        }

    def _store_target(
        self,
        name: str,
        user: str,
        verb: str,
        body: Object,
        *,
        subresource: str = "",
        query: str = "",
        code: int = 200,
    ) -> None:
        path = f"/apis/apps/v1/namespaces/inference/deployments/{name}?{query}"
        target = _ref("apps", "deployments", name, subresource)
        answer = self._targets[name]
        self.write(user, verb, path, target, body=body, answer=answer, code=code)


def _ref(group: str, resource: str, name: str, subresource: str = "") -> Object:
    found = {"apiGroup": group, "resource": resource, "namespace": "inference", "name": name}
    return {**found, "subresource": subresource} if subresource else found


def _deployment(name: str) -> Object:
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "vllm", "env": []}]}}
    return {
        "metadata": {"name": name, "namespace": "inference", "uid": f"u-{name}", "generation": 1},
        "spec": {"replicas": 2, "template": template},
    }


def _profile(name: str, profile: str, read: Object) -> Object:
    env = [{"name": "SPECULATION_CONFIG", "value": f"config of {profile}"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "inference",
            **read,
            "annotations": {"ridgeline.dev/serving": json.dumps({"serving": name})},
        },
        "spec": {
            "template": {
                "metadata": {"labels": {"ridgeline.dev/profile": profile}},
                "spec": {"containers": [{"name": "vllm", "env": env}]},
            }
        },
    }


def _put(target: Object, profile: str) -> None:
    template = target["spec"]["template"]
    item = {"name": "SPECULATION_CONFIG", "value": f"config of {profile}"}
    if template["spec"]["containers"][0]["env"] != [item]:
        target["metadata"]["generation"] += 1
    template["metadata"]["labels"] = {"ridgeline.dev/profile": profile}
    template["spec"]["containers"][0]["env"] = [item]


def _time(after: float) -> str:
    return datetime.fromtimestamp(BEGIN + after, UTC).isoformat(timespec="microseconds")
