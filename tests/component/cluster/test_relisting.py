"""Listings of a real API server, laid over the watch store."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from ridgeline.cluster import listing
from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.listing import relist
from ridgeline.cluster.objects import trim_deployment
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.target import TargetApi
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import create, deployment, path, settled, until

pytestmark = pytest.mark.usefixtures("crds")


class Listening(KubernetesApi):
    """A connection that remembers its listings and lets a test act between two pages."""

    pages_read: list[tuple[str, int]]
    between: Any = None

    async def pages(
        self, path: str, *, page_size: int, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[list[dict[str, Any]]]:
        async for page in super().pages(path, page_size=page_size, query=query):
            self.pages_read.append((path, len(page)))
            if self.between is not None:
                await self.between(path, page)
            yield page


@pytest.fixture
async def listening(
    control_plane: Cluster, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Listening]:
    monkeypatch.setattr(listing, "PAGE_SIZE", 2)
    api = await Listening.connect(str(control_plane.kubeconfig), user_agent="test")
    assert isinstance(api, Listening)
    api.pages_read = []
    yield api
    await api.close()


async def some(api: KubernetesApi, room: str, name: str, count: int = 5) -> list[str]:
    names = [f"{name}-{index}" for index in range(count)]
    for each in names:
        await create(api, deployment(room, each))
    await asyncio.gather(*(settled(api, room, each) for each in names))
    return names


async def test_a_listing_of_several_pages_primes_the_store(
    listening: Listening, room: str, name: str
) -> None:
    names = await some(listening, room, name)
    assert not WatchStore().primed
    store = WatchStore()

    await relist(listening, store, [room])

    assert store.primed
    for each in names:
        live = await TargetApi(listening).read(room, each)
        assert store.deployments.get((room, each)) == live
    sizes = [size for path, size in listening.pages_read if path.endswith("/deployments")]
    assert len(sizes) >= 3
    assert max(sizes) == 2


async def test_only_the_namespaces_asked_for_are_listed(
    listening: Listening, room: str, name: str
) -> None:
    await some(listening, room, name, count=1)
    store = WatchStore()

    await relist(listening, store, ["kube-system", room])

    assert {each.namespace for each in store.deployments.all()} == {room}
    listed = {path for path, _ in listening.pages_read}
    assert all("/namespaces/" in path for path in listed)
    assert len(listed) == 6  # three kinds in two namespaces

    everything = WatchStore()
    await relist(listening, everything, [])
    assert everything.deployments.get((room, f"{name}-0")) is not None


async def test_a_listing_mends_what_the_streams_missed(
    listening: Listening, room: str, name: str
) -> None:
    names = await some(listening, room, name)
    store = WatchStore()
    await relist(listening, store, [room])
    told: list[tuple[str, str, str]] = []
    store.listen(lambda *change: told.append(change))

    await listening.request("DELETE", path(room, names[0]))
    await _gone(listening, room, names[0])
    scaled = {"spec": {"paused": True}}
    await listening.request(
        "PATCH",
        path(room, names[1]),
        body=scaled,
        content_type="application/merge-patch+json",
    )
    await settled(listening, room, names[1])
    await relist(listening, store, [room])

    assert store.deployments.get((room, names[0])) is None
    changed = store.deployments.get((room, names[1]))
    assert changed is not None
    assert changed.paused
    assert {each[2] for each in told if each[0] == "Deployment"} == set(names[:2])


async def test_what_a_stream_tells_during_a_listing_wins(
    listening: Listening, room: str, name: str
) -> None:
    names = await some(listening, room, name)
    store = WatchStore()
    await relist(listening, store, [room])
    acted = False

    async def between(listed: str, page: list[dict[str, Any]]) -> None:
        nonlocal acted
        if acted or not listed.endswith("/deployments"):
            return
        acted = True
        gone, moved, new = names[3], names[4], f"{name}-new"
        body = await listening.request("GET", path(room, gone))
        await listening.request("DELETE", path(room, gone))
        store.drop_deployment((room, gone), body["metadata"]["uid"])
        patched = await listening.request(
            "PATCH",
            path(room, moved),
            body={"spec": {"paused": True}},
            content_type="application/merge-patch+json",
        )
        store.put_deployment(trim_deployment(patched))
        await create(listening, deployment(room, new))
        store.put_deployment(await TargetApi(listening).read(room, new))

    listening.between = between
    await relist(listening, store, [room])

    assert acted
    assert store.deployments.get((room, names[3])) is None
    moved = store.deployments.get((room, names[4]))
    assert moved is not None
    assert moved.paused
    assert store.deployments.get((room, f"{name}-new")) is not None


async def test_a_listing_that_fails_changes_nothing_of_its_kind(
    listening: Listening, room: str, name: str
) -> None:
    await some(listening, room, name)
    store = WatchStore()
    await relist(listening, store, [room])
    before = {each.name: each for each in store.deployments.all()}

    async def between(listed: str, page: list[dict[str, Any]]) -> None:
        if listed.endswith("/deployments"):
            raise UnavailableError("gone for a moment")

    listening.between = between
    with pytest.raises(UnavailableError):
        await relist(listening, store, [room])

    assert {each.name: each for each in store.deployments.all()} == before


async def _gone(api: KubernetesApi, room: str, name: str) -> None:
    async def gone() -> bool:
        answer = await api.request(
            "GET",
            path_of("apps/v1", "deployments", room),
            query={"fieldSelector": f"metadata.name={name}"},
        )
        return not answer["items"]

    await until(gone, f"Deployment {name} is gone")
