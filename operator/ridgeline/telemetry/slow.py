"""Pure: what the slow queries tell of every engine, kept from the read that asked them.

A ratio is only ever formed of two numbers of the *same* evaluation time: each slow table keeps the
request-steps that were read beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.telemetry.arithmetic import bucket_bounds, ratio, steady_acceptance, usable
from ridgeline.telemetry.parse import EngineKey, SignalTable

SAME_PROCESS_SECONDS: Final = 0.001
"""Creation times further apart than this belong to two servers; stores may round to the ms."""

_EMPTY: Final = SignalTable(values={})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTables:
    """The answer of a slow query, and what has to be read beside it.

    Attributes:
        taken_at: Evaluation time, epoch seconds.
        table: The signal by engine; of accepted tokens, position 0.
        request_steps: Request-steps of the same evaluation time.
        positions: Tables by draft position; empty for other signals.
    """

    taken_at: float
    table: SignalTable
    request_steps: SignalTable
    positions: Mapping[int, SignalTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowNumbers:
    """What the slow queries know of one engine; fields as in `EngineFacts`."""

    steps_per_second: float | None = None
    mean_batch: float | None = None
    drafts_per_second: float | None = None
    drafted_share: float | None = None
    draft_tokens_per_second: float | None = None
    acceptance: tuple[float, ...] | None = None
    running: float | None = None
    waiting: float | None = None
    waiting_for_capacity: float | None = None
    queue_seconds_per_second: float | None = None
    preemptions_per_second: float | None = None
    kv_cache_use: float | None = None
    prompt_tokens_per_second: float | None = None
    mean_prompt_tokens: float | None = None
    mean_output_tokens: float | None = None
    ttft_seconds: float | None = None
    tpot_p99_seconds: float | None = None
    tpot_p99_bounds: tuple[float, float] | None = None
    step_latency_p99_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuActivity:
    """What a GPU exporter tells of the GPUs of one Pod; means over the window, shares of 1.

    Attributes:
        tensor_active: Share of cycles in which tensor cores worked.
        dram_active: Share of cycles in which memory transferred; near 1 where decode is bound by
            bandwidth.
    """

    tensor_active: float | None = None
    dram_active: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowView:
    """What the slow queries know of all engines.

    Attributes:
        numbers: By engine; an engine that no slow query knows is absent.
        gpus: By namespace and Pod, where the endpoint has a GPU exporter.
        not_finite: Names of the slow queries that gave NaN or infinity, by engine.
        processes_differ: Engines under whose name two servers answer.
        scraped_twice: Engines of which the endpoint holds more than one series.
    """

    numbers: Mapping[EngineKey, SlowNumbers] = field(default_factory=dict)
    gpus: Mapping[tuple[str, str], GpuActivity] = field(default_factory=dict)
    not_finite: Mapping[EngineKey, tuple[str, ...]] = field(default_factory=dict)
    processes_differ: frozenset[EngineKey] = frozenset()
    scraped_twice: frozenset[EngineKey] = frozenset()


_GPU: Final = ("gpu_tensor_active", "gpu_dram_active")


def slow_view(slow: Mapping[str, SlowTables]) -> SlowView:
    """Numbers of every engine from slow tables that are young enough; any may be missing."""
    gpus = {name: slow[name].table for name in _GPU if name in slow}
    slow = _looked_at_together({n: tables for n, tables in slow.items() if n not in _GPU})
    keys = frozenset[EngineKey]().union(*(tables.table.values for tables in slow.values()))
    broken: dict[EngineKey, tuple[str, ...]] = {}
    for name, tables in slow.items():
        for key in tables.table.not_finite:
            broken[key] = (*broken.get(key, ()), name)
    several = _several_processes(slow)
    return SlowView(
        numbers={key: _numbers(key, slow, several) for key in keys},
        gpus=_gpu_activity(gpus),
        not_finite=broken,
        processes_differ=_above(slow, "process_spread", SAME_PROCESS_SECONDS),
        scraped_twice=_above(slow, "scrapes", 1),
    )


def _looked_at_together(slow: Mapping[str, SlowTables]) -> Mapping[str, SlowTables]:
    """Engine steps only beside the drafts of the same evaluation time.

    Every server exports engine steps and only speculating ones export drafts, so steps without
    drafts are how a server without speculation looks. A failed query must not look like that.
    """
    if "engine_steps" not in slow or _same_time(slow, "engine_steps", "drafts"):
        return slow
    return {name: tables for name, tables in slow.items() if name != "engine_steps"}


def _same_time(slow: Mapping[str, SlowTables], *names: str) -> bool:
    """Whether all these signals are there, read at one evaluation time."""
    taken_at = [slow[name].taken_at for name in names if name in slow]
    return len(taken_at) == len(names) and len(set(taken_at)) == 1


def _several_processes(slow: Mapping[str, SlowTables]) -> frozenset[EngineKey]:
    """Engines that export no creation times, as servers with several API-server processes do.

    Each of those processes counts the engine's steps, so their sum says nothing about batches.
    """
    if not _same_time(slow, "scrapes", "process_spread"):
        return frozenset()
    created = slow["process_spread"].table
    seen = slow["scrapes"].table.values.keys()
    return frozenset(seen - created.values.keys() - created.not_finite)


def _above(slow: Mapping[str, SlowTables], name: str, limit: float) -> frozenset[EngineKey]:
    """Engines whose slow number is above a limit."""
    tables = slow.get(name)
    if tables is None:
        return frozenset()
    return frozenset(key for key, value in tables.table.values.items() if value > limit)


def _numbers(
    key: EngineKey, slow: Mapping[str, SlowTables], several: frozenset[EngineKey]
) -> SlowNumbers:
    def value(name: str) -> float | None:
        return _value(slow, name, key)[0]

    drafts, drafts_beside = _value(slow, "drafts", key)
    steps, steps_beside = _value(slow, "engine_steps", key)
    drafted_share, p99 = ratio(drafts, drafts_beside), value("tpot_p99")
    return SlowNumbers(
        steps_per_second=steps,
        mean_batch=None if key in several else ratio(steps_beside, steps),
        drafts_per_second=drafts,
        drafted_share=drafted_share,
        draft_tokens_per_second=value("draft_tokens"),
        acceptance=_acceptance(key, slow, drafted_share),
        running=value("running"),
        waiting=value("waiting"),
        waiting_for_capacity=value("waiting_for_capacity"),
        queue_seconds_per_second=value("queue_time"),
        preemptions_per_second=value("preemptions"),
        kv_cache_use=value("kv_cache"),
        prompt_tokens_per_second=value("prompt_tokens"),
        mean_prompt_tokens=value("prompt_length"),
        mean_output_tokens=value("output_length"),
        ttft_seconds=value("ttft"),
        tpot_p99_seconds=p99,
        tpot_p99_bounds=_bounds(key, slow, p99),
        step_latency_p99_seconds=value("step_latency_p99"),
    )


def _value(
    slow: Mapping[str, SlowTables], name: str, key: EngineKey
) -> tuple[float | None, float | None]:
    """A slow number, and the request-steps of the same evaluation time."""
    tables = slow.get(name)
    if tables is None:
        return None, None
    return usable(tables.table.values.get(key)), usable(tables.request_steps.values.get(key))


def _bounds(
    key: EngineKey, slow: Mapping[str, SlowTables], p99: float | None
) -> tuple[float, float] | None:
    if p99 is None or not _same_time(slow, "tpot_p99", "tpot_p99_lower", "tpot_p99_upper"):
        return None
    lower, upper = (_value(slow, f"tpot_p99_{end}", key)[0] for end in ("lower", "upper"))
    return bucket_bounds(p99, lower, upper)


def _acceptance(
    key: EngineKey, slow: Mapping[str, SlowTables], drafted_share: float | None
) -> tuple[float, ...] | None:
    if not _same_time(slow, "drafts", "draft_tokens", "accepted_per_position"):
        return None
    accepted = slow["accepted_per_position"]
    # The K of engines differ: an engine has the positions up to its own last one.
    known = [n for n, table in accepted.positions.items() if key in table.values]
    if not known or key in accepted.table.not_finite:
        return None
    rates = (accepted.positions.get(n, _EMPTY).values.get(key) for n in range(max(known) + 1))
    return steady_acceptance(
        tuple(rates),
        drafts=slow["drafts"].table.values.get(key),
        draft_tokens=slow["draft_tokens"].table.values.get(key),
        drafted_share=drafted_share,
    )


def _gpu_activity(tables: Mapping[str, SignalTable]) -> Mapping[tuple[str, str], GpuActivity]:
    """Of every Pod that a GPU signal names; the exporter knows no engines."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for name, table in tables.items():
        for key, value in table.values.items():
            if usable(value) is not None:
                found.setdefault((key.namespace, key.pod), {})[name] = value
    tensor, dram = _GPU
    return {
        pod: GpuActivity(tensor_active=shares.get(tensor), dram_active=shares.get(dram))
        for pod, shares in found.items()
    }
