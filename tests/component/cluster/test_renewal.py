"""Tokens and authorities that are replaced under a running connection are read anew."""

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio.config import incluster_config

from ridgeline.cluster.accounting import watched_session
from ridgeline.cluster.api import KubernetesApi, renewal_of
from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.renewal import LEAST_SECONDS, Renewal
from tests.component.telemetry.certificates import self_signed

PATH = "/api/v1/pods"


@dataclass(kw_only=True)
class Server:
    """An API server with a certificate and one good token.

    Attributes:
        folder: Where `ca.crt` and `token` lie, as a Pod has them.
        tls: Its TLS context.
        token: The token that it takes.
        asked: The token of each request, and its body.
    """

    folder: Path
    tls: ssl.SSLContext
    kubeconfig: Path
    port: int = 0
    token: str = "first"
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        shown = request.headers.get("Authorization", "")
        self.asked.append((shown, (await request.read()).decode()))
        if shown.lower() != f"bearer {self.token}":
            return web.json_response({"code": 401, "message": "who are you?"}, status=401)
        # On a connection of its own, so that the next request looks at the certificate anew.
        return web.json_response({"items": []}, headers={"Connection": "close"})

    def replace_token(self, token: str) -> None:
        self.token = token
        (self.folder / "token").write_text(token)

    def replace_certificate(self) -> None:
        pair = self_signed(self.folder, "second", "IP:127.0.0.1")
        self.tls.load_cert_chain(*pair)
        shutil.copy(pair[0], self.folder / "ca.crt")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    pair = self_signed(tmp_path, "first", "IP:127.0.0.1")
    shutil.copy(pair[0], tmp_path / "ca.crt")
    (tmp_path / "token").write_text("first")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*pair)
    made = Server(folder=tmp_path, tls=tls, kubeconfig=tmp_path / "kubeconfig")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    made.port = runner.addresses[0][1]
    made.kubeconfig.write_text(json.dumps(_kubeconfig(made)))
    yield made
    await runner.cleanup()


def _kubeconfig(server: Server) -> dict[str, object]:
    cluster = {
        "server": f"https://127.0.0.1:{server.port}",
        "certificate-authority": str(server.folder / "ca.crt"),
    }
    return {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"tokenFile": str(server.folder / "token")}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


@pytest.fixture
async def api(server: Server) -> AsyncIterator[KubernetesApi]:
    connection = await KubernetesApi.connect(str(server.kubeconfig), user_agent="test")
    assert await connection.request("GET", PATH) == {"items": []}
    yield connection
    await connection.close()
    await asyncio.sleep(0.05)  # TLS connections need a moment to end


async def test_a_token_that_is_refused_is_read_anew_and_the_call_made_again(
    server: Server, api: KubernetesApi
) -> None:
    server.replace_token("second")
    server.asked.clear()
    assert await api.request("PATCH", PATH, body={"a": 1}) == {"items": []}
    assert server.asked == [("Bearer first", '{"a": 1}'), ("Bearer second", '{"a": 1}')]
    server.asked.clear()
    await api.request("GET", PATH)
    assert server.asked == [("Bearer second", "")]


async def test_many_calls_with_an_old_token_read_it_once(
    server: Server, api: KubernetesApi
) -> None:
    server.replace_token("second")
    answers = await asyncio.gather(*(api.request("GET", PATH) for _ in range(20)))
    assert answers == [{"items": []}] * 20


async def test_a_token_that_is_refused_and_is_still_the_same_is_not_shown_again(
    server: Server, api: KubernetesApi
) -> None:
    server.token = "another"
    server.asked.clear()
    for _ in range(3):
        with pytest.raises(UnavailableError, match="who are you"):
            await api.request("GET", PATH)
    assert server.asked == [("Bearer first", "")] * 3


async def test_another_authority_is_believed_once_the_file_says_so(
    server: Server, api: KubernetesApi
) -> None:
    server.replace_certificate()
    assert await api.request("GET", PATH) == {"items": []}


async def test_an_authority_that_the_file_does_not_have_is_not_believed(
    server: Server, api: KubernetesApi
) -> None:
    server.tls.load_cert_chain(*self_signed(server.folder, "stranger", "IP:127.0.0.1"))
    with pytest.raises(UnavailableError, match="not trusted"):
        await api.request("GET", PATH)


async def test_half_a_file_is_looked_at_again_later(server: Server) -> None:
    configuration = (await KubernetesApi.connect(str(server.kubeconfig), user_agent="t")).client
    now = 0.0
    reads = 0

    async def read() -> object:
        nonlocal reads
        reads += 1
        raise OSError("cut off")

    renewal = Renewal(read, configuration.configuration, now=lambda: now)
    renewal.guard(None)
    for now in (10.0, 10.0 + LEAST_SECONDS / 2, 10.0 + LEAST_SECONDS):
        assert not await renewal._renewed(now)
    assert reads == 2
    await configuration.close()


async def test_watch_streams_believe_another_authority_too(server: Server) -> None:
    context = ssl.create_default_context(cafile=str(server.folder / "ca.crt"))
    renewal = renewal_of(str(server.kubeconfig))
    renewal.guard(context)
    headers = {"Authorization": "Bearer first"}
    url = f"https://127.0.0.1:{server.port}{PATH}"
    async with watched_session(None, ssl=context, headers=headers, around=renewal) as session:
        server.replace_certificate()
        async with session.get(url) as answer:
            assert answer.status == 200
        server.replace_token("second")
        async with session.get(url) as answer:
            assert answer.status == 401  # who made the session makes another
    await asyncio.sleep(0.05)


async def test_a_pods_own_token_and_authority_are_read_anew_too(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reads a Pod's token once a minute, and its authority never."""
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(server.folder / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(server.folder / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    connection = await KubernetesApi.connect(None, user_agent="test")
    assert await connection.request("GET", PATH) == {"items": []}
    server.replace_token("second")
    server.replace_certificate()
    assert await connection.request("GET", PATH) == {"items": []}
    server.asked.clear()
    assert await connection.request("GET", PATH) == {"items": []}
    assert len(server.asked) == 1  # the new token stays in use
    await connection.close()
    await asyncio.sleep(0.05)
