"""Every call to the Kubernetes API and every sign of life of a watch is told, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration
from yarl import URL

from ridgeline.cluster.accounting import Accounting, call_of, watched_session
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError

SERVINGS = "/apis/ridgeline.dev/v1alpha1/namespaces/a/speculativeservings"


@dataclass(slots=True)
class Notes:
    """An observer that writes everything down."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)
    signs: list[tuple[str, str]] = field(default_factory=list)

    def called(self, verb: str, resource: str, code: str) -> None:
        self.calls.append((verb, resource, code))

    def heard(self, resource: str, scope: str) -> None:
        self.signs.append((resource, scope))


@dataclass(slots=True)
class Server:
    """An API server that answers as it is told, and streams what it is given."""

    address: str
    answers: dict[str, int]
    lines: asyncio.Queue[bytes | None]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    answers: dict[str, int] = {}
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            stream = web.StreamResponse()
            await stream.prepare(request)
            while (line := await lines.get()) is not None:
                await stream.write(line)
            return stream
        status = answers.get(request.path, 200)
        if status == 0:
            assert request.transport is not None
            request.transport.close()
        return web.json_response({}, status=status or 200)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield Server(f"http://{host}:{port}", answers, lines)
    lines.put_nowait(None)
    await runner.cleanup()


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods?limit=500", ("list", "pods", "*")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "pods", "a")),
        ("GET", "/api/v1/pods?watch=true", ("watch", "pods", "*")),
        ("GET", "/apis/apps/v1/namespaces/a/deployments/x", ("get", "deployments", "a")),
        ("PATCH", f"{SERVINGS}/x/status", ("patch", "speculativeservings/status", "a")),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", ("create", "events", "a")),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/x",
            ("update", "leases", "a"),
        ),
        ("DELETE", "/api/v1/nodes/x", ("delete", "nodes", "*")),
        ("GET", "/version", ("get", "other", "*")),
        ("GET", "/apis", ("get", "other", "*")),
        ("GET", "/", ("get", "other", "*")),
    ],
)
def test_a_path_says_verb_resource_and_scope_and_never_a_name(
    method: str, path: str, expected: tuple[str, str, str]
) -> None:
    assert call_of(method, URL(f"http://h{path}")) == expected


async def connected(server: Server, notes: Notes, timeout_seconds: float = 5.0) -> KubernetesApi:
    configuration = Configuration(host=server.address)
    configuration.client_session_kwargs = {"middlewares": (Accounting(notes),)}
    return KubernetesApi(ApiClient(configuration=configuration), timeout_seconds)


async def test_calls_are_told_with_how_they_ended(server: Server) -> None:
    notes = Notes()
    api = await connected(server, notes)
    path = f"{SERVINGS}/x"
    try:
        for status in (200, 409, 429, 503, 0):
            server.answers[path] = status
            try:
                await api.request("PATCH", path, body={})
            except ClusterError:
                assert status != 200
    finally:
        await api.close()
    assert [code for _, _, code in notes.calls] == ["200", "409", "429", "503", "none"]
    assert {call[:2] for call in notes.calls} == {("patch", "speculativeservings")}


async def test_a_call_that_is_given_up_has_no_answer(server: Server) -> None:
    notes = Notes()
    api = await connected(server, notes, timeout_seconds=0.05)
    try:
        with pytest.raises(ClusterError):
            # Nobody ever ends this stream.
            await api.request("GET", "/api/v1/pods", query={"watch": "true"})
    finally:
        await api.close()
    assert notes.calls[-1][0] == "watch"


async def test_the_way_that_a_kubeconfig_gives_is_told_too(
    server: Server, tmp_path: object
) -> None:
    notes = Notes()
    file = f"{tmp_path}/kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.address}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    with open(file, "w") as handle:  # noqa: ASYNC230
        json.dump(config, handle)
    api = await KubernetesApi.connect(file, user_agent="test", observer=notes)
    try:
        await api.request("GET", "/api/v1/nodes")
    finally:
        await api.close()
    assert notes.calls == [("list", "nodes", "200")]


async def test_each_part_of_a_stream_is_a_sign_of_life(server: Server) -> None:
    notes = Notes()
    session = watched_session(notes, ssl=False, headers={"Authorization": "Bearer t"})
    try:
        async with session.get(f"{server.address}/api/v1/namespaces/a/pods?watch=true") as stream:
            assert notes.calls == [("watch", "pods", "200")]
            assert notes.signs == [("pods", "a")]
            chunks = stream.content.iter_chunked(1024)
            for line in (b'{"type": "BOOKMARK"}\n', b'{"type": "ADDED"}\n'):
                server.lines.put_nowait(line)
                assert await anext(aiter(chunks)) == line
            assert notes.signs == [("pods", "a")] * 3
            server.lines.put_nowait(None)
    finally:
        await session.close()


async def test_a_refused_watch_is_no_sign_of_life(server: Server) -> None:
    notes = Notes()

    async def refused(_: aiohttp.ClientRequest) -> aiohttp.ClientResponse:
        raise aiohttp.ClientConnectionError

    request = type("Request", (), {"method": "GET", "url": URL("http://h/api/v1/pods?watch=1")})()
    with pytest.raises(aiohttp.ClientConnectionError):
        await Accounting(notes)(request, refused)
    assert notes.calls == [("watch", "pods", "none")]
    assert notes.signs == []
