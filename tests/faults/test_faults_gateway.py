"""The gateway between operator and API server does what a test tells it, and otherwise nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, web
from aiohttp.test_utils import TestServer

from tests.faults.gateway import Gateway, Moment, Silence

TARGET = "/apis/apps/v1/namespaces/inference/deployments/llama"
STATUS = "/apis/ridgeline.dev/v1alpha1/namespaces/inference/speculativeservings/llama/status"
WATCH = "/api/v1/pods?watch=true"


@pytest.fixture
def heard() -> list[str]:
    """What reached the API server."""
    return []


@pytest.fixture
async def server(heard: list[str]) -> AsyncIterator[TestServer]:
    """Stands in for an API server: tells what it heard; a watch says something now and then."""

    async def answer(request: web.Request) -> web.StreamResponse:
        heard.append(f"{request.method} {request.path}")
        if "watch" not in request.query:
            return web.json_response({"heard": (await request.read()).decode()})
        stream = web.StreamResponse()
        await stream.prepare(request)
        while True:
            await stream.write(b"{}\n")
            await asyncio.sleep(0.1)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    started = TestServer(app)
    await started.start_server()
    yield started
    await started.close()


@pytest.fixture
def gateway(server: TestServer, tmp_path: Path) -> Iterator[Gateway]:
    config = {"clusters": [{"cluster": {"server": f"http://127.0.0.1:{server.port}"}}]}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    with Gateway(kubeconfig, tmp_path) as running:
        yield running


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[ClientSession]:
    """Somebody with the gateway's kubeconfig."""
    server = json.loads(gateway.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    async with ClientSession(server, timeout=ClientTimeout(total=5)) as session:
        yield session


async def _patch(client: ClientSession, path: str, *, body: str = "{}") -> tuple[int, str]:
    async with client.patch(path, data=body) as answer:
        return answer.status, await answer.text()


async def _read_on(stream: ClientResponse) -> None:
    while await stream.content.readline():
        pass


async def test_it_passes_on_what_is_asked_and_answered(client: ClientSession) -> None:
    assert await _patch(client, TARGET, body="a: b") == (200, '{"heard": "a: b"}')


async def test_it_refuses_writes_of_one_deployment_until_it_admits_them(
    client: ClientSession, gateway: Gateway, heard: list[str]
) -> None:
    gateway.refuse("llama")
    assert (await _patch(client, TARGET))[0] == 503
    assert heard == []
    # A rehearsal, a status and another Deployment are none of these.
    for path in (f"{TARGET}?dryRun=All", STATUS, f"{TARGET}-2"):
        assert (await _patch(client, path))[0] == 200
    gateway.admit()
    assert (await _patch(client, TARGET))[0] == 200


@pytest.mark.parametrize("path", [TARGET, STATUS])
@pytest.mark.parametrize(("moment", "arrived"), [(Moment.BEFORE, 0), (Moment.AFTER, 1)])
async def test_a_trap_strikes_once_before_or_after_a_write(
    client: ClientSession,
    gateway: Gateway,
    heard: list[str],
    path: str,
    moment: Moment,
    arrived: int,
) -> None:
    struck: list[str] = []
    gateway.trap("llama", moment, lambda: struck.append("now"))
    await _patch(client, f"{path}?dryRun=All")
    async with client.get(path) as read:
        assert read.status == 200
    heard.clear()
    assert not gateway.all_sprung()
    with pytest.raises(ClientError):
        await _patch(client, path)
    assert struck == ["now"]
    assert len(heard) == arrived
    assert gateway.all_sprung()
    assert (await _patch(client, path))[0] == 200
    assert struck == ["now"]


async def test_a_trap_that_was_not_sprung_is_named_and_taken_away(
    client: ClientSession, gateway: Gateway
) -> None:
    gateway.trap("llama", Moment.BEFORE, lambda: None)
    assert gateway.forget_traps() == ["llama"]
    assert (await _patch(client, TARGET))[0] == 200


async def test_what_was_swallowed_comes_late(
    client: ClientSession, gateway: Gateway, heard: list[str]
) -> None:
    gateway.silence(Silence.ALL)
    with pytest.raises(TimeoutError):
        async with client.patch(TARGET, timeout=ClientTimeout(total=0.5)):
            pass
    assert heard == []
    gateway.silence(Silence.NOTHING)
    for _ in range(50):
        if heard:
            break
        await asyncio.sleep(0.1)
    assert heard == [f"PATCH {TARGET}"]


async def test_silent_watches_say_nothing_and_the_rest_is_heard(
    client: ClientSession, gateway: Gateway
) -> None:
    async with client.get(WATCH) as stream:
        assert await stream.content.readline() == b"{}\n"
        gateway.silence(Silence.WATCHES)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_read_on(stream), 1.0)
        assert (await _patch(client, TARGET))[0] == 200
        gateway.silence(Silence.NOTHING)
        assert await stream.content.readline() == b"{}\n"


async def test_a_watch_that_is_cut_ends_with_an_error(
    client: ClientSession, gateway: Gateway
) -> None:
    async with client.get(WATCH) as stream:
        assert await stream.content.readline() == b"{}\n"
        gateway.cut_watches()
        with pytest.raises(ClientError):
            await _read_on(stream)
    assert (await _patch(client, TARGET))[0] == 200
