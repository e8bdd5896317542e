"""Pure: what the slow queries tell of every engine, kept from the read that asked them.

A ratio is only ever formed of two numbers of the *same* evaluation time: each slow table keeps the
request-steps that were read beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.telemetry.arithmetic import prefix_acceptance, ratio, usable
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
    running: float | None = None
    waiting: float | None = None
    tpot_p99_seconds: float | None = None
    step_latency_p99_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowView:
    """What the slow queries know of all engines.

    Attributes:
        numbers: By engine; an engine that no slow query knows is absent.
        acceptance: Acceptance p_i by engine, where the server speculates.
        not_finite: Names of the slow queries that gave NaN or infinity, by engine.
        processes_differ: Engines under whose name two servers answer.
        scraped_twice: Engines of which the endpoint holds more than one series.
    """

    numbers: Mapping[EngineKey, SlowNumbers] = field(default_factory=dict)
    acceptance: Mapping[EngineKey, tuple[float, ...]] = field(default_factory=dict)
    not_finite: Mapping[EngineKey, tuple[str, ...]] = field(default_factory=dict)
    processes_differ: frozenset[EngineKey] = frozenset()
    scraped_twice: frozenset[EngineKey] = frozenset()


def slow_view(slow: Mapping[str, SlowTables]) -> SlowView:
    """Numbers of every engine from slow tables that are young enough; any may be missing."""
    slow = _looked_at_together(slow)
    keys = frozenset[EngineKey]().union(*(tables.table.values for tables in slow.values()))
    broken: dict[EngineKey, tuple[str, ...]] = {}
    for name, tables in slow.items():
        for key in tables.table.not_finite:
            broken[key] = (*broken.get(key, ()), name)
    acceptance = ((key, _acceptance(key, slow)) for key in keys)
    return SlowView(
        numbers={key: _numbers(key, slow) for key in keys},
        acceptance={key: p for key, p in acceptance if p is not None},
        not_finite=broken,
        processes_differ=_above(slow, "process_spread", SAME_PROCESS_SECONDS),
        scraped_twice=_above(slow, "scrapes", 1),
    )


def _looked_at_together(slow: Mapping[str, SlowTables]) -> Mapping[str, SlowTables]:
    """Engine steps only beside the drafts of the same evaluation time.

    Every server exports engine steps and only speculating ones export drafts, so steps without
    drafts are how a server without speculation looks. A failed query must not look like that.
    """
    steps, drafts = slow.get("engine_steps"), slow.get("drafts")
    if steps is None or (drafts is not None and drafts.taken_at == steps.taken_at):
        return slow
    return {name: tables for name, tables in slow.items() if name != "engine_steps"}


def _above(slow: Mapping[str, SlowTables], name: str, limit: float) -> frozenset[EngineKey]:
    """Engines whose slow number is above a limit."""
    tables = slow.get(name)
    if tables is None:
        return frozenset()
    return frozenset(key for key, value in tables.table.values.items() if value > limit)


def _numbers(key: EngineKey, slow: Mapping[str, SlowTables]) -> SlowNumbers:
    drafts, drafts_beside = _value(slow, "drafts", key)
    steps, steps_beside = _value(slow, "engine_steps", key)
    return SlowNumbers(
        steps_per_second=steps,
        mean_batch=ratio(steps_beside, steps),
        drafts_per_second=drafts,
        drafted_share=ratio(drafts, drafts_beside),
        running=_value(slow, "running", key)[0],
        waiting=_value(slow, "waiting", key)[0],
        tpot_p99_seconds=_value(slow, "tpot_p99", key)[0],
        step_latency_p99_seconds=_value(slow, "step_latency_p99", key)[0],
    )


def _value(
    slow: Mapping[str, SlowTables], name: str, key: EngineKey
) -> tuple[float | None, float | None]:
    """A slow number, and the request-steps of the same evaluation time."""
    tables = slow.get(name)
    if tables is None:
        return None, None
    return usable(tables.table.values.get(key)), usable(tables.request_steps.values.get(key))


def _acceptance(key: EngineKey, slow: Mapping[str, SlowTables]) -> tuple[float, ...] | None:
    drafts, accepted = slow.get("drafts"), slow.get("accepted_per_position")
    if drafts is None or accepted is None or drafts.taken_at != accepted.taken_at:
        return None
    # The K of engines differ: an engine has the positions up to its own last one.
    known = [n for n, table in accepted.positions.items() if key in table.values]
    if not known or key in accepted.table.not_finite:
        return None
    rates = (accepted.positions.get(n, _EMPTY).values.get(key) for n in range(max(known) + 1))
    return prefix_acceptance(tuple(rates), drafts.table.values.get(key))
