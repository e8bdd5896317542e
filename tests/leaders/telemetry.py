"""A Prometheus that answers from what a test says the load is; it can be turned off."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from email.utils import formatdate

from aiohttp import web

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from tests.cluster.prometheus import free_ports
from tests.leaders.pods import ReadyPod

_STEP_S = 0.1
_SIGNALS: Mapping[str, Callable[[float], float]] = {
    "sample_age": lambda _: 1.0,
    "decode_concurrency": lambda users: users,
    "request_steps": lambda users: users / _STEP_S,
    "generated_tokens": lambda users: users / _STEP_S,
    "first_tokens": lambda users: users / 5.0,
    "engine_steps": lambda users: 1.0 / _STEP_S if users else 0.0,
    "drafts": lambda users: users / _STEP_S,
}
"""What an engine with so many requests in decode tells, by query; other queries find no series."""


class Telemetry:
    """Listens on a loopback port; use as a context manager.

    Attributes:
        url: Where it listens.
        users: Requests in decode of each target, over all its Pods.
        off: While set, every query is answered with 503.
    """

    def __init__(
        self,
        namespace: str,
        pods: Callable[[], Iterable[ReadyPod]],
        *,
        window_s: float,
        drafting: Collection[str] = ("eagle",),
    ) -> None:
        """Prepare it.

        Args:
            namespace: Where the Pods are.
            pods: Those that serve now.
            window_s: Window of the operator's rates.
            drafting: Profiles whose servers speculate.
        """
        self._port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self._port}"
        self.users: dict[str, float] = {}
        self.off = False
        self._drafting = drafting
        self._namespace, self._pods = namespace, pods
        context = query_context(Endpoint(name="default", url=self.url), window_s)
        self._names = {query.render(context): name for name, query in REGISTRY.items()}
        self._loop = asyncio.new_event_loop()
        self._listens, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Telemetry:
        self._thread.start()
        if not self._listens.wait(timeout=20):
            raise TimeoutError("the telemetry does not listen")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(timeout=20)
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/api/v1/query", self._answer)
        app.router.add_route("*", "/api/v1/{other:.*}", self._nothing)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port).start()
        self._listens.set()
        await self._over.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        form = await request.post()
        asked = {**request.query, **form}
        at = float(str(asked.get("time") or time.time()))
        name = self._names.get(str(asked["query"]), "")
        return self._told(self._series(name, at), "vector", at)

    async def _nothing(self, request: web.Request) -> web.Response:
        kind = "matrix" if request.match_info["other"] == "query_range" else "vector"
        return self._told([], kind, time.time())

    def _series(self, name: str, at: float) -> list[dict[str, object]]:
        if name not in _SIGNALS:
            return []
        pods, signal = tuple(self._pods()), _SIGNALS[name]
        counts = Counter(each.target for each in pods)
        return [
            {
                "metric": {"namespace": self._namespace, "pod": each.name, "engine": "0"},
                "value": [at, repr(signal(self.users.get(each.target, 0.0) / counts[each.target]))],
            }
            for each in pods
            if name != "drafts" or each.profile in self._drafting
        ]

    def _told(self, result: list[dict[str, object]], kind: str, at: float) -> web.Response:
        headers = {"Date": formatdate(at, usegmt=True)}
        if self.off:
            return web.Response(status=503, text="off", headers=headers)
        body = {"status": "success", "data": {"resultType": kind, "result": result}}
        return web.json_response(body, headers=headers)
