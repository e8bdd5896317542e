"""Pods in words only: each serves the page that the test scripts, on a loopback port of its own."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from ridgeline.telemetry.scrape_endpoint import ScrapeTarget
from tests.component.telemetry.exporter import Replica

NAMESPACE = "prod"


def load(seconds: float, source: str = "draft-k4") -> str:
    """The page of a server that has replayed a recorded load for so long."""
    return Replica(source=source).text(seconds) or ""


@dataclass(kw_only=True)
class FakePod:
    """One Pod.

    Attributes:
        page: Gives the text of its page now.
        status: HTTP status of its answers.
        delay: Seconds by which an answer is late.
        requests: Headers of the requests it got.
        process: Which process answers.
    """

    name: str
    page: Callable[[], str | bytes]
    status: int = 200
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    requests: list[Mapping[str, str]] = field(default_factory=list)
    process: str = "1"
    port: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(dict(request.headers))
        await asyncio.sleep(self.delay)
        body = self.page()
        return web.Response(
            body=body.encode() if isinstance(body, str) else body,
            status=self.status,
            headers=dict(self.headers),
        )

    def target(self) -> ScrapeTarget:
        """How the controller would name it."""
        return ScrapeTarget(
            namespace=NAMESPACE,
            pod=self.name,
            process=self.process,
            host="127.0.0.1",
            port=self.port,
        )


@asynccontextmanager
async def fake_pods(*pods: FakePod, tls: ssl.SSLContext | None = None) -> AsyncIterator[None]:
    """Every Pod listens while it is entered; over TLS when told."""
    async with AsyncExitStack() as stack:
        for pod in pods:
            app = web.Application()
            app.router.add_get("/metrics", pod.answer)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
            pod.port = runner.addresses[0][1]
        yield
