"""Kinds that are read only while a target needs them: claimed devices, and PodGroups.

Most clusters have neither, and where they do they may be many. Devices belong to the cluster: in
namespaced mode nothing of them is read, and what is not known is not counted.
"""

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from typing import Any, Final

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.devices import (
    API_VERSIONS,
    CLAIMS,
    CLASSES,
    SLICES,
    TEMPLATES,
    Devices,
    trim_claim,
    trim_class,
    trim_slice,
    trim_template,
)
from ridgeline.cluster.errors import NotFoundError, RefusedError
from ridgeline.cluster.gangs import POD_GROUP_VERSIONS, POD_GROUPS, trim_pod_group
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.store import Shelf, WatchStore
from ridgeline.cluster.surroundings import Surroundings

log = logging.getLogger(__name__)

PAGE_SIZE: Final = 500

NeededKind = tuple[str, str, Callable[[dict[str, Any]], Any], Shelf[Any]]
"""Group and version, plural name, how it is trimmed, where it is kept."""


async def relist_needed(
    api: KubernetesApi, store: WatchStore, around: Surroundings, namespaces: Collection[str]
) -> None:
    """List the kinds that some target needs, and forget those that none does.

    Args:
        api: The API server.
        store: The servings and their targets.
        around: What is mended.
        namespaces: Namespaces to list PodGroups of; empty for all.

    Raises:
        ClusterError: A listing failed; without the right or the kind it is out of reach instead.
    """
    targets = list(_targets(store))
    if around.sees_all_pods and any(each.shape.needs.claims for each in targets):
        await _relist_devices(api, around.devices)
    else:
        around.devices.forget()
    groups = {each.shape.gang.group for each in targets if each.shape.gang is not None}
    for group in POD_GROUP_VERSIONS:
        if group in groups:
            await _lay_over(api, _pod_groups(around, group), namespaces)
        else:
            around.pod_groups[group].clear()


def needed_kinds(around: Surroundings) -> Iterator[NeededKind]:
    """Return the kinds that are read now: those to be watched."""
    if around.devices.readable:
        yield from _device_kinds(around.devices, around.devices.group_version)
    for group, shelf in around.pod_groups.items():
        if shelf.primed:
            yield _pod_groups(around, group)


def _targets(store: WatchStore) -> Iterator[DeploymentObject]:
    for serving in store.servings.all():
        name = (serving.spec.get("targetRef") or {}).get("name")
        found = store.deployments.get((serving.namespace, str(name)))
        if found is not None:
            yield found


async def _relist_devices(api: KubernetesApi, devices: Devices) -> None:
    """List all that tells of claimed devices, by the newest version that the server has."""
    versions = (devices.group_version,) if devices.group_version else API_VERSIONS
    for version in versions:
        if await _lay_over_all(api, _device_kinds(devices, version)):
            devices.group_version = version
            return
    devices.forget()


async def _lay_over_all(api: KubernetesApi, kinds: Iterator[NeededKind]) -> bool:
    """Lay listings over several kinds; tell whether every one could be listed."""
    for kind in kinds:
        if not await _lay_over(api, kind):
            return False
    return True


async def _lay_over(api: KubernetesApi, kind: NeededKind, namespaces: Collection[str] = ()) -> bool:
    group_version, plural, trim, shelf = kind
    mark = shelf.listing_started()
    paths = [path_of(group_version, plural, each) for each in namespaces or (None,)]
    try:
        found = [trim(item) for path in paths async for item in _items(api, path)]
    except (RefusedError, NotFoundError) as error:
        log.info("%s of %s are out of reach: %s", plural, group_version, error)
        shelf.clear()
        return False
    shelf.lay_over(mark, found)
    return True


async def _items(api: KubernetesApi, path: str) -> AsyncIterator[dict[str, Any]]:
    async for page in api.pages(path, page_size=PAGE_SIZE):
        for item in page:
            yield item


def _device_kinds(devices: Devices, group_version: str) -> Iterator[NeededKind]:
    yield group_version, CLASSES, trim_class, devices.classes
    yield group_version, TEMPLATES, trim_template, devices.templates
    yield group_version, SLICES, trim_slice, devices.slices
    yield group_version, CLAIMS, trim_claim, devices.claims


def _pod_groups(around: Surroundings, group: str) -> NeededKind:
    return POD_GROUP_VERSIONS[group], POD_GROUPS, trim_pod_group, around.pod_groups[group]
