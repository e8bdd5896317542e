"""The /metrics page: vLLM's names, labels, types and buckets, on a registry of its own."""

from random import Random
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from ridgeline.sim.stand_in.contract import EngineContract, MetricSpec
from ridgeline.sim.stand_in.telemetry import FinishedRequest, StepReport

_CACHE_SOURCES = ("device", "host", "p2p", "disk", "external_unspecified")
_PROMPT_SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")
_SLEEP_STATES = ("awake", "weights_offloaded", "discard_all")
_REJECTIONS = ("max_num_queued_reqs", "max_num_queued_tokens")
_FINISHES = ("stop", "length", "abort", "error", "repetition")
"""As recorded from 0.32.0; releases before it are given the first three, which all of them have."""


def _extra_label_values(name: str, contract: EngineContract, lookahead: int) -> tuple[str, ...]:
    """Values of the one label beside model and engine that exist from the first scrape on."""
    finishes = _FINISHES if contract.at_least("0.32.0") else _FINISHES[:3]
    return {
        "vllm:engine_sleep_state": _SLEEP_STATES,
        "vllm:num_requests_waiting_by_reason": ("capacity", "deferred"),
        "vllm:request_success_total": finishes,
        "vllm:prompt_tokens_by_source_total": _PROMPT_SOURCES,
        "vllm:prompt_tokens_cached_by_source_total": _CACHE_SOURCES,
        "vllm:admission_rejections_total": _REJECTIONS,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total": tuple(map(str, range(lookahead))),
    }.get(name, ())


def token_buckets(longest: int) -> tuple[float, ...]:
    """The 1-2-5 series up to the longest sequence."""
    steps = (m * 10**e for e in range(len(str(longest))) for m in (1, 2, 5))
    return tuple(float(step) for step in steps if step <= longest) or (1.0,)


