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

from ridgeline.cluster.api import KubernetesApi, address_of
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


async def test_without_any_credentials_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(
        ClusterError, match=r"cannot connect to Kubernetes: there is no kubec.*KUBE"
    ):
        await KubernetesApi.connect(None, user_agent="test")


_CONTEXT = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such file"),
        (b"", "it is empty"),
        (b"- a", "it is no kubeconfig: a kubeconfig is a mapping with"),
        (b"hush", "it is no kubeconfig: a kubeconfig is a mapping with"),
        (b"a: b\nc: [hush", "it is not YAML, see line 2"),
        (b"a: 2026-13-41", "it is not YAML"),
        (b"\xff\xfe\x00", "it is no UTF-8 text"),
        (b"kind: Config", "expected key current-context"),
        (b"clusters: 3", "its clusters are no list of objects"),
        (b"users: [hush]", "its users are no list of objects"),
        (_CONTEXT.encode(), "expected object with name k"),
        (
            f"{_CONTEXT}clusters: [{{name: k, cluster: {{server: 5}}}}]".encode(),
            "a field of its current context",
        ),
        (
            f"{_CONTEXT}clusters: [{{name: k, cluster: {{server: 'https://k', "
            "certificate-authority: /no/such/ca}}]\n"
            "users: [{name: u, user: {token: hush}}]".encode(),
            "a file that it names, /no/such/ca, is not there",
        ),
        # The client's own words quote such a user as a whole.
        (
            f"{_CONTEXT}clusters: [{{name: k, cluster: {{server: 'https://k'}}}}]\n"
            "users: [{name: u, token: hush}]".encode(),
            "expected key user",
        ),
    ],
)
async def test_a_broken_kubeconfig_is_told_in_one_line_without_secrets(
    tmp_path: Path, content: bytes | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ClusterError) as first:
        await KubernetesApi.credentials(str(path))
    with pytest.raises(ClusterError) as second:
        await KubernetesApi.connect(str(path), user_agent="test")
    with contextlib.suppress(ClusterError):
        await KubernetesApi.usual_namespace(str(path))
    said = str(first.value)
    assert said == str(second.value)
    assert told in said
    assert f"kubeconfig {path}: " in said
    assert "name another with --kubeconfig or KUBECONFIG" in said
    assert "\n" not in said
    assert "hush" not in said
    assert not caplog.records


async def test_what_is_no_regular_file_is_not_read() -> None:
    with pytest.raises(ClusterError, match="kubeconfig /dev/zero: it is no regular file"):
        await KubernetesApi.usual_namespace("/dev/zero")


async def test_of_several_kubeconfigs_one_may_be_missing(tmp_path: Path) -> None:
    there = kubeconfig(tmp_path, "https://k.example")
    found = await KubernetesApi.credentials(f"{tmp_path / 'missing'}:{there}")
    assert found.server == "https://k.example"


async def test_certificates_that_are_none_are_told(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("hush")
    path = tmp_path / "kubeconfig"
    path.write_text(
        f"{_CONTEXT}clusters: [{{name: k, cluster: {{server: 'https://k', "
        f"certificate-authority: {tmp_path}/ca}}}}]\nusers: [{{name: u, user: {{token: hush}}}}]"
    )
    with pytest.raises(ClusterError, match=f"certificates or keys of {path} cannot be used"):
        await KubernetesApi.connect(str(path), user_agent="test")


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
        with pytest.raises(
            UnavailableError, match=r"did not answer GET /x: no answer within 0\.2 s"
        ):
            async with asyncio.timeout(20):
                await api.request("GET", "/x")
        done.set()


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    api = await KubernetesApi.connect(kubeconfig(tmp_path, "http://127.0.0.1:1"), user_agent="test")
    with pytest.raises(UnavailableError) as told:
        await api.request("GET", "/x")
    await api.close()
    assert str(told.value) == (
        "the Kubernetes API at http://127.0.0.1:1 did not answer GET /x: connection refused"
    )


def test_an_address_is_shown_without_what_else_stands_in_it() -> None:
    assert address_of("https://name:hush@k.example:6443/path?token=hush") == (
        "https://k.example:6443"
    )


@pytest.mark.parametrize("server", ["no-address", "http://no-such-host.invalid"])
async def test_an_address_that_leads_nowhere_is_told_in_words(tmp_path: Path, server: str) -> None:
    api = await KubernetesApi.connect(kubeconfig(tmp_path, server), user_agent="test")
    with pytest.raises(UnavailableError) as told:
        await api.request("GET", "/x")
    await api.close()
    said = str(told.value)
    assert "did not answer GET /x: " in said
    assert "(" not in said


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
