"""Metrics pages of a simulated cluster's Pods over real HTTP, each on a port of its own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from aiohttp import web

from ridgeline.sim.fleet_load import Rates
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.telemetry.scrape_endpoint import ScrapeTarget
from tests.component.controller.world import World

MOST_PODS = 24
"""Ports that are held: one for each Pod that a test ever brings up."""


class SimulatedPods:
    """Every Pod's page tells the totals that the simulation counted.

    Attributes:
        broken: Pods that answer 500.
    """

    def __init__(self, world: World) -> None:
        self.broken: set[str] = set()
        self._world = world
        self._telemetry: SimulatedTelemetry = world.telemetry
        self._ports: list[int] = []
        self._served: list[str] = []

    def targets(self) -> list[ScrapeTarget]:
        """The live, Ready Pods that the operator's store holds."""
        pods = self._world.process.store.pods_of("default", "llama")
        return [
            ScrapeTarget(
                namespace=pod.namespace,
                pod=pod.name,
                process=pod.uid,
                host="127.0.0.1",
                port=self._port(pod.name),
            )
            for pod in pods
            if pod.ready_since is not None and not pod.deleting
        ]

    def _port(self, pod: str) -> int:
        if pod not in self._served:
            self._served.append(pod)
        return self._ports[self._served.index(pod)]

    async def answer(self, index: int, request: web.Request) -> web.Response:
        pod = self._served[index]
        if pod in self.broken:
            return web.Response(status=500)
        engines = {
            key.engine: samples[-1].totals
            for key, samples in self._telemetry._samples.items()
            if key.pod == pod
        }
        return web.Response(text="".join(_page(label, each) for label, each in engines.items()))


def _page(engine: str, totals: Rates) -> str:
    series = {
        "vllm:inter_token_latency_seconds_sum": totals.inter_token_seconds,
        "vllm:inter_token_latency_seconds_count": totals.request_steps,
        "vllm:iteration_tokens_total_count": totals.engine_steps,
        "vllm:generation_tokens_total": totals.generated,
        "vllm:generation_tokens_created": 1.0,
        "vllm:time_to_first_token_seconds_count": 0.0,
    }
    if totals.drafts is not None:
        series["vllm:spec_decode_num_drafts_total"] = totals.drafts
    return "".join(f'{name}{{engine="{engine}"}} {value!r}\n' for name, value in series.items())


@asynccontextmanager
async def simulated_pods(world: World) -> AsyncIterator[SimulatedPods]:
    """Pods listen on loopback ports while it is entered."""
    pods = SimulatedPods(world)
    async with AsyncExitStack() as stack:
        for index in range(MOST_PODS):
            app = web.Application()
            app.router.add_get("/metrics", partial(pods.answer, index))
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            pods._ports.append(runner.addresses[0][1])
        yield pods
