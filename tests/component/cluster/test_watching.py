"""Watch streams of a real API server into the store, and what they leave on the objects."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import kopf
import pytest

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.target import TargetApi
from ridgeline.controller.handlers import scope_of, watch_registry, watch_settings
from ridgeline.terms.names import API_VERSION, SERVING_PLURAL
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import (
    EAGLE,
    create,
    deployment,
    give,
    path,
    serving,
    settled,
    until,
)

pytestmark = pytest.mark.usefixtures("crds")


@contextlib.asynccontextmanager
async def watched(cluster: Cluster, room: str) -> AsyncIterator[WatchStore]:
    """Watch one namespace with the operator's own handlers and settings."""
    store, stop = WatchStore(), asyncio.Event()
    task = asyncio.create_task(
        kopf.operator(
            registry=watch_registry(store, str(cluster.kubeconfig)),
            settings=watch_settings(),
            standalone=True,
            stop_flag=stop,
            **scope_of([room]),
        )
    )
    try:
        yield store
    finally:
        stop.set()
        await asyncio.wait_for(task, 15)


async def test_the_store_follows_and_the_objects_stay_untouched(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str
) -> None:
    servings = path_of(API_VERSION, SERVING_PLURAL, room)
    made = await api.request("POST", servings, body=serving(room, name))
    await create(api, deployment(room, name, replicas=2))
    before = await settled(api, room, name)

    async with watched(control_plane, room) as store:

        async def filled() -> bool:
            known = store.deployments.get((room, name)) and store.servings.get((room, name))
            return known is not None and len(store.pods_of(room, name)) == 2

        await until(filled, "the store is filled")
        assert store.deployments.get((room, name)) == await TargetApi(api).read(room, name)

        await give(api, room, name, "eagle2", EAGLE)

        async def followed() -> bool:
            known = store.deployments.get((room, name))
            labels = {each.profile for each in store.pods_of(room, name)}
            return known is not None and known.template_profile == "eagle2" and "eagle2" in labels

        await until(followed, "the store follows our write")

        await api.request("DELETE", f"{servings}/{name}")
        await api.request(
            "DELETE",
            path(room, name),
            body={"propagationPolicy": "Foreground"},
        )

        async def emptied() -> bool:
            known = store.deployments.get((room, name)) or store.servings.get((room, name))
            return known is None and not store.pods_of(room, name)

        # Nothing but a finalizer could keep the serving: it goes at once.
        await until(emptied, "the store follows the deletions")
        kept = await api.request("GET", servings)
        assert kept["items"] == []
    assert made["metadata"].get("finalizers") is None
    assert before["metadata"].get("finalizers") is None


async def test_watching_writes_nothing(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str
) -> None:
    made = await api.request(
        "POST", path_of(API_VERSION, SERVING_PLURAL, room), body=serving(room, name)
    )
    await create(api, deployment(room, name, replicas=1))
    before = await settled(api, room, name)
    pods = path_of("v1", "pods", room)
    selector = {"labelSelector": f"app={name}"}
    pod_before = (await api.request("GET", pods, query=selector))["items"][0]

    async with watched(control_plane, room) as store:

        async def filled() -> bool:
            return bool(store.servings.get((room, name)) and store.pods_of(room, name))

        await until(filled, "the store is filled")
        await asyncio.sleep(1.0)

    where = path_of(API_VERSION, SERVING_PLURAL, room, name)
    assert await api.request("GET", where) == made
    assert await api.request("GET", path(room, name)) == before
    pod = (await api.request("GET", pods, query=selector))["items"][0]
    assert pod["metadata"].get("annotations") == pod_before["metadata"].get("annotations")
    assert pod["metadata"].get("finalizers") == pod_before["metadata"].get("finalizers")
