"""A Prometheus in words only: answers each query as the test scripts it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate

from aiohttp import web

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.snapshot import TelemetrySnapshot

WINDOW_SECONDS = 10.0
NOW = 1_800_000_000.0

HEALTHY: Mapping[str, str] = {
    "sample_age": "4",
    "decode_concurrency": "12",
    "request_steps": "400",
    "generated_tokens": "900",
    "first_tokens": "100",
    "engine_steps": "40",
    "drafts": "200",
    "draft_tokens": "200",
    "accepted_per_position": "120",
    "running": "13",
    "waiting": "2",
    "waiting_for_capacity": "1",
    "queue_time": "1.5",
    "preemptions": "0.25",
    "kv_cache": "0.75",
    "prompt_tokens": "700",
    "prompt_length": "512",
    "output_length": "128",
    "ttft": "0.4",
    "tpot_p99": "0.03",
    "tpot_p99_lower": "0.025",
    "tpot_p99_upper": "0.05",
    "step_latency_p99": "0.09",
    "finished": "2",
    "longest_answer": "120",
    "longest_answer_beyond": "0",
    "scrapes": "1",
    "process_spread": "0",
    "gpu_tensor_active": "0.2",
    "gpu_dram_active": "0.9",
}
"""One engine's value by query."""

Labels = Mapping[str, str]


def series(value: str, **labels: str) -> dict[str, object]:
    """One series of an answer; the labels of one engine unless told otherwise."""
    named = {"namespace": "prod", "pod": "llm-0", "engine": "0"} | labels
    return {"metric": named, "value": [0, value]}


def success(*result: dict[str, object], **extra: object) -> bytes:
    """A successful answer with these series."""
    data = {"resultType": "vector", "result": list(result)}
    return json.dumps({"status": "success", "data": data} | extra).encode()


@dataclass(kw_only=True)
class Reply:
    """An answer; `delay` seconds late."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(kw_only=True)
class Request:
    """What a query came with."""

    name: str
    form: Mapping[str, str]
    headers: Mapping[str, str]
    port: int


class FakePrometheus:
    """Answers `HEALTHY`, save for the queries (or all, under `*`) that `replies` has."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: dict[str, Reply] = {}
        self.requests: list[Request] = []
        self.clock_ahead = 0.0
        self.received = asyncio.Semaphore(0)
        context = query_context(Endpoint(name="x", url="http://x"), WINDOW_SECONDS)
        self._names = {query.render(context): name for name, query in REGISTRY.items()}

    def asked(self) -> list[str]:
        """Names of the queries asked since the last call."""
        names = [request.name for request in self.requests]
        self.requests.clear()
        return names

    def endpoint(self, **fields: object) -> Endpoint:
        """This server as an endpoint, with short deadlines."""
        return Endpoint(**({"name": "main", "url": self.url, "timeout_seconds": 5.0} | fields))  # type: ignore[arg-type]

    async def answer(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        name = self._names.get(form["query"], "?")
        port = request.transport.get_extra_info("peername")[1] if request.transport else 0
        self.requests.append(
            Request(name=name, form=form, headers=dict(request.headers), port=port)
        )
        self.received.release()
        extra = {"position": "0"} if name == "accepted_per_position" else {}
        healthy = Reply(body=success(series(HEALTHY.get(name, "0"), **extra)))
        reply = self.replies.get(name) or self.replies.get("*") or healthy
        await asyncio.sleep(reply.delay)
        clock = formatdate(float(form["time"]) + self.clock_ahead, usegmt=True)
        headers = {"Content-Type": "application/json", "Date": clock}
        return web.Response(
            body=reply.body, status=reply.status, headers=headers | dict(reply.headers)
        )


@asynccontextmanager
async def fake_prometheus(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakePrometheus]:
    """A fake that listens on a loopback port while it is entered; over TLS when told."""
    fake = FakePrometheus()
    app = web.Application()
    app.router.add_post("/api/v1/query", fake.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = runner.addresses[0][:2]
        fake.url = f"{'https' if tls else 'http'}://{host}:{port}"
        yield fake
    finally:
        await runner.cleanup()


async def read(endpoint: Endpoint) -> TelemetrySnapshot:
    """One read by a new reader, as of `NOW`."""
    reader = TelemetryReader(endpoint, window_seconds=WINDOW_SECONDS)
    try:
        return await reader.read(NOW)
    finally:
        await reader.close()


def error_of(snapshot: TelemetrySnapshot) -> str:
    """The error of a read that failed as a whole."""
    assert snapshot.error is not None
    assert snapshot.engines == {}
    return snapshot.error
