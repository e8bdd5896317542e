"""Puts the fleet of benchmarks/scale.py on an API server.

The first of each kind (a node, a Deployment, a Pod, a serving) is made through the API as users,
controllers and kubelets do. All others are copies of what the API server then had stored, put into
its etcd under names of their own: it reads and tells them as any other object, and thousands are
there within seconds. No kwok is at work, nor any controller: tens of thousands of writes would give
the same objects.
"""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final

import aiohttp

from benchmarks import scale_fleet as fleet
from benchmarks.scale_copies import Models
from benchmarks.scale_fleet import Member, Object
from ridgeline.cluster.api import path_of
from ridgeline.terms.names import API_VERSION, PROFILE_MANAGER, SERVING_PLURAL
from tests.cluster.api import load_api
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.progress import Progress

HANDS: Final = 50
"""Requests under way at a time."""
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
AS_KUBELET: Final = "application/strategic-merge-patch+json"
"""How a kubelet reports."""
_ALREADY_THERE: Final = 409
_SAY_EVERY: Final = 2000


class Hands:
    """Many requests at a time to one API server, as an administrator, told as they go."""

    def __init__(self, server: str, session: aiohttp.ClientSession, progress: Progress) -> None:
        self._server = server
        self._session = session
        self._progress = progress
        self._gate = asyncio.Semaphore(HANDS)

    async def send(
        self, method: str, path: str, body: Object, content: str = "application/json"
    ) -> Object:
        """Send one object; an object that is there already is well.

        Raises:
            ClusterError: The API server refused it.
        """
        headers = {"Content-Type": content}
        async with self._session.request(
            method, f"{self._server}{path}", json=body, headers=headers
        ) as answer:
            told: Object = await answer.json(content_type=None)
            if answer.status >= 400 and not (method == "POST" and answer.status == _ALREADY_THERE):
                raise ClusterError(f"{method} {path}: {answer.status} {told.get('message')}")
            return told

    async def all(self, what: str, jobs: Iterable[Coroutine[Any, Any, object]]) -> None:
        """Do many jobs, `HANDS` at a time."""
        done = 0
        waiting = list(jobs)

        async def one(job: Coroutine[Any, Any, object]) -> None:
            nonlocal done
            async with self._gate:
                await job
            done += 1
            if done % _SAY_EVERY == 0:
                self._progress.say(f"{what}: {done} of {len(waiting)}")

        async with asyncio.TaskGroup() as group:
            for job in waiting:
                group.create_task(one(job))
        self._progress.say(f"{what}: {len(waiting)}")


@asynccontextmanager
async def hands(cluster: Cluster, progress: Progress) -> AsyncIterator[Hands]:
    """Connect as the administrator."""
    api = load_api(cluster.kubeconfig)
    async with aiohttp.ClientSession(
        headers={"Authorization": f"Bearer {api.token}"},
        connector=aiohttp.TCPConnector(ssl=api.context, limit=HANDS),
        timeout=aiohttp.ClientTimeout(total=120),
    ) as session:
        yield Hands(api.server, session, progress)


async def furnish(cluster: Cluster, replicas: int, progress: Progress) -> Models:
    """Make the namespaces of the teams, and the first of each kind."""
    names = [f"team-{number}" for number in range(fleet.TEAMS)]
    first = Member(number=0, replicas=replicas)
    async with hands(cluster, progress) as many:
        await many.all(
            "namespaces",
            (many.send("POST", "/api/v1/namespaces", fleet.namespace(name)) for name in names),
        )
        return Models(
            node=await _put_node(many),
            deployment=await _put_deployment(many, first),
            pod=await _put_pod(many, first),
            serving=await _put_serving(many, first),
        )


async def forget_decisions(cluster: Cluster, known: Sequence[Member], progress: Progress) -> None:
    """Take the status out of servings, as if they had never been looked at."""
    async with hands(cluster, progress) as many:
        await many.all(
            "statuses taken out",
            (
                many.send("PATCH", f"{_serving(each)}/status", {"status": None}, MERGE)
                for each in known
            ),
        )


def reasons(cluster: Cluster) -> dict[str, int]:
    """How many servings have which reason in their last decision."""
    found = Counter[str]()
    for each in cluster.kubectl("get", SERVING_PLURAL, "-A", timeout_s=300)["items"]:
        decision = (each.get("status") or {}).get("lastDecision") or {}
        found[decision.get("reason", "none")] += 1
    return dict(found.most_common())


class Heartbeats:
    """Every node reports now and then, as kubelets do; for as long as the block lasts."""

    def __init__(self, cluster: Cluster, nodes: int, every_seconds: float) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._every = every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._beat()), daemon=True)

    def __enter__(self) -> Heartbeats:
        if self._nodes and self._every:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    async def _beat(self) -> None:
        async with hands(self._cluster, Progress()) as many:
            number = 0
            while not self._ended.is_set():
                now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                path = f"/api/v1/nodes/{fleet.node_name(number % self._nodes)}/status"
                await many.send("PATCH", path, fleet.node_status(now), AS_KUBELET)
                number += 1
                await asyncio.to_thread(self._ended.wait, self._every / self._nodes)


async def _put_node(many: Hands) -> Object:
    path = f"/api/v1/nodes/{fleet.node_name(0)}"
    # As a kubelet registers its node: with a status.
    await many.send("POST", "/api/v1/nodes", {**fleet.node(0), **fleet.node_status()})
    # The API server taints every new node as not ready; a controller takes that back.
    return await many.send("PATCH", path, {"spec": {"taints": None}}, MERGE)


async def _put_deployment(many: Hands, member: Member) -> Object:
    collection = path_of("apps/v1", "deployments", member.namespace)
    path = f"{collection}/{member.name}"
    await many.send("POST", f"{collection}?fieldManager=argocd", fleet.deployment(member))
    query = f"?fieldManager={PROFILE_MANAGER}&force=true"
    live = await many.send("PATCH", f"{path}{query}", fleet.profile(member), APPLY)
    settled = fleet.deployment_status(member, live["metadata"]["generation"])
    return await many.send("PATCH", f"{path}/status", settled, MERGE)


async def _put_pod(many: Hands, member: Member) -> Object:
    # Without the account no Pod is admitted.
    accounts = path_of("v1", "serviceaccounts", member.namespace)
    await many.send("POST", accounts, fleet.service_account(member.namespace))
    collection = path_of("v1", "pods", member.namespace)
    await many.send("POST", collection, fleet.pod(member))
    path = f"{collection}/{member.pods[0]}/status"
    return await many.send("PATCH", path, fleet.pod_status(member), MERGE)


async def _put_serving(many: Hands, member: Member) -> Object:
    collection = path_of(API_VERSION, SERVING_PLURAL, member.namespace)
    return await many.send("POST", collection, fleet.serving(member))


def _serving(member: Member) -> str:
    return path_of(API_VERSION, SERVING_PLURAL, member.namespace, member.name)
