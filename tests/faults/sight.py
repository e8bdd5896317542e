"""What stands on the cluster: serving, Deployment and Pods of each roll, read at one stroke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.cluster.api import Api

Object = dict[str, Any]

PROFILE_LABEL = "ridgeline.dev/profile"
_NAME_LABEL = "app.kubernetes.io/name"


@dataclass(frozen=True, kw_only=True)
class Sight:
    """One serving and its target.

    Attributes:
        serving: The serving.
        target: The Deployment, with managedFields.
        pods: Its Pods that are not being deleted.
    """

    serving: Object
    target: Object
    pods: tuple[Object, ...]

    @property
    def status(self) -> Object:
        """The serving's status."""
        status: Object = self.serving.get("status") or {}
        return status

    @property
    def state(self) -> str:
        """State of the latest roll; empty before the first."""
        return str((self.status.get("rollout") or {}).get("state", ""))

    @property
    def reason(self) -> str:
        """Why the latest roll ended as it did; empty where it simply went on."""
        return str((self.status.get("rollout") or {}).get("reason", ""))

    @property
    def decision(self) -> str:
        """Reason of the last decision."""
        return str((self.status.get("lastDecision") or {}).get("reason", ""))

    @property
    def wanted(self) -> int:
        """Replicas that the Deployment asks for."""
        return int(self.target["spec"]["replicas"])

    @property
    def paused(self) -> bool:
        """Whether the Deployment is paused."""
        return bool(self.target["spec"].get("paused"))

    @property
    def updated(self) -> int:
        """Replicas of the newest template."""
        return int((self.target.get("status") or {}).get("updatedReplicas", 0))

    @property
    def serving_pods(self) -> tuple[Object, ...]:
        """Pods that are Ready."""
        return tuple(each for each in self.pods if _ready(each))

    @property
    def pending_pods(self) -> tuple[Object, ...]:
        """Pods that have found no node, or do not run yet."""
        return tuple(each for each in self.pods if each["status"].get("phase") == "Pending")

    @property
    def profiles(self) -> tuple[str, ...]:
        """Profiles of the Pods that stay; the empty one is the template as it was before."""
        labels = (each["metadata"].get("labels") or {} for each in self.pods)
        return tuple(sorted({str(each.get(PROFILE_LABEL, "")) for each in labels}))

    @property
    def settled(self) -> bool:
        """Whether every replica of the Deployment is of its newest template and available."""
        status = self.target.get("status") or {}
        counts = ("replicas", "updatedReplicas", "availableReplicas")
        seen = status.get("observedGeneration", 0) >= self.target["metadata"]["generation"]
        return seen and all(status.get(each, 0) == self.wanted for each in counts)


def look(api: Api, namespace: str) -> dict[str, Sight]:
    """Return what stands in a namespace, by the name of the Deployment.

    Raises:
        OSError: The API server cannot be reached.
        ClusterError: It refused.
    """
    servings = _list(
        api, f"/apis/ridgeline.dev/v1alpha1/namespaces/{namespace}/speculativeservings"
    )
    targets = _list(api, f"/apis/apps/v1/namespaces/{namespace}/deployments")
    pods = _list(api, f"/api/v1/namespaces/{namespace}/pods")
    staying = [each for each in pods if "deletionTimestamp" not in each["metadata"]]
    known = {each["metadata"]["name"]: each for each in servings}
    return {
        name: Sight(
            serving=known.get(name, {}),
            target=target,
            pods=tuple(each for each in staying if each["metadata"]["labels"][_NAME_LABEL] == name),
        )
        for target in targets
        for name in (target["metadata"]["name"],)
    }


def _list(api: Api, path: str) -> list[Object]:
    answer = api.call("GET", path)
    items: list[Object] = answer["items"]
    return items


def _ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
