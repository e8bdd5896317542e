"""Paginated listings that prime the watch store and mend what the streams missed."""

import logging
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, Final, TypeVar

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import NotFoundError, RefusedError
from ridgeline.cluster.needed import relist_needed
from ridgeline.cluster.neighbours import trim_autoscaler, trim_quota
from ridgeline.cluster.objects import PodObject, trim_deployment, trim_pod, trim_serving
from ridgeline.cluster.store import Shelf, Stored, WatchStore
from ridgeline.cluster.surroundings import (
    BoundPod,
    Surroundings,
    trim_bound,
    trim_budget,
    trim_node,
    trim_spec,
)
from ridgeline.terms.names import (
    ACCELERATOR_PLURAL,
    API_VERSION,
    POLICY_PLURAL,
    SERVING_PLURAL,
)

log = logging.getLogger(__name__)

PAGE_SIZE: Final = 500

T = TypeVar("T")
S = TypeVar("S", bound=Stored)


async def relist(
    api: KubernetesApi,
    store: WatchStore,
    namespaces: Collection[str],
    surroundings: Surroundings | None = None,
) -> None:
    """List every kind and lay the answer over the store.

    Args:
        api: The API server.
        store: What is mended.
        namespaces: Namespaces to list; empty for all.
        surroundings: What surrounds the targets; kinds that this account may not list, or that
            the API server does not have, stay unprimed there.

    Raises:
        ClusterError: A listing failed; kinds listed before it are laid over already.
    """
    await relist_servings(api, store, namespaces)
    mark = store.deployments.listing_started()
    deployments = [
        each async for each in _listed(api, "apps/v1", "deployments", namespaces, trim_deployment)
    ]
    store.lay_over_deployments(mark, deployments)
    mark = store.pods_listing_started()
    bound_mark = surroundings.bound.listing_started() if surroundings is not None else 0
    pods = [each async for each in _listed(api, "v1", "pods", namespaces, _both)]
    store.lay_over_pods(mark, [pod for pod, _ in pods if pod is not None])
    if surroundings is not None:
        surroundings.lay_over_bound(bound_mark, [each for _, each in pods if each is not None])
        await _relist_surroundings(api, surroundings, namespaces)
        await relist_needed(api, store, surroundings, namespaces)


async def relist_servings(
    api: KubernetesApi, store: WatchStore, namespaces: Collection[str]
) -> None:
    """List the servings alone, with what their statuses tell of the rolls under way.

    Raises:
        ClusterError: The listing failed.
    """
    mark = store.servings.listing_started()
    servings = [
        each async for each in _listed(api, API_VERSION, SERVING_PLURAL, namespaces, trim_serving)
    ]
    store.lay_over_servings(mark, servings)


async def list_within_reach(
    api: KubernetesApi, store: WatchStore, namespace: str, surroundings: Surroundings
) -> tuple[str, ...]:
    """List every kind of a namespace for a person, whatever of it their rights reach.

    Args:
        api: The API server, with the person's credentials.
        store: Where servings, Deployments and Pods are kept; what is out of reach stays empty.
        namespace: The namespace.
        surroundings: What surrounds the targets; what is out of reach stays unprimed.

    Returns:
        Plural names of the kinds that are out of reach, from the most important on.

    Raises:
        ClusterError: The API server does not answer, or answers what is no listing.
    """
    where = (namespace,)
    missing = []
    servings = await _readable(api, API_VERSION, SERVING_PLURAL, where, trim_serving)
    store.lay_over_servings(store.servings.listing_started(), servings or ())
    deployments = await _readable(api, "apps/v1", "deployments", where, trim_deployment)
    store.lay_over_deployments(store.deployments.listing_started(), deployments or ())
    pods = await _readable(api, "v1", "pods", where, _both)
    store.lay_over_pods(
        store.pods_listing_started(), [pod for pod, _ in pods or () if pod is not None]
    )
    surroundings.lay_over_bound(
        surroundings.bound.listing_started(), [each for _, each in pods or () if each is not None]
    )
    missing += [
        kind
        for kind, listed in (
            ("deployments", deployments),
            ("pods", pods),
            (SERVING_PLURAL, servings),
        )
        if listed is None
    ]
    await _relist_surroundings(api, surroundings, where)
    await relist_needed(api, store, surroundings, where)
    shelves: tuple[tuple[str, Shelf[Any]], ...] = (
        (POLICY_PLURAL, surroundings.policies),
        ("nodes", surroundings.nodes),
        (ACCELERATOR_PLURAL, surroundings.accelerators),
        ("poddisruptionbudgets", surroundings.budgets),
        ("resourcequotas", surroundings.quotas),
        ("horizontalpodautoscalers", surroundings.autoscalers),
    )
    return (*missing, *(kind for kind, shelf in shelves if not shelf.primed))


async def _relist_surroundings(
    api: KubernetesApi, around: Surroundings, namespaces: Collection[str]
) -> None:
    mark = around.policies.listing_started()
    policies = await _readable(api, API_VERSION, POLICY_PLURAL, namespaces, trim_spec)
    around.lay_over_policies(mark, policies or ())
    around.policies.primed = policies is not None
    await _lay_over(api, around.nodes, "v1", "nodes", (), trim_node)
    # To forget what was measured on these GPUs, for a right that is missing for a moment, would
    # move cut-offs, and roll.
    await _lay_over(
        api, around.accelerators, API_VERSION, ACCELERATOR_PLURAL, (), trim_spec, keep=True
    )
    await _lay_over(
        api, around.budgets, "policy/v1", "poddisruptionbudgets", namespaces, trim_budget
    )
    await _lay_over(api, around.quotas, "v1", "resourcequotas", namespaces, trim_quota)
    await _lay_over(
        api,
        around.autoscalers,
        "autoscaling/v2",
        "horizontalpodautoscalers",
        namespaces,
        trim_autoscaler,
    )


async def _lay_over(
    api: KubernetesApi,
    shelf: Shelf[S],
    group_version: str,
    plural: str,
    namespaces: Collection[str],
    trim: Callable[[dict[str, Any]], S],
    *,
    keep: bool = False,
) -> None:
    """List a kind and lay it over; what is out of reach is forgotten, unless it is to be kept."""
    mark = shelf.listing_started()
    listed = await _readable(api, group_version, plural, namespaces, trim)
    if listed is not None or not keep:
        shelf.lay_over(mark, listed or ())
    shelf.primed = listed is not None


async def _readable(
    api: KubernetesApi,
    group_version: str,
    plural: str,
    namespaces: Collection[str],
    trim: Callable[[dict[str, Any]], T],
) -> list[T] | None:
    """List a kind that one may have to do without; `None` when it is out of reach."""
    try:
        return [each async for each in _listed(api, group_version, plural, namespaces, trim)]
    except (RefusedError, NotFoundError) as error:
        log.info("%s are out of reach: %s", plural, error)
        return None


def _both(body: dict[str, Any]) -> tuple[PodObject | None, BoundPod | None]:
    return trim_pod(body), trim_bound(body)


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
