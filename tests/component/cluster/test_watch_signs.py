"""What the operator's own watch streams tell of themselves, against a real API server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import kopf
import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.store import WatchStore
from ridgeline.controller.handlers import scope_of, watch_registry, watch_settings
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import create, deployment, until

pytestmark = pytest.mark.usefixtures("crds")

WATCHED = ("speculativeservings", "deployments", "pods")


@dataclass(slots=True)
class Notes:
    """An observer that writes everything down."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)
    signs: list[tuple[str, str]] = field(default_factory=list)

    def called(self, verb: str, resource: str, code: str) -> None:
        self.calls.append((verb, resource, code))

    def heard(self, resource: str, scope: str) -> None:
        self.signs.append((resource, scope))


async def test_every_stream_is_told_and_every_change_is_a_sign_of_life(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str
) -> None:
    notes, store, stop = Notes(), WatchStore(), asyncio.Event()
    task = asyncio.create_task(
        kopf.operator(
            registry=watch_registry(store, str(control_plane.kubeconfig), None, notes),
            settings=watch_settings(),
            standalone=True,
            stop_flag=stop,
            **scope_of([room]),
        )
    )
    try:

        async def watching() -> bool:
            return set(WATCHED) <= {resource for resource, scope in notes.signs if scope == room}

        await until(watching, "every stream has begun")
        for resource in WATCHED:
            assert ("list", resource, "200") in notes.calls
            assert ("watch", resource, "200") in notes.calls
        before = notes.signs.count(("deployments", room))
        await create(api, deployment(room, name, replicas=0))

        async def heard() -> bool:
            return notes.signs.count(("deployments", room)) > before

        await until(heard, "a change was heard")

        async def known() -> bool:
            return store.deployments.get((room, name)) is not None

        await until(known, "the store has it")
    finally:
        stop.set()
        await asyncio.wait_for(task, 15)
    assert not [each for each in notes.calls if each[2] not in ("200", "none")]
