"""The HTTP side: vLLM's routes over the engines."""

import asyncio
import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from ridgeline.sim.stand_in.contract import EngineContract
from ridgeline.sim.stand_in.engine_loop import EngineLoop
from ridgeline.sim.stand_in.exposition import EngineSeries, Exposition, SilentSeries
from ridgeline.sim.stand_in.flags import ServeArguments
from ridgeline.sim.stand_in.http_metrics import http_metrics_middleware
from ridgeline.sim.stand_in.protocol import (
    Answer,
    BadRequestError,
    CompletionRequest,
    parse_request,
)
from ridgeline.sim.stand_in.scheduler import Engine, EngineLimits, Generation
from ridgeline.sim.stand_in.settings import StandInSettings
from ridgeline.sim.stand_in.speculation import Speculation
from ridgeline.sim.stand_in.telemetry import TelemetrySink

Pieces = asyncio.Queue[tuple[int, str | None]]
_PAGE = "text/plain; version=0.0.4; charset=utf-8"


class StandInServer:
    """One vLLM server's engines, metrics and routes. Must be made inside a running event loop.

    Args:
        arguments: The parsed command line.
        settings: The stand-in's own settings.
        contract: The facts of the release.
        speculation: How the engines draft, or None.
        clock: Seconds on a monotonic scale.
        wall_clock: Seconds since the epoch, for the ``created`` field of answers.
    """

    def __init__(
        self,
        arguments: ServeArguments,
        settings: StandInSettings,
        *,
        contract: EngineContract,
        speculation: Speculation | None,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._arguments = arguments
        self._settings = settings
        self._contract = contract
        self._speculation = speculation
        self._clock = clock
        self._wall_clock = wall_clock
        self._registry = CollectorRegistry()
        self._random = Random(settings.seed)
        self._answers = 0
        self._answering = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._metrics_down = False
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._exposition = self._expose() if arguments.log_stats else None
        self.loops = tuple(self._engine_loop(n) for n in range(arguments.data_parallel))
        self._created = int(wall_clock())
        self.app = self._application()

    async def drained(self) -> None:
        """Returns once no request is being answered."""
        await self._idle.wait()

    def start(self) -> list[asyncio.Task[None]]:
        """Starts the engines and the clocks of the injected faults."""
        delay = self._settings.serves_after_s
        tasks = [asyncio.create_task(_run_later(delay, loop)) for loop in self.loops]
        faults = self._settings.faults
        for delay, act in (
            (faults.hang_after_s, self._hang),
            (faults.metrics_503_after_s, self._stop_metrics),
            (faults.freeze_counters_after_s, self._freeze),
        ):
            if delay != float("inf"):
                tasks.append(asyncio.create_task(_later(delay, act)))
        return tasks

    def abort_all(self) -> None:
        """Ends every request that has not finished."""
        for loop in self.loops:
            loop.abort_all()

    def _hang(self) -> None:
        for loop in self.loops:
            loop.hang()

    def _stop_metrics(self) -> None:
        self._metrics_down = True

    def _freeze(self) -> None:
        if self._exposition is not None:
            self._exposition.frozen = True

    def _expose(self) -> Exposition:
        arguments, speculation = self._arguments, self._speculation
        exposition = Exposition(
            self._registry,
            contract=self._contract,
            model_name=arguments.served_names[0],
            engines=arguments.data_parallel,
            max_model_len=arguments.max_model_len,
            speculation_lookahead=speculation.lookahead if speculation else None,
            v0=speculation is not None and speculation.v0,
            shown_for_version=arguments.shown_for_version,
        )
        self._expose_cache_config()
        return exposition

    def _expose_cache_config(self) -> None:
        tokens = self._settings.kv_tokens
        labels = self._contract.cache_config_labels
        blocks = tokens // int(labels["block_size"])
        labels = labels | {
            "gpu_memory_utilization": f"{self._arguments.gpu_memory_utilization:g}",
            "kv_cache_size_tokens": str(tokens),
            "kv_cache_max_concurrency": str(round(tokens / self._arguments.max_model_len, 2)),
            "num_gpu_blocks": str(blocks),
        }
        family = Gauge(
            "vllm:cache_config_info",
            "Configuration of the KV cache.",
            (*labels, "engine"),
            registry=self._registry,
        )
        for engine in range(self._arguments.data_parallel):
            family.labels(**labels, engine=str(engine)).set(1)

    def _engine_loop(self, number: int) -> EngineLoop:
        settings, arguments = self._settings, self._arguments
        series: TelemetrySink = SilentSeries()
        if self._exposition is not None:
            series = EngineSeries(
                self._exposition,
                number,
                flicker=settings.gauge_flicker,
                random=Random(self._random.random()),
            )
        engine = Engine(
            limits=EngineLimits(
                max_num_seqs=arguments.max_num_seqs,
                max_num_batched_tokens=arguments.max_num_batched_tokens,
                kv_tokens=settings.kv_tokens,
            ),
            step_time=settings.step_time,
            speculation=self._speculation,
            acceptance=settings.acceptance,
            random=Random(self._random.random()),
            sink=series,
        )
        return EngineLoop(engine, self._clock)

    def _application(self) -> web.Application:
        measure = http_metrics_middleware(self._registry, self._clock)
        app = web.Application(middlewares=[measure])
        app.router.add_get("/health", self._health)
        app.router.add_get("/version", self._version)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self._contract.version})

    async def _metrics(self, _: web.Request) -> web.Response:
        if self._metrics_down:
            return web.Response(status=503, text="Service Unavailable")
        page = generate_latest(self._registry)
        return web.Response(body=page, headers={"Content-Type": _PAGE})

    async def _models(self, _: web.Request) -> web.Response:
        cards = [
            {
                "id": name,
                "object": "model",
                "created": self._created,
                "owned_by": "vllm",
                "root": self._arguments.model,
                "parent": None,
                "max_model_len": self._arguments.max_model_len,
            }
            for name in self._arguments.served_names
        ]
        return web.json_response({"object": "list", "data": cards})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=True)

    async def _answer(self, http: web.Request, *, chat: bool) -> web.StreamResponse:
        body = await http.read()
        try:
            request = parse_request(
                body,
                chat=chat,
                served_names=self._arguments.served_names,
                max_model_len=self._arguments.max_model_len,
            )
        except BadRequestError as refusal:
            return web.json_response(refusal.body(), status=refusal.status)
        self._answers += 1
        answer = Answer(
            request=request,
            identifier=f"{'chatcmpl' if chat else 'cmpl'}-{self._answers:08x}",
            created=int(self._wall_clock()),
        )
        pieces: Pieces = asyncio.Queue()
        generation = Generation(
            prompt_tokens=request.prompt_tokens,
            max_tokens=request.max_tokens,
            stop_after=self._length(request),
            deliver=lambda tokens, reason: pieces.put_nowait((tokens, reason)),
            arrived=self._clock(),
        )
        loop = min(self.loops, key=lambda loop: loop.engine.load)
        loop.submit(generation)
        self._answering += 1
        self._idle.clear()
        try:
            if request.stream:
                return await _stream(http, answer, pieces)
            return await _whole(answer, pieces)
        finally:
            loop.abort(generation)  # a client that went away; nothing happens after the end
            self._answering -= 1
            if not self._answering:
                self._idle.set()

    def _length(self, request: CompletionRequest) -> int:
        """Tokens after which the model would stop by itself.

        A share below 1 ends every answer early: also one that was to go on to its limit, since
        the text is wrong and not the request. One above 1 sends more of them up to their limit.
        """
        mean, share = self._settings.mean_output_tokens, self._settings.answer_share
        if not request.ignore_eos and mean > 0:
            natural = self._random.expovariate(1.0 / mean)
        elif share < 1.0:
            natural = float(request.max_tokens)
        else:
            return 2**31
        return max(1, request.min_tokens, round(share * natural))


async def _run_later(delay_s: float, loop: EngineLoop) -> None:
    await asyncio.sleep(delay_s)
    await loop.run()


async def _later(delay_s: float, act: Callable[[], Any]) -> None:
    await asyncio.sleep(delay_s)
    act()


async def _whole(answer: Answer, pieces: Pieces) -> web.Response:
    total, reason = 0, None
    while reason is None:
        tokens, reason = await pieces.get()
        total += tokens
    if reason == "abort":
        gone = BadRequestError(
            "The server is shutting down.", status=500, kind="InternalServerError"
        )
        return web.json_response(gone.body(), status=gone.status)
    return web.json_response(answer.whole(total, reason))


async def _stream(http: web.Request, answer: Answer, pieces: Pieces) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
    )
    await response.prepare(http)
    total, reason = 0, None
    with contextlib.suppress(ConnectionResetError):  # the client went away: the caller aborts
        if opening := answer.opening():
            await response.write(opening)
        while reason is None:
            tokens, reason = await pieces.get()
            total += tokens
            if reason == "abort":
                if http.transport is not None:
                    http.transport.close()
                return response
            await response.write(answer.piece(tokens, reason))
        await response.write(answer.closing(total))
        await response.write_eof()
    return response