class Exposition:
    """The families of one server, and one sink per engine that moves them.

    With ``speculation_lookahead`` the families of speculation exist, at 0 from the start; with None
    they are absent. ``v0`` selects the names of the V0 engine, which know no ``engine`` label.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        contract: EngineContract,
        model_name: str,
        engines: int,
        max_model_len: int,
        speculation_lookahead: int | None,
        v0: bool = False,
        shown_for_version: str | None = None,
    ) -> None:
        self._contract = contract
        self._model_name = model_name
        self._lookahead = speculation_lookahead or 0
        self._max_model_len = max_model_len
        self._children: dict[tuple[str, str, str], Any] = {}
        hidden = _shows_hidden(contract, shown_for_version)
        wanted = "v0" if v0 else "v1"
        for spec in contract.metrics:
            absent = spec.speculation_only and speculation_lookahead is None
            if spec.engine == wanted and not absent and (hidden or not spec.hidden):
                self._register(spec, registry, engines)
        self.frozen = False

    def child(self, name: str, engine: int, extra: str = "") -> Any | None:
        """One series by its full name; None where the release has no such family."""
        return self._children.get((name, str(engine), extra))

    def _register(self, spec: MetricSpec, registry: CollectorRegistry, engines: int) -> None:
        if spec.name == "vllm:cache_config_info":
            return  # set by the server, which knows the size of the cache
        family = self._family(spec, registry)
        values = _extra_label_values(spec.name, self._contract, self._lookahead) or ("",)
        for engine in map(str, range(engines)):
            for value in values:
                labels = {"model_name": self._model_name, "engine": engine}
                labels = {k: v for k, v in labels.items() if k in spec.labels}
                labels |= {k: value for k in spec.labels if k not in ("model_name", "engine")}
                self._children[spec.name, engine, value] = family.labels(**labels)
        if spec.name == "vllm:engine_sleep_state":
            for number in range(engines):
                self._children[spec.name, str(number), "awake"].set(1)

    def _family(self, spec: MetricSpec, registry: CollectorRegistry) -> MetricWrapperBase:
        about = f"{spec.name} of the vLLM stand-in."
        if spec.kind == "counter":
            return Counter(spec.name, about, spec.labels, registry=registry)
        if spec.kind == "gauge":
            return Gauge(spec.name, about, spec.labels, registry=registry)
        buckets = spec.buckets or token_buckets(self._max_model_len)
        return Histogram(spec.name, about, spec.labels, registry=registry, buckets=buckets)


def _shows_hidden(contract: EngineContract, shown_for_version: str | None) -> bool:
    """Metrics hidden in a release can be had by naming the minor release before it."""
    if not shown_for_version:
        return False
    return shown_for_version.split(".")[:2] == ["0", str(contract.minor - 1)]


class EngineSeries:
    """Moves the series of one engine; families that the release has not are skipped.

    Attributes:
        flicker: Share of steps after which the gauge of running requests shows 0 or 1, as sampled
            from a real server under steady load.
    """

    def __init__(
        self, exposition: Exposition, engine: int, *, flicker: float = 0.0, random: Random
    ) -> None:
        self._exposition = exposition
        self._engine = engine
        self._flicker = flicker
        self._random = random

    def step(self, report: StepReport) -> None:
        """Takes one engine step."""
        if self._exposition.frozen:
            return
        self._add("vllm:prompt_tokens_total", report.prompt_tokens)
        self._add("vllm:prompt_tokens_by_source_total", report.prompt_tokens, "local_compute")
        for name in ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"):
            self._add(name, report.prompt_tokens)
        self._add("vllm:generation_tokens_total", report.generation_tokens)
        self._observe(
            "vllm:iteration_tokens_total", report.prompt_tokens + report.generation_tokens
        )
        for latency in report.step_latencies_s:
            self._observe("vllm:inter_token_latency_seconds", latency)
            self._observe("vllm:time_per_output_token_seconds", latency)
        for waited in report.first_token_times_s:
            self._observe("vllm:time_to_first_token_seconds", waited)
        self._count_drafts(report)
        self._set_gauges(report)

    def finished(self, request: FinishedRequest) -> None:
        """Takes one request that ended by itself."""
        if self._exposition.frozen:
            return
        self._add("vllm:request_success_total", 1, request.reason)
        inference = request.prefill_s + request.decode_s
        values = {
            "vllm:request_prompt_tokens": request.prompt_tokens,
            "vllm:request_generation_tokens": request.generation_tokens,
            "vllm:request_max_num_generation_tokens": request.max_tokens,
            "vllm:request_params_n": 1,
            "vllm:request_params_max_tokens": request.max_tokens,
            "vllm:request_time_per_output_token_seconds": request.time_per_output_token_s,
            "vllm:e2e_request_latency_seconds": request.end_to_end_s,
            "vllm:request_queue_time_seconds": request.queued_s,
            "vllm:request_inference_time_seconds": inference,
            "vllm:request_prefill_time_seconds": request.prefill_s,
            "vllm:request_decode_time_seconds": request.decode_s,
            "vllm:request_num_preemptions": request.preemptions,
            "vllm:request_prefill_kv_computed_tokens": request.prompt_tokens,
        }
        for name, value in values.items():
            self._observe(name, value)

    def aborted(self) -> None:
        """Takes one request that was given up."""
        if not self._exposition.frozen:
            self._add("vllm:request_success_total", 1, "abort")

    def preempted(self, requests: int) -> None:
        """Takes requests that lost their place in the cache."""
        if not self._exposition.frozen:
            self._add("vllm:num_preemptions_total", requests)

    def _count_drafts(self, report: StepReport) -> None:
        accepted = sum(report.accepted_by_position)
        self._add("vllm:spec_decode_num_drafts_total", report.drafts)
        self._add("vllm:spec_decode_num_draft_tokens_total", report.draft_tokens)
        self._add("vllm:spec_decode_num_accepted_tokens_total", accepted)
        self._add("vllm:spec_decode_num_emitted_tokens_total", accepted + report.drafts)
        for position, count in enumerate(report.accepted_by_position):
            name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
            self._add(name, count, str(position))
        if report.draft_tokens:
            self._set("vllm:spec_decode_draft_acceptance_rate", accepted / report.draft_tokens)
            most = report.draft_tokens + report.drafts
            self._set("vllm:spec_decode_efficiency", (accepted + report.drafts) / most)

    def _set_gauges(self, report: StepReport) -> None:
        running = report.running
        if self._random.random() < self._flicker:
            running = min(running, self._random.randint(0, 1))
        self._set("vllm:num_requests_running", running)
        self._set("vllm:num_requests_waiting", report.waiting)
        self._set("vllm:num_requests_waiting_by_reason", report.waiting, "capacity")
        self._set("vllm:kv_cache_usage_perc", report.kv_usage)
        self._set("vllm:gpu_cache_usage_perc", report.kv_usage)

    def _add(self, name: str, amount: float, extra: str = "") -> None:
        series = self._exposition.child(name, self._engine, extra)
        if series is not None and amount:
            series.inc(amount)

    def _set(self, name: str, value: float, extra: str = "") -> None:
        series = self._exposition.child(name, self._engine, extra)
        if series is not None:
            series.set(value)

    def _observe(self, name: str, value: float) -> None:
        series = self._exposition.child(name, self._engine)
        if series is not None:
            series.observe(value)


class SilentSeries:
    """Takes the reports of an engine whose statistics are switched off."""

    def step(self, report: StepReport) -> None:
        """Drops it."""

    def finished(self, request: FinishedRequest) -> None:
        """Drops it."""

    def aborted(self) -> None:
        """Drops it."""

    def preempted(self, requests: int) -> None:
        """Drops it."""
