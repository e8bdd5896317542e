"""A Prometheus of a hollow cluster: answers every named query, and lies when a test says so."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Final

from aiohttp import web

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from tests.cluster.prometheus import free_ports
from tests.faults.day.hollow import HollowPod
from tests.faults.loops import drained

STEPS_PER_SECOND: Final = 10.0
TOKENS_PER_STEP: Final = 2.0
"""What a request gets from a step under speculation."""

Series = tuple[dict[str, str], str]
"""Labels and value."""


@dataclass(frozen=True, kw_only=True)
class Lie:
    """How answers are spoilt.

    Attributes:
        down: Whether connections end without an answer.
        delay_s: Seconds by which each answer is late.
        spoil: Changes the series of an answer; is given the name of the query.
        clock_ahead_s: How far the endpoint's clock is off.
        samples_old_s: How old the newest sample is said to be.
    """

    down: bool = False
    delay_s: float = 0.0
    spoil: Callable[[str, list[Series]], list[Series]] = lambda _, series: series
    clock_ahead_s: float = 0.0
    samples_old_s: float = 0.5


TRUTH: Final = Lie()


class Numbers:
    """Use as a context manager; calls are good from any thread.

    Attributes:
        port: Where it listens.
        asked: How many queries it got.
    """

    def __init__(
        self, pods: Callable[[], tuple[HollowPod, ...]], window_s: float, listen: str = "127.0.0.1"
    ) -> None:
        self._pods, self._listen = pods, listen
        self._lie = TRUTH
        self._load: dict[tuple[str, str], float] = {}
        context = query_context(Endpoint(name="x", url="http://x"), window_s)
        self._names = {query.render(context): name for name, query in REGISTRY.items()}
        self.port = free_ports(1)[0]
        self.asked = 0
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Numbers:
        self._thread.start()
        if not self._ready.wait(timeout=20):
            raise TimeoutError("the stand-in for Prometheus does not listen")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(timeout=20)
        self._loop.close()

    def load(self, namespace: str, app: str, concurrency: float) -> None:
        """Set the requests in decode of each replica of a Deployment."""
        self._load[namespace, app] = concurrency

    def tell(self, lie: Lie) -> None:
        """Answer in this way from now on."""
        self._lie = lie

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(drained())

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, self._listen, self.port).start()
        self._ready.set()
        await self._over.wait()
        self._lie = TRUTH
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        form, lie = await request.post(), self._lie
        await asyncio.sleep(lie.delay_s)
        if lie.down and request.transport is not None:
            request.transport.abort()
            return web.Response(status=502)
        if not request.path.endswith("/query"):
            return _json("matrix", [], 0.0)
        time = float(str(form["time"]))
        name = self._names.get(str(form["query"]), "")
        series = lie.spoil(name, self._series(name))
        result: list[dict[str, object]] = [
            {"metric": labels, "value": [time, value]} for labels, value in series
        ]
        return _json("vector", result, time + lie.clock_ahead_s)

    def _series(self, name: str) -> list[Series]:
        found = []
        for pod in self._pods():
            load = self._load.get((pod.namespace, pod.app))
            if not pod.ready or load is None:
                continue
            value = _value(name, load, pod.profile not in ("", "none"), self._lie.samples_old_s)
            if value is not None:
                labels = {"namespace": pod.namespace, "pod": pod.name, "engine": "0"}
                found.append((labels, repr(value)))
        return found


def _value(name: str, load: float, speculates: bool, age_s: float) -> float | None:
    """Return what a query tells of an engine; `None` where it finds nothing."""
    steps = load * STEPS_PER_SECOND
    values = {
        "sample_age": age_s,
        "decode_concurrency": load,
        "request_steps": steps,
        "generated_tokens": steps * (TOKENS_PER_STEP if speculates else 1.0),
        "first_tokens": load / 10.0,
        "engine_steps": STEPS_PER_SECOND,
    }
    if speculates:
        values["drafts"] = steps
    return values.get(name)


def _json(kind: str, result: list[dict[str, object]], date: float) -> web.Response:
    document = {"status": "success", "data": {"resultType": kind, "result": result}}
    # Each query on a connection of its own, so that its way is found anew each time.
    headers = {"Connection": "close", "Content-Type": "application/json"}
    if date:
        headers["Date"] = formatdate(date, usegmt=True)
    return web.Response(text=json.dumps(document), headers=headers)
