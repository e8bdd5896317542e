"""Paginated listings that prime the watch store and mend what the streams missed."""

from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, Final, TypeVar

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.objects import trim_deployment, trim_pod, trim_serving
from ridgeline.cluster.store import WatchStore
from ridgeline.terms.names import API_VERSION, SERVING_PLURAL

PAGE_SIZE: Final = 500

T = TypeVar("T")


async def relist(api: KubernetesApi, store: WatchStore, namespaces: Collection[str]) -> None:
    """List every kind and lay the answer over the store.

    Args:
        api: The API server.
        store: What is mended.
        namespaces: Namespaces to list; empty for all.

    Raises:
        ClusterError: A listing failed; kinds listed before it are laid over already.
    """
    mark = store.servings.listing_started()
    servings = [
        each async for each in _listed(api, API_VERSION, SERVING_PLURAL, namespaces, trim_serving)
    ]
    store.lay_over_servings(mark, servings)
    mark = store.deployments.listing_started()
    deployments = [
        each async for each in _listed(api, "apps/v1", "deployments", namespaces, trim_deployment)
    ]
    store.lay_over_deployments(mark, deployments)
    mark = store.pods_listing_started()
    pods = [each async for each in _listed(api, "v1", "pods", namespaces, trim_pod)]
    store.lay_over_pods(mark, [pod for pod in pods if pod is not None])


async def _listed(
    api: KubernetesApi,
    group_version: str,
    plural: str,
    namespaces: Collection[str],
    trim: Callable[[dict[str, Any]], T],
) -> AsyncIterator[T]:
    for namespace in namespaces or (None,):
        path = path_of(group_version, plural, namespace)
        async for page in api.pages(path, page_size=PAGE_SIZE):
            for item in page:
                yield trim(item)
