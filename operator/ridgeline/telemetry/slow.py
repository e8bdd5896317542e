"""Pure: what the slow queries tell of every engine, kept from the read that asked them.

A ratio is only ever formed of two numbers of the *same* evaluation time: each slow table keeps the
request-steps that were read beside it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ridgeline.telemetry.arithmetic import (
    bucket_bounds,
    longest_answer,
    ratio,
    steady_acceptance,
    usable,
    usable_values,
)
from ridgeline.telemetry.finish_reasons import Finished
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
        finished: Finished requests by reason, by engine; empty for other signals.
    """

    taken_at: float
    table: SignalTable
    request_steps: SignalTable
    positions: Mapping[int, SignalTable] = field(default_factory=dict)
    finished: Mapping[EngineKey, Finished] = field(default_factory=dict)


class SlowNumbers(NamedTuple):
    """What the slow queries know of one engine; fields as in `EngineFacts`.

    A tuple, since one is made for each of many engines; the plain signals come last, in the order
    of `_PLAIN`.
    """

    steps_per_second: float | None = None
    mean_batch: float | None = None
    drafts_per_second: float | None = None
    drafted_share: float | None = None
    draft_tokens_per_second: float | None = None
    acceptance: tuple[float, ...] | None = None
    tpot_p99_seconds: float | None = None
    tpot_p99_bounds: tuple[float, float] | None = None
    finished_per_second: Finished | None = None
    longest_answer_seconds: float | None = None
    longest_answer_unbounded: bool = False
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
    step_latency_p99_seconds: float | None = None


_PLAIN: Final = (
    "running",
    "waiting",
    "waiting_for_capacity",
    "queue_time",
    "preemptions",
    "kv_cache",
    "prompt_tokens",
    "prompt_length",
    "output_length",
    "ttft",
    "step_latency_p99",
)
"""Signals that are taken as they come."""


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
    broken: dict[EngineKey, tuple[str, ...]] = {}
    for name, tables in slow.items():
        for key in tables.table.not_finite:
            broken[key] = (*broken.get(key, ()), name)
    return SlowView(
        numbers=_numbers(slow),
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


def _numbers(slow: Mapping[str, SlowTables]) -> Mapping[EngineKey, SlowNumbers]:
    """Numbers of every engine that any slow signal knows."""
    steps, steps_beside = _column(slow, "engine_steps"), _beside(slow, "engine_steps")
    drafts, drafts_beside = _column(slow, "drafts"), _beside(slow, "drafts")
    draft_tokens, p99 = _column(slow, "draft_tokens"), _column(slow, "tpot_p99")
    plain = [_column(slow, name).get for name in _PLAIN]
    several, acceptance, bounds = _several_processes(slow), _acceptance(slow), _bounds(slow)
    finished = slow["finished"].finished if "finished" in slow else {}
    longest = _longest(slow)
    numbers = {}
    for key in _all_keys(slow):
        drafted_share = ratio(drafts.get(key), drafts_beside.get(key))
        numbers[key] = SlowNumbers(
            steps.get(key),
            None if key in several else ratio(steps_beside.get(key), steps.get(key)),
            drafts.get(key),
            drafted_share,
            draft_tokens.get(key),
            acceptance(key, drafted_share),
            p99.get(key),
            bounds(key),
            finished.get(key),
            *longest(key),
            *[get(key) for get in plain],
        )
    return numbers


def _all_keys(slow: Mapping[str, SlowTables]) -> Iterable[EngineKey]:
    """Every engine that a slow signal knows, in the order of the answers.

    Tables were filled in that order, so looking an engine up in each of them goes through memory
    from one end to the other: for many engines that is what looking up costs.
    """
    keys: dict[EngineKey, object] = {}
    for tables in slow.values():
        if not tables.table.values.keys() <= keys.keys():
            keys |= tables.table.values
    return keys


def _column(slow: Mapping[str, SlowTables], name: str) -> Mapping[EngineKey, float]:
    """The usable numbers of a slow signal; empty when it is not there."""
    return usable_values(slow[name].table.values) if name in slow else {}


def _beside(slow: Mapping[str, SlowTables], name: str) -> Mapping[EngineKey, float]:
    """The request-steps of the same evaluation time as a slow signal."""
    return usable_values(slow[name].request_steps.values) if name in slow else {}


def _bounds(
    slow: Mapping[str, SlowTables],
) -> Callable[[EngineKey], tuple[float, float] | None]:
    """How to find the bounds of an engine's P99."""
    if not _same_time(slow, "tpot_p99", "tpot_p99_lower", "tpot_p99_upper"):
        return lambda key: None  # noqa: ARG005 - unknown for every engine
    names = ("tpot_p99", "tpot_p99_lower", "tpot_p99_upper")
    value, lower, upper = (_column(slow, name).get for name in names)
    return lambda key: bucket_bounds(value(key), lower(key), upper(key))


def _longest(
    slow: Mapping[str, SlowTables],
) -> Callable[[EngineKey], tuple[float | None, bool]]:
    """How to find the bound of an engine's longest answer, and whether it took longer."""
    if not _same_time(slow, "longest_answer", "longest_answer_beyond"):
        return lambda key: (None, False)  # noqa: ARG005 - unknown for every engine
    bound, beyond = (_column(slow, n).get for n in ("longest_answer", "longest_answer_beyond"))
    return lambda key: longest_answer(bound(key), beyond(key))


def _acceptance(
    slow: Mapping[str, SlowTables],
) -> Callable[[EngineKey, float | None], tuple[float, ...] | None]:
    """How to find an engine's acceptance, given its share of steps that drafted."""
    if not _same_time(slow, "drafts", "draft_tokens", "accepted_per_position"):
        return lambda key, share: None  # noqa: ARG005 - unknown for every engine
    drafts, draft_tokens = _column(slow, "drafts").get, _column(slow, "draft_tokens").get
    accepted = slow["accepted_per_position"]
    last = max(accepted.positions, default=-1)
    by_position = [accepted.positions.get(n, _EMPTY).values.get for n in range(last + 1)]
    broken = accepted.table.not_finite

    def acceptance(key: EngineKey, drafted_share: float | None) -> tuple[float, ...] | None:
        rates = [get(key) for get in by_position]
        # The K of engines differ: an engine has the positions up to its own last one.
        while rates and rates[-1] is None:
            rates.pop()
        if not rates or key in broken:
            return None
        return steady_acceptance(
            rates,
            drafts=drafts(key),
            draft_tokens=draft_tokens(key),
            drafted_share=drafted_share,
        )

    return acceptance


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
