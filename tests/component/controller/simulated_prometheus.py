"""A Prometheus over a simulated cluster: the real reader asks it over real HTTP, in virtual time.

It answers every query from what the simulated scrapes hold, and misbehaves as the test scripts it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate

from aiohttp import web

from ridgeline.policy.facts import EngineFacts
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context

_SIGNALS: Mapping[str, Callable[[EngineFacts], float | None]] = {
    "sample_age": lambda engine: engine.age_seconds,
    "decode_concurrency": lambda engine: engine.decode_concurrency,
    "request_steps": lambda engine: engine.request_steps_per_second,
    "generated_tokens": lambda engine: engine.generated_tokens_per_second,
    "first_tokens": lambda engine: 0.0,
    "engine_steps": lambda engine: engine.steps_per_second,
    "drafts": lambda engine: engine.drafts_per_second,
}
"""What the simulation knows, by query; the other queries find no series."""


@dataclass(slots=True, kw_only=True)
class Misbehaviour:
    """How an answer is spoilt.

    Attributes:
        status: HTTP status of every answer.
        headers: Extra headers.
        spoil: Changes the body; `cut_after` closes the connection after so many bytes of it.
        delay: Seconds by which an answer is late.
        warnings: What the answer warns of.
        value: Replaces the value of every series of `decode_concurrency`.
        drop_series: Whether the answer lacks every second series.
        empty: Whether it has no series at all.
        clock_ahead: By how many seconds the endpoint's clock differs.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    spoil: Callable[[bytes], bytes] = field(default=lambda body: body)
    cut_after: int | None = None
    delay: float = 0.0
    warnings: tuple[str, ...] = ()
    value: str | None = None
    drop_series: bool = False
    empty: bool = False
    clock_ahead: float = 0.0


class SimulatedPrometheus:
    """Answers from simulated telemetry.

    Attributes:
        misbehaviour: How answers are spoilt now.
        url: Where it listens.
        requests: How many queries it got.
    """

    def __init__(self, telemetry: SimulatedTelemetry, window_seconds: float) -> None:
        self.misbehaviour = Misbehaviour()
        self.url = ""
        self.requests = 0
        self._telemetry = telemetry
        context = query_context(Endpoint(name="x", url="http://x"), window_seconds)
        self._names = {query.render(context): name for name, query in REGISTRY.items()}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        now = self.misbehaviour
        form = await request.post()
        time = float(str(form["time"]))
        await asyncio.sleep(now.delay)
        body = now.spoil(await self._body(self._names[str(form["query"])], time))
        headers = {"Date": formatdate(time + now.clock_ahead, usegmt=True), **now.headers}
        if now.cut_after is None:
            return web.Response(body=body, status=now.status, headers=headers)
        response = web.StreamResponse(headers={**headers, "Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: now.cut_after])
        if request.transport is not None:
            request.transport.abort()
        return response

    async def _body(self, name: str, time: float) -> bytes:
        now, result = self.misbehaviour, []
        snapshot = await self._telemetry.read(time)
        for (namespace, pod), engines in snapshot.engines.items():
            for engine in engines:
                value = _SIGNALS[name](engine) if name in _SIGNALS else None
                text = "NaN" if name in engine.not_finite else str(value)
                if name == "decode_concurrency" and now.value is not None:
                    text = now.value
                if text != "None":
                    labels = {"namespace": namespace, "pod": pod, "engine": engine.engine}
                    result.append({"metric": labels, "value": [time, text]})
        result = result[:: 2 if now.drop_series else 1] if not now.empty else []
        document: dict[str, object] = {
            "status": "success",
            "data": {"resultType": "vector", "result": result},
        }
        if now.warnings:
            document["warnings"] = list(now.warnings)
        return json.dumps(document).encode()


@asynccontextmanager
async def simulated_prometheus(
    telemetry: SimulatedTelemetry, window_seconds: float
) -> AsyncIterator[SimulatedPrometheus]:
    """Listens on a loopback port while it is entered."""
    prometheus = SimulatedPrometheus(telemetry, window_seconds)
    app = web.Application()
    app.router.add_post("/api/v1/query", prometheus.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        prometheus.url = f"http://{host}:{port}"
        yield prometheus
    finally:
        await runner.cleanup()
