"""A stand-in inside the test's own event loop, and a reader of its page."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from ridgeline.sim.stand_in.command import prepare
from ridgeline.sim.stand_in.server import StandInServer

FAST = {"STAND_IN_TIME_SCALE": "0.1", "STAND_IN_GAUGE_FLICKER": "0"}
"""Steps of 10 to 20 ms."""

EAGLE_K3 = '--speculative-config={"method":"eagle","model":"head","num_speculative_tokens":3}'


@dataclass(frozen=True, kw_only=True)
class Live:
    """A running stand-in."""

    url: str
    server: StandInServer
    session: aiohttp.ClientSession

    async def page(self) -> str:
        async with self.session.get(self.url + "/metrics") as response:
            assert response.status == 200
            return await response.text()

    async def totals(self) -> "Totals":
        return Totals(await self.page())

    async def post(self, route: str, body: Any) -> tuple[int, Any]:
        data = {"data": body} if isinstance(body, str) else {"json": body}
        async with self.session.post(self.url + route, **data) as response:
            return response.status, await response.json(content_type=None)

    async def events(self, route: str, body: dict[str, Any]) -> list[str]:
        async with self.session.post(self.url + route, json=body | {"stream": True}) as response:
            assert response.status == 200
            assert response.content_type == "text/event-stream"
            text = await response.text()
        chunks = text.split("\n\n")
        assert chunks.pop() == ""
        assert all(chunk.startswith("data: ") for chunk in chunks)
        return [chunk.removeprefix("data: ") for chunk in chunks]


class Totals:
    """Sums of a page's samples over their labels, by name with or without the vllm: prefix."""

    def __init__(self, page: str) -> None:
        self.sums: dict[str, float] = {}
        for name, value in re.findall(
            r"^(?:vllm:)?([a-z_0-9]+)(?:\{.*\})? (\S+)$", page, re.MULTILINE
        ):
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def __getitem__(self, name: str) -> float:
        return self.sums[name]

    def since(self, before: "Totals", name: str) -> float:
        return self[name] - before.sums.get(name, 0.0)


@contextlib.asynccontextmanager
async def stand_in(*flags: str, **environment: str) -> AsyncIterator[Live]:
    """Serves ``/models/target`` with the given flags on a free port of the loopback."""
    start = prepare(["serve", "/models/target", *flags], FAST | environment)
    server = StandInServer(
        start.arguments,
        start.settings,
        contract=start.contract,
        speculation=start.speculation,
        clock=asyncio.get_running_loop().time,
        wall_clock=lambda: 1_800_000_000.0,
    )
    tasks = server.start()
    runner = web.AppRunner(
        server.app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        async with aiohttp.ClientSession() as session:
            yield Live(url=f"http://{host}:{port}", server=server, session=session)
    finally:
        server.abort_all()
        await runner.cleanup()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
