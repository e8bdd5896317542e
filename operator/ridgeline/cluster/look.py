"""Reading servings and their Events for a person, who may only look."""

from typing import Any

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.objects import ServingObject, trim_serving
from ridgeline.terms.names import API_VERSION, SERVING_PLURAL


class LookApi:
    """Reads servings, on behalf of whoever's credentials the connection has."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def serving(self, namespace: str, name: str) -> ServingObject:
        """Read one serving.

        Raises:
            NotFoundError: It does not exist.
            ClusterError: Another failure, see `errors`.
        """
        return trim_serving(await self.serving_body(namespace, name))

    async def serving_body(self, namespace: str, name: str) -> dict[str, Any]:
        """Read one serving as the API server has it, its metadata too.

        Raises:
            NotFoundError: It does not exist.
            ClusterError: Another failure, see `errors`.
        """
        path = path_of(API_VERSION, SERVING_PLURAL, namespace, name)
        return await self._api.request("GET", path)

    async def servings(self, namespace: str | None) -> tuple[ServingObject, ...]:
        """Read the servings of a namespace (`None`: of all), by namespace and name.

        Raises:
            ClusterError: See `errors`.
        """
        path = path_of(API_VERSION, SERVING_PLURAL, namespace)
        found = [
            trim_serving(body)
            async for page in self._api.pages(path, page_size=500)
            for body in page
        ]
        return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))

    async def events(self, serving: ServingObject) -> tuple[dict[str, Any], ...]:
        """Read the Events of a serving, from the oldest to the newest.

        Raises:
            ClusterError: See `errors`.
        """
        path = path_of("events.k8s.io/v1", "events", serving.namespace)
        query = {"fieldSelector": f"regarding.uid={serving.uid}"}
        found = [
            event
            async for page in self._api.pages(path, page_size=500, query=query)
            for event in page
        ]
        return tuple(sorted(found, key=lambda each: str(each.get("eventTime") or "")))
