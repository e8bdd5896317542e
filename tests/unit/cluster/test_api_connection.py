"""Connections: credentials as they are found, and servers that answer with anything."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.config import incluster_config

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, RefusedError, UnavailableError

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def kubeconfig(folder: Path, server: str, user: str = "{token: secret-token}") -> str:
    file = folder / "kubeconfig"
    file.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {user}}}]
"""
    )
    return str(file)


@contextlib.asynccontextmanager
async def answering(
    answer: Answer, folder: Path, timeout_seconds: float = 10.0
) -> AsyncIterator[KubernetesApi]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        url = str(server.make_url("")).rstrip("/")
        api = await KubernetesApi.connect(
            kubeconfig(folder, url), user_agent="ridgeline/1", timeout_seconds=timeout_seconds
        )
        try:
            yield api
        finally:
            await api.close()


async def test_the_token_of_a_kubeconfig(tmp_path: Path) -> None:
    found = await KubernetesApi.credentials(kubeconfig(tmp_path, "https://k.example:6443"))

    assert (found.server, found.token) == ("https://k.example:6443", "secret-token")
    assert found.verify
    assert "secret-token" not in repr(found)


async def test_the_token_of_a_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("account-token\n")
    (tmp_path / "ca.crt").write_text("certificate")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))

    found = await KubernetesApi.credentials(None)

    assert (found.server, found.token) == ("https://10.0.0.1:443", "account-token")
    assert found.ca_path == str(tmp_path / "ca.crt")


@pytest.mark.parametrize("missing", ["no file", "no cluster", "nothing at all"])
async def test_no_way_to_connect_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (tmp_path / "broken").write_text("apiVersion: v1\nkind: Config\n")
    given = {
        "no file": str(tmp_path / "nowhere"),
        "no cluster": str(tmp_path / "broken"),
        "nothing at all": None,
    }[missing]

    with pytest.raises(ClusterError, match="cannot connect to Kubernetes"):
        await KubernetesApi.connect(given, user_agent="test")


async def test_a_request_carries_credentials_and_name(tmp_path: Path) -> None:
    seen: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response({"kind": "Pod"})

    async with answering(answer, tmp_path) as api:
        assert await api.request("GET", "/api/v1/x", query={"a": "b c"}) == {"kind": "Pod"}

    assert seen[0].headers["Authorization"] == "Bearer secret-token"
    assert seen[0].headers["User-Agent"] == "ridgeline/1"
    assert seen[0].query == {"a": "b c"}


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
async def test_an_apply_says_who_and_how(tmp_path: Path, force: bool, dry_run: bool) -> None:
    seen: list[tuple[str, dict[str, str], str, object]] = []

    async def answer(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        seen.append((request.method, dict(request.query), request.content_type, body))
        return web.json_response({})

    async with answering(answer, tmp_path) as api:
        await api.apply("/x", {"a": ""}, manager="me", force=force, dry_run=dry_run)

    query = {"fieldManager": "me", "force": str(force).lower()}
    if dry_run:
        query["dryRun"] = "All"
    assert seen == [("PATCH", query, "application/apply-patch+yaml", {"a": ""})]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"null", b'"x"', b"\xff"])
async def test_an_answer_that_is_no_object_is_no_answer(tmp_path: Path, body: bytes) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="text/html")

    async with answering(answer, tmp_path) as api:
        with pytest.raises(UnavailableError, match="GET /x"):
            await api.request("GET", "/x")


async def test_an_empty_answer_is_an_empty_object(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"")

    async with answering(answer, tmp_path) as api:
        assert await api.request("DELETE", "/x") == {}


async def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    done = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        await done.wait()
        return web.Response()

    async with answering(answer, tmp_path, timeout_seconds=0.2) as api:
        with pytest.raises(UnavailableError, match="did not answer GET /x"):
            async with asyncio.timeout(20):
                await api.request("GET", "/x")
        done.set()


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    api = await KubernetesApi.connect(kubeconfig(tmp_path, "http://127.0.0.1:1"), user_agent="test")
    with pytest.raises(UnavailableError, match="did not answer"):
        await api.request("GET", "/x")
    await api.close()


async def test_a_connection_that_breaks_is_told(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"a":')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with answering(answer, tmp_path) as api:
        with pytest.raises(UnavailableError):
            await api.request("GET", "/x")


async def test_pages_follow_the_continue_token(tmp_path: Path) -> None:
    asked: list[dict[str, str]] = []
    pages = {
        None: {"items": [{"n": 1}], "metadata": {"continue": "t1"}},
        "t1": {"items": None, "metadata": {"continue": "t2"}},
        "t2": {"items": [{"n": 2}], "metadata": {}},
    }

    async def answer(request: web.Request) -> web.Response:
        asked.append(dict(request.query))
        return web.json_response(pages[request.query.get("continue")])

    async with answering(answer, tmp_path) as api:
        found = [page async for page in api.pages("/x", page_size=1, query={"labelSelector": "a"})]

    assert found == [[{"n": 1}], [], [{"n": 2}]]
    assert [each["limit"] for each in asked] == ["1", "1", "1"]
    assert [each["labelSelector"] for each in asked] == ["a", "a", "a"]


async def test_a_refusal_in_the_middle_of_a_listing_ends_it(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        if "continue" in request.query:
            return web.json_response({"message": "no"}, status=403)
        return web.json_response({"items": [], "metadata": {"continue": "t"}})

    async with answering(answer, tmp_path) as api:
        with pytest.raises(RefusedError, match="no"):
            async for _ in api.pages("/x", page_size=1):
                pass
