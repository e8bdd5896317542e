"""Pure: from the text of one server's metrics page to the totals of each of its engines.

Only vLLM's series that a signal rests on are handed to prometheus-client's parser, so that the cost
of a page is that of a few dozen lines. Names that changed between versions stand side by side in
the tables below; a page that has both says the same twice, and the newer name is read.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from ridgeline.telemetry.errors import MalformedError, TooLargeError
from ridgeline.telemetry.named_query import REASON_LABEL

ONLY_ENGINE: Final = "0"
"""Name of the engine of servers that do not label their series with one."""

_ITL: Final = "vllm:inter_token_latency_seconds"
_OLD_ITL: Final = "vllm:time_per_output_token_seconds"
_TPOT: Final = "vllm:request_time_per_output_token_seconds"
_E2E: Final = "vllm:e2e_request_latency_seconds"
_SUCCESS: Final = "vllm:request_success_total"
_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_BY_SOURCE: Final = "vllm:prompt_tokens_by_source_total"
_BY_REASON: Final = "vllm:num_requests_waiting_by_reason"
_ONLY: Final = {_BY_SOURCE: ("source", "local_compute"), _BY_REASON: ("reason", "capacity")}
"""Of these only the series with that label counts: tokens that were computed, say."""

COUNTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "decode_concurrency": (f"{_ITL}_sum", f"{_OLD_ITL}_sum"),
    "request_steps": (f"{_ITL}_count", f"{_OLD_ITL}_count"),
    "generated_tokens": ("vllm:generation_tokens_total",),
    "first_tokens": ("vllm:time_to_first_token_seconds_count",),
    "engine_steps": ("vllm:iteration_tokens_total_count",),
    "drafts": ("vllm:spec_decode_num_drafts_total",),
    "draft_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
    "prompt_tokens": (_BY_SOURCE, "vllm:prompt_tokens_total"),
    "preemptions": ("vllm:num_preemptions_total",),
    "queue_time": ("vllm:request_queue_time_seconds_sum",),
    "ttft": ("vllm:time_to_first_token_seconds_sum",),
    "prompts": ("vllm:request_prompt_tokens_count",),
    "prompt_length": ("vllm:request_prompt_tokens_sum",),
    "outputs": ("vllm:request_generation_tokens_count",),
    "output_length": ("vllm:request_generation_tokens_sum",),
}
"""Totals that only grow while a process lives, by signal: their names, the newest first."""

GAUGES: Final[Mapping[str, tuple[str, ...]]] = {
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
    "waiting_for_capacity": (_BY_REASON,),
    "kv_cache": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
}
"""Values of the moment, by signal: their names, the newest first."""

HISTOGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "tpot_p99": (_TPOT,),
    "step_latency_p99": (_ITL, _OLD_ITL),
    "longest_answer": (_E2E,),
}
"""Histograms that a quantile is read from, by signal: their names, the newest first."""

Histogram = tuple[tuple[float, ...], tuple[float, ...]]
"""Upper bounds of the buckets, the last one infinite, and how many samples are at most so large."""

_CREATED: Final = "vllm:generation_tokens_created"
_PROCESS_START: Final = "process_start_time_seconds"

_VALUES: Final[Mapping[str, str]] = {
    name: signal
    for table in (COUNTERS, GAUGES)
    for signal, names in table.items()
    for name in names
}
_RANK: Final[Mapping[str, int]] = {
    name: rank
    for table in (COUNTERS, GAUGES, HISTOGRAMS)
    for names in table.values()
    for rank, name in enumerate(names)
}
_BUCKETS: Final[Mapping[str, tuple[str, str]]] = {
    f"{name}_bucket": (signal, name) for signal, names in HISTOGRAMS.items() for name in names
}
_WANTED: Final = frozenset({*_VALUES, *_BUCKETS, _CREATED, _PROCESS_START, _PER_POSITION, _SUCCESS})
_NAME_ENDS: Final = re.compile(r"[{\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTotals:
    """What one engine's series say at one moment.

    Attributes:
        values: By name of `COUNTERS` and `GAUGES`; finite and not negative.
        accepted: Accepted tokens by draft position, the first draft's at 0.
        finished: Finished requests by the label of the reason, as it came.
        histograms: By name of `HISTOGRAMS`.
        not_finite: Signals that are NaN or infinite.
        created: When the engine's series were made, epoch seconds; `None` where the server does
            not tell, as one with several API-server processes.
        process_start: When the server's process started, epoch seconds; `None` likewise.
    """

    values: Mapping[str, float]
    accepted: tuple[float, ...] = ()
    finished: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    not_finite: tuple[str, ...] = ()
    created: float | None = None
    process_start: float | None = None


@dataclass(slots=True)
class _Engine:
    """An engine's series while a page is read."""

    values: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    accepted: dict[int, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    buckets: dict[str, dict[float, float]] = field(default_factory=dict)
    not_finite: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    created: float | None = None


def read_page(body: bytes, *, max_series: int) -> Mapping[str, EngineTotals]:
    """Totals of every engine of a page, by engine label; empty when it holds none of our series.

    Raises:
        MalformedError: It is not Prometheus's text format, or has a series twice.
        TooLargeError: It has more than `max_series` of our series.
    """
    # Not splitlines: it would also split where a label's value holds a separator of another kind.
    text = body.decode("utf-8", errors="replace")
    lines = [line for line in text.split("\n") if _NAME_ENDS.split(line, 1)[0] in _WANTED]
    if len(lines) > max_series:
        raise TooLargeError(f"{len(lines)} series, more than max_series {max_series}")
    engines: dict[str, _Engine] = {}
    process: float | None = None
    for sample in _parse(lines):
        if sample.name == _PROCESS_START:
            process = float(sample.value)
            continue
        engine = engines.setdefault(sample.labels.get("engine") or ONLY_ENGINE, _Engine())
        _take(engine, sample)
    return {label: _totals(engine, process) for label, engine in engines.items()}


def _parse(lines: Iterable[str]) -> Iterable[Sample]:
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            yield from family.samples
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedError(f"not a metrics page ({type(error).__name__})") from error


def _take(engine: _Engine, sample: Sample) -> None:
    name, value = sample.name, float(sample.value)
    label, wanted = _ONLY.get(name, ("", None))
    if sample.labels.get(label) != wanted:
        return
    if name in _BUCKETS:
        _take_bucket(engine, sample, value)
    elif name == _PER_POSITION:
        _take_position(engine, sample, value)
    elif name == _SUCCESS:
        _take_finished(engine, sample, value)
    elif name == _CREATED:
        engine.created = value
    else:
        _take_value(engine, name, value)


def _take_value(engine: _Engine, name: str, value: float) -> None:
    signal, rank = _VALUES[name], _RANK[name]
    known = engine.ranks.get(signal)
    if known == rank:
        engine.twice.add(name)
    if known is not None and known <= rank:
        return
    engine.ranks[signal] = rank
    engine.values.pop(signal, None)
    engine.not_finite.discard(signal)
    if not math.isfinite(value):
        engine.not_finite.add(signal)
    elif value >= 0:
        engine.values[signal] = value


def _take_position(engine: _Engine, sample: Sample, value: float) -> None:
    position = sample.labels.get("position", "")
    if not (position.isascii() and position.isdigit() and len(position) <= 4):
        raise MalformedError(f"label position is {position!r:.60}, expected a whole number")
    if int(position) in engine.accepted:
        engine.twice.add(sample.name)
    if not math.isfinite(value):
        engine.not_finite.add("accepted_per_position")
    engine.accepted[int(position)] = value


def _take_finished(engine: _Engine, sample: Sample, value: float) -> None:
    reason = sample.labels.get(REASON_LABEL, "")
    if reason in engine.finished:
        engine.twice.add(sample.name)
    if not math.isfinite(value):
        engine.not_finite.add("finished")
    engine.finished[reason] = value


def _take_bucket(engine: _Engine, sample: Sample, value: float) -> None:
    name = _BUCKETS[sample.name][1]
    try:
        bound = float(sample.labels["le"])
    except (KeyError, ValueError):
        bound = math.nan
    if math.isnan(bound):
        raise MalformedError(f"a bucket of {name} without a number as its bound")
    buckets = engine.buckets.setdefault(name, {})
    if bound in buckets:
        engine.twice.add(sample.name)
    buckets[bound] = value


def _totals(engine: _Engine, process: float | None) -> EngineTotals:
    if engine.twice:
        raise MalformedError(
            f"two series {min(engine.twice)} for one engine: several servers answer behind one "
            "port; give each its own"
        )
    return EngineTotals(
        values=engine.values,
        accepted=_prefix(engine.accepted),
        finished=engine.finished if _usable(engine.finished.values()) else {},
        histograms=_histograms(engine.buckets),
        not_finite=tuple(sorted(engine.not_finite)),
        created=_finite(engine.created),
        process_start=_finite(process),
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _prefix(accepted: Mapping[int, float]) -> tuple[float, ...]:
    """Positions from the first on without a gap; none when a number is missing."""
    values = [accepted.get(position, math.nan) for position in range(len(accepted))]
    return tuple(values) if _usable(values) else ()


def _usable(values: Iterable[float]) -> bool:
    return all(math.isfinite(value) and value >= 0 for value in values)


def _histograms(buckets: Mapping[str, Mapping[float, float]]) -> dict[str, Histogram]:
    found: dict[str, Histogram] = {}
    for signal, names in HISTOGRAMS.items():
        counts = next((buckets[name] for name in names if name in buckets), None)
        if counts is None:
            continue
        bounds = tuple(sorted(counts))
        values = tuple(counts[bound] for bound in bounds)
        if math.isinf(bounds[-1]) and _usable(values):
            found[signal] = _shared(bounds), values
    return found


@lru_cache(maxsize=64)
def _shared(bounds: tuple[float, ...]) -> tuple[float, ...]:
    """The same bounds once in memory: every sample of every Pod has them."""
    return bounds
