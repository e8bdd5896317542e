"""An API server that asks to be left alone is left alone, by every call, over real HTTP."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.leased import LeasedApi
from ridgeline.cluster.rest import LONGEST_SECONDS, USUAL_SECONDS, Rest


@dataclass(slots=True)
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Server:
    """Answers with a status and a `Retry-After`, and counts what it was asked."""

    address: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0


@dataclass(slots=True)
class Term:
    seconds_left: float = 100.0


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()

    async def answer(_: web.Request) -> web.Response:
        served.asked += 1
        return web.json_response({}, status=served.status, headers=served.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    served.address = f"http://{host}:{port}"
    yield served
    await runner.cleanup()


@pytest.mark.parametrize("status", [429, 503])
async def test_nothing_is_asked_until_the_rest_is_over(server: Server, status: int) -> None:
    clock = Clock()
    api = KubernetesApi(ApiClient(Configuration(host=server.address)), rest=Rest(clock))
    leased = LeasedApi(api, Term())
    try:
        server.status, server.headers = status, {"Retry-After": "7"}
        with pytest.raises(UnavailableError):
            await api.request("GET", "/api/v1/pods")
        server.status, server.headers = 200, {}
        clock.now += 6.5
        for each in (api, leased):
            with pytest.raises(UnavailableError, match="left alone"):
                await each.request("PATCH", "/api/v1/namespaces/a/pods/p", body={})
        assert server.asked == 1
        clock.now += 1.0
        await leased.request("PATCH", "/api/v1/namespaces/a/pods/p", body={})
        assert server.asked == 2
    finally:
        await api.close()


@pytest.mark.parametrize(
    ("status", "told", "seconds"),
    [
        (429, "3", 3.0),
        (503, " 12 ", 12.0),
        (429, "0", 0.0),
        (429, "999999999999", LONGEST_SECONDS),
        (429, "Mon, 30 Nov 2026 12:00:00 GMT", USUAL_SECONDS),
        (429, "-5", USUAL_SECONDS),
        (429, "٣", USUAL_SECONDS),
        (429, None, 0.0),
        (503, None, 0.0),
        (500, "9", 0.0),
        (200, "9", 0.0),
    ],
)
def test_a_rest_is_as_long_as_was_asked_for(status: int, told: str | None, seconds: float) -> None:
    rest = Rest(Clock())
    rest.heard(status, told)
    assert rest.seconds_left == seconds


def test_a_later_shorter_rest_does_not_end_a_longer_one() -> None:
    clock = Clock()
    rest = Rest(clock)
    rest.heard(429, "30")
    rest.heard(429, "1")
    clock.now += 10.0
    assert rest.seconds_left == 20.0
