"""A telemetry endpoint of a simulated cluster: counters scraped in virtual time, then rates.

Every engine of every serving Pod has vLLM's counters; they are scraped at an interval, and a read
gives rates over the window from the samples in it, as a Prometheus would: Pods that are gone stay
visible until their samples leave the window, and a Pod without two samples is not seen.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from ridgeline.engine.flags import data_parallel_size
from ridgeline.policy.facts import EngineFacts
from ridgeline.sim.fleet_load import EngineModel, Rates, Traffic
from ridgeline.sim.fleet_objects import NAMESPACE, SimulatedObjects
from ridgeline.sim.workload import SimulatedPod
from ridgeline.telemetry.arithmetic import fast_numbers, ratio
from ridgeline.telemetry.parse import EngineKey
from ridgeline.telemetry.snapshot import PodKey, TelemetrySnapshot

SCRAPE_SECONDS: Final = 5.0

MEAN_TOKENS: Final = 100.0
"""Mean prompt, and mean answer, of the simulated requests."""

NEEDED: Final = "decode_concurrency"
"""The signal that decisions rest on, as `EngineFacts` names it."""


@dataclass(slots=True, kw_only=True)
class EndpointFaults:
    """What is wrong with the endpoint, or with what it scrapes; change it at any time.

    Attributes:
        error: What every read fails with, in the words of the reader; `None` when it answers.
        crash: What `read` itself raises: a fault in the program.
        empty: It answers, with nothing in the answer.
        not_finite: Pods whose concurrency is NaN.
        hidden: Pods that are not scraped.
        missing_engines: Engines (by label) that are missing of every Pod that has several.
        scraping: While false, no sample comes in and the old ones age.
    """

    error: str | None = None
    crash: Exception | None = None
    empty: bool = False
    not_finite: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    missing_engines: set[str] = field(default_factory=set)
    scraping: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """What is odd about the servers in a Pod; without one they do as the model of engines says.

    Attributes:
        step_factor: What multiplies the duration of their steps.
        answer_share: What multiplies the length of their answers.
        finish_reason: Why their answers end, in vLLM's word.
        silent_seconds: How long they are Ready before they make the first token.
        idle: Whether no request reaches them.
    """

    step_factor: float = 1.0
    answer_share: float = 1.0
    finish_reason: str = "stop"
    silent_seconds: float = 0.0
    idle: bool = False

    def works(self, pod: SimulatedPod, now: float) -> bool:
        """Tell whether they make tokens now, if there is anything to do."""
        since = now if pod.ready_since is None else pod.ready_since
        return not self.idle and now >= since + self.silent_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    at: float
    totals: Rates
    oddity: Oddity = field(default_factory=Oddity)


class SimulatedTelemetry:
    """Implements the telemetry port over a simulated cluster.

    Attributes:
        traffic: Load of each Deployment, by its name; a name that is missing has none.
        faults: What is wrong.
        oddity: What is odd about the servers in a Pod.
        reads: How often it was read.
        model: How fast the engines are.
    """

    def __init__(
        self,
        cluster: SimulatedObjects,
        traffic: Mapping[str, Traffic],
        *,
        name: str = "default",
        window_seconds: float = 120.0,
        model: EngineModel | None = None,
        namespace: str = NAMESPACE,
    ) -> None:
        self.traffic = dict(traffic)
        self.faults = EndpointFaults()
        self.oddity: Callable[[SimulatedPod], Oddity] = lambda _: Oddity()
        self.reads = 0
        self._cluster = cluster
        self._name = name
        self._namespace = namespace
        self._window_seconds = window_seconds
        self.model = model or EngineModel()
        self._samples: dict[EngineKey, deque[_Sample]] = {}
        self._answered_at: float | None = None
        cluster.every(SCRAPE_SECONDS, self._scrape)

    async def read(self, now: float) -> TelemetrySnapshot:
        """Read all engines' signals at once.

        Raises:
            Exception: The one that `faults.crash` holds.
        """
        self.reads += 1
        if self.faults.crash is not None:
            raise self.faults.crash
        if self.faults.error is None:
            self._answered_at = now
        snapshot = TelemetrySnapshot(
            endpoint=self._name,
            taken_at=now,
            window_seconds=self._window_seconds,
            error=self.faults.error,
            answered_at=self._answered_at,
        )
        if self.faults.error is not None or self.faults.empty:
            return snapshot
        return replace(snapshot, engines=self._engines(now))

    def _engines(self, now: float) -> dict[PodKey, tuple[EngineFacts, ...]]:
        pods: dict[PodKey, tuple[EngineFacts, ...]] = {}
        for key, samples in sorted(self._samples.items()):
            inside = [each for each in samples if each.at > now - self._window_seconds]
            if len(inside) < 2 or key.pod in self.faults.hidden:
                continue
            engine = _facts(key.engine, inside[0], inside[-1], now)
            if key.pod in self.faults.not_finite:
                engine = replace(engine, decode_concurrency=None, not_finite=(NEEDED,))
            pod = (key.namespace, key.pod)
            pods[pod] = (*pods.get(pod, ()), engine)
        return pods

    def _scrape(self, now: float) -> None:
        if self.faults.scraping:
            for name in sorted(self.traffic):
                self._scrape_deployment(name, now)
        oldest = now - 2.0 * self._window_seconds
        for key in [key for key, each in self._samples.items() if each[-1].at < oldest]:
            del self._samples[key]

    def _scrape_deployment(self, name: str, now: float) -> None:
        pods = [pod for pod in self._cluster.pods_of(name, self._namespace) if pod.serves]
        engines = [(pod, engine) for pod in pods for engine in _engine_labels(pod)]
        working = sum(self.oddity(pod).works(pod, now) for pod, _ in engines)
        for pod, engine in engines:
            config, oddity = pod.template.speculative_config, self.oddity(pod)
            requests = 0.0
            if oddity.works(pod, now):
                requests = self.traffic[name].requests_per_engine(
                    now, working, partial(self.model.requests_at, config)
                )
            key = EngineKey(namespace=self._namespace, pod=pod.name, engine=engine)
            if engine not in self.faults.missing_engines:
                rates = _slower(self.model.rates(config, requests), oddity.step_factor)
                self._count(key, now, rates, oddity)

    def _count(self, key: EngineKey, now: float, rates: Rates, oddity: Oddity) -> None:
        samples = self._samples.setdefault(key, deque())
        before = samples[-1] if samples else _Sample(at=now, totals=replace(rates, **_ZERO))
        passed = now - before.at
        totals = _grown(before.totals, rates, passed)
        samples.append(_Sample(at=now, totals=totals, oddity=oddity))
        while samples[0].at < now - 2.0 * self._window_seconds:
            samples.popleft()


_ZERO: Final[Mapping[str, Any]] = {
    "inter_token_seconds": 0.0,
    "request_steps": 0.0,
    "engine_steps": 0.0,
    "generated": 0.0,
}


def _slower(rates: Rates, factor: float) -> Rates:
    """Return what engines do whose steps take so many times as long, with as many requests."""
    return replace(
        rates,
        request_steps=rates.request_steps / factor,
        engine_steps=rates.engine_steps / factor,
        generated=rates.generated / factor,
        drafts=None if rates.drafts is None else rates.drafts / factor,
    )


def _engine_labels(pod: SimulatedPod) -> list[str]:
    words = max((each.words for each in pod.template.containers), key=data_parallel_size)
    return [str(number) for number in range(data_parallel_size(words))]


def _grown(totals: Rates, rates: Rates, seconds: float) -> Rates:
    drafts = None
    if totals.drafts is not None and rates.drafts is not None:
        drafts = totals.drafts + rates.drafts * seconds
    return Rates(
        inter_token_seconds=totals.inter_token_seconds + rates.inter_token_seconds * seconds,
        request_steps=totals.request_steps + rates.request_steps * seconds,
        engine_steps=totals.engine_steps + rates.engine_steps * seconds,
        generated=totals.generated + rates.generated * seconds,
        drafts=drafts,
        acceptance=rates.acceptance,
    )


def _facts(engine: str, first: _Sample, last: _Sample, now: float) -> EngineFacts:
    seconds = last.at - first.at
    old, new = first.totals, last.totals

    def rate(before: float, after: float) -> float:
        return max(0.0, after - before) / seconds

    steps = rate(old.request_steps, new.request_steps)
    engine_steps = rate(old.engine_steps, new.engine_steps)
    drafts = None
    if old.drafts is not None and new.drafts is not None:
        drafts = rate(old.drafts, new.drafts)
    numbers = fast_numbers(
        inter_token_seconds=rate(old.inter_token_seconds, new.inter_token_seconds),
        request_steps=steps,
        generated=rate(old.generated, new.generated),
        first=0.0,
    )
    odd, tokens = last.oddity, numbers.generated_tokens_per_second
    answer = MEAN_TOKENS * odd.answer_share
    return EngineFacts(
        engine=engine,
        age_seconds=max(0.0, now - last.at),
        decode_concurrency=numbers.decode_concurrency,
        request_steps_per_second=numbers.request_steps_per_second,
        steps_per_second=engine_steps,
        step_seconds=numbers.step_seconds,
        mean_batch=ratio(steps, engine_steps),
        generated_tokens_per_second=numbers.generated_tokens_per_second,
        acceptance_length=numbers.acceptance_length,
        tpot_seconds=numbers.tpot_seconds,
        drafts_per_second=drafts,
        drafted_share=ratio(drafts, steps),
        draft_tokens_per_second=None if drafts is None else drafts * len(new.acceptance),
        acceptance=new.acceptance or None,
        prompt_tokens_per_second=numbers.generated_tokens_per_second,
        mean_prompt_tokens=MEAN_TOKENS,
        mean_output_tokens=answer,
        finished_per_second=None if tokens is None else ((odd.finish_reason, tokens / answer),),
        waiting=0.0,
        waiting_for_capacity=0.0,
        queue_seconds_per_second=0.0,
        preemptions_per_second=0.0,
    )
