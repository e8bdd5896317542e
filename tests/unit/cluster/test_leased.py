"""A write is sent only while the Lease is held, and waited for no longer than that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import LeaseLostError, UnavailableError
from ridgeline.cluster.leased import SPARE_SECONDS, LeasedApi

PATH = "/apis/apps/v1/namespaces/inference/deployments/llama"


@dataclass(slots=True)
class Term:
    """A Lease that is held for as long as the test says."""

    seconds_left: float = 0.0


@dataclass(slots=True)
class Heard:
    """What reached the API server, which answers after `delay` seconds."""

    methods: list[str]
    delay: float = 0.0


@pytest.fixture
def term() -> Term:
    return Term()


@pytest.fixture
def heard() -> Heard:
    return Heard(methods=[])


@pytest.fixture
async def api(term: Term, heard: Heard, tmp_path: Path) -> AsyncIterator[LeasedApi]:
    async def answer(request: web.Request) -> web.Response:
        heard.methods.append(request.method)
        await asyncio.sleep(heard.delay)
        return web.json_response({})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    server = TestServer(app)
    await server.start_server()
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    connection = await KubernetesApi.connect(str(kubeconfig), user_agent="test")
    yield LeasedApi(connection, term)
    await connection.close()
    await server.close()


async def _apply(api: LeasedApi) -> None:
    await api.apply(PATH, {"kind": "Deployment"}, manager="test", force=False)


async def test_who_holds_the_lease_writes(api: LeasedApi, term: Term, heard: Heard) -> None:
    term.seconds_left = 5.0
    await _apply(api)
    await api.request("POST", "/api/v1/events", body={})
    assert heard.methods == ["PATCH", "POST"]


@pytest.mark.parametrize("left", [0.0, SPARE_SECONDS])
async def test_who_does_not_hold_it_for_long_enough_reads_only(
    api: LeasedApi, term: Term, heard: Heard, left: float
) -> None:
    term.seconds_left = left
    with pytest.raises(LeaseLostError):
        await _apply(api)
    assert await api.request("GET", PATH) == {}
    assert heard.methods == ["GET"]


async def test_a_write_is_given_up_before_the_lease_runs_out(
    api: LeasedApi, term: Term, heard: Heard
) -> None:
    term.seconds_left, heard.delay = SPARE_SECONDS + 0.2, 3.0
    with pytest.raises(UnavailableError, match=r"no answer within 0\.2 s"):
        await _apply(api)


async def test_a_read_is_waited_for_as_long_as_ever(
    api: LeasedApi, term: Term, heard: Heard
) -> None:
    term.seconds_left, heard.delay = SPARE_SECONDS + 0.05, 0.5
    assert await api.request("GET", PATH) == {}
