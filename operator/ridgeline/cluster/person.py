"""What a person does to a serving by hand: the order of a profile, suspend, resume.

Each is a merge patch of one field, under a field manager of its own, with the person's rights.
"""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.objects import ServingObject, trim_serving
from ridgeline.terms.names import API_VERSION, FORCE_ANNOTATION, SERVING_PLURAL

MANAGER: Final = "kubectl-ridgeline"
_MERGE: Final = "application/merge-patch+json"


class PersonApi:
    """Changes servings on behalf of whoever's credentials the connection has."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def order(self, serving: ServingObject, profile: str | None) -> ServingObject:
        """Order a profile by the force annotation, or take the order back (`None`).

        Raises:
            ClusterError: See `errors`.
        """
        return await self._patch(
            serving, {"metadata": {"annotations": {FORCE_ANNOTATION: profile}}}
        )

    async def suspend(self, serving: ServingObject, *, suspended: bool) -> ServingObject:
        """Set `spec.suspend`.

        Raises:
            ClusterError: See `errors`.
        """
        return await self._patch(serving, {"spec": {"suspend": suspended}})

    async def _patch(self, serving: ServingObject, change: Mapping[str, Any]) -> ServingObject:
        path = path_of(API_VERSION, SERVING_PLURAL, serving.namespace, serving.name)
        body = {
            **change,
            "metadata": {**change.get("metadata", {}), "uid": serving.uid},
        }
        answer = await self._api.request(
            "PATCH",
            path,
            query={"fieldManager": MANAGER},
            body=body,
            content_type=_MERGE,
        )
        return trim_serving(answer)
