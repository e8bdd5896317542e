"""A scene that lies on a cluster: what people would do to it and ask about it with kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.scene.manifests import Object, Scene
from tests.scene.operator_process import OperatorProcess

DEADLINE_S = 120.0
"""How long anything may take: the machine may have two busy cores."""


class Placed:
    """A scene on a cluster, with the operator that is to look after it (for its log)."""

    def __init__(
        self, cluster: Cluster, scene: Scene, operator: OperatorProcess | None = None
    ) -> None:
        self.cluster = cluster
        self.scene = scene
        self.operator = operator

    # What people do.

    def put_target(self, deployment: Object | None = None) -> None:
        """Apply the target and what it needs, and wait until it serves."""
        items = [
            self.scene.default_config(),
            deployment or self.scene.deployment(),
            self.scene.service(),
        ]
        self.apply({"apiVersion": "v1", "kind": "List", "items": items})
        self.wait(self.settled, "the target's replicas")

    def put_serving(self, serving: Object | None = None) -> None:
        """Apply the serving."""
        self.apply(serving or self.scene.serving())

    def put(self) -> None:
        """Apply target and serving."""
        self.put_target()
        self.put_serving()

    def apply(self, body: Object, *options: str) -> None:
        """`kubectl apply` with options."""
        self.cluster.kubectl("apply", *options, "-f", "-", input_object=body)

    def edit_serving(self, **spec: Any) -> None:
        """Change fields of the serving's spec."""
        self._patch(f"sps/{self.scene.name}", {"spec": spec})

    def want(self, profile: str, **spec: Any) -> None:
        """Turn the cut-off table so that `profile` is the best one without load."""
        ranges = replace(self.scene, quiet_profile=profile).ranges()
        self.edit_serving(cutoff={"ranges": ranges}, **spec)

    def _patch(self, what: str, change: Object) -> None:
        words = ("patch", what, "-n", self.scene.namespace, "--type=merge", "-p")
        self.cluster.kubectl(*words, json.dumps(change))

    # What people ask.

    def serving(self) -> Object:
        """The serving as it is now."""
        return self._get(f"sps/{self.scene.name}")

    def status(self) -> Object:
        """Its status."""
        status: Object = self.serving().get("status") or {}
        return status

    def condition(self, kind: str) -> tuple[str, str] | None:
        """Status and reason of a condition of the serving; None where it does not stand."""
        found = self.full_condition(kind)
        return None if found is None else (found["status"], found["reason"])

    def full_condition(self, kind: str) -> Object | None:
        """A condition of the serving; None where it does not stand."""
        conditions = self.status().get("conditions") or ()
        return next((each for each in conditions if each["type"] == kind), None)

    def reason(self) -> str | None:
        """Reason of the last decision."""
        reason: str | None = (self.status().get("lastDecision") or {}).get("reason")
        return reason

    def roll(self) -> Object:
        """The latest roll, as the status tells it."""
        roll: Object = self.status().get("rollout") or {}
        return roll

    def target(self) -> Object:
        """The Deployment as it is now."""
        return self._get(f"deployment/{self.scene.name}")

    def owned_by(self, manager: str) -> Object | None:
        """The fields of the target that a field manager owns; None when it owns none."""
        words = (f"deployment/{self.scene.name}", "-n", self.scene.namespace)
        target = self.cluster.kubectl("get", *words, "--show-managed-fields")
        entries = target["metadata"]["managedFields"]
        return next((each["fieldsV1"] for each in entries if each["manager"] == manager), None)

    def settled(self) -> bool:
        """Whether every replica of the target is of the newest template and available."""
        target = self.target()
        status, wanted = target.get("status") or {}, target["spec"]["replicas"]
        counts = ("replicas", "updatedReplicas", "availableReplicas")
        seen = status.get("observedGeneration", 0) >= target["metadata"]["generation"]
        return seen and all(status.get(each, 0) == wanted for each in counts)

    def replica_sets(self) -> list[Object]:
        """The target's ReplicaSets."""
        chosen = ("-n", self.scene.namespace, "-l", f"app.kubernetes.io/name={self.scene.name}")
        items: list[Object] = self.cluster.kubectl("get", "replicasets", *chosen)["items"]
        return items

    def events(self, reason: str | None = None) -> list[Object]:
        """Events about the serving, with that reason."""
        kind = "events.events.k8s.io"
        items = self.cluster.kubectl("get", kind, "-n", self.scene.namespace)["items"]
        return [
            each
            for each in items
            if (each.get("regarding") or {}).get("name") == self.scene.name
            and each["regarding"].get("kind") == "SpeculativeServing"
            and reason in (None, each["reason"])
        ]

    def recoveries(self, kind: str) -> list[str]:
        """Notes of the Events that tell of a condition which is well again."""
        notes = [str(each["note"]) for each in self.events("Recovered")]
        return [note for note in notes if note.startswith(f"{kind}:")]

    # Waiting.

    def wait(
        self,
        done: Callable[[], object],
        what: str,
        *,
        timeout_s: float = DEADLINE_S,
        every_s: float = 0.2,
    ) -> None:
        """Wait until `done()` is true.

        Raises:
            TimeoutError: It did not become true in time, or the operator has ended; the text holds
                the serving's status and the end of the operator's log.
        """

        def come() -> bool:
            if done():
                return True
            if self.operator is not None and self.operator.ended:
                raise TimeoutError(f"{what}: the operator has ended")
            return False

        try:
            wait_until(come, what, timeout_s=timeout_s, every_s=every_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self._story()}") from error

    def wait_condition(self, kind: str, status: str, reason: str) -> None:
        """Wait until a condition stands with this status and reason."""
        wanted = (status, reason)
        self.wait(lambda: self.condition(kind) == wanted, f"{kind} {status} {reason}")

    def wait_reason(self, reason: str) -> None:
        """Wait until the last decision has this reason."""
        self.wait(lambda: self.reason() == reason, f"decision {reason}")

    def wait_rolled(self, profile: str) -> None:
        """Wait until the latest roll was one to `profile`, and has finished."""

        def rolled() -> bool:
            roll = self.roll()
            return roll.get("to") == profile and roll.get("state") == "Finished"

        self.wait(rolled, f"the end of the roll to {profile}")

    def _get(self, what: str) -> Object:
        found: Object = self.cluster.kubectl("get", what, "-n", self.scene.namespace)
        return found

    def _story(self) -> str:
        try:
            told = json.dumps(self.status(), indent=1)
        except ClusterError as error:
            told = str(error)
        return told if self.operator is None else f"{told}\n{self.operator.log_tail()}"
