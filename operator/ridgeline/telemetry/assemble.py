"""Pure: from the tables of single signals to the facts of every engine.

Fast signals all belong to one evaluation time. Slow ones are carried from an earlier time, and a
ratio is only ever formed of two numbers of the *same* evaluation time: each slow table keeps the
request-steps that were read beside it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.arithmetic import (
    FastNumbers,
    fast_numbers,
    prefix_acceptance,
    ratio,
    usable,
)
from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST

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
class Assembled:
    """Everything that the tables tell, by engine."""

    engines: Mapping[tuple[str, str], tuple[EngineFacts, ...]]
    acceptance: Mapping[EngineKey, tuple[float, ...]]
    ambiguous: frozenset[EngineKey]
    remarks: tuple[str, ...]


def assemble(
    fast: Mapping[str, SignalTable], slow: Mapping[str, SlowTables], *, window_seconds: float
) -> Assembled:
    """Facts of every engine that a fast signal knows.

    Args:
        fast: A table for each name of `FAST`, all of one evaluation time.
        slow: Tables of slow queries that are young enough to be used; any may be missing.
        window_seconds: Rate window. It is also the age given to an engine whose age is unknown: its
            rates prove a sample inside the window, and nothing better.
    """
    keys = frozenset[EngineKey]().union(
        *(fast[name].values.keys() | fast[name].not_finite for name in FAST)
    )
    ambiguous = _ambiguous(fast, slow)
    pods: dict[tuple[str, str], list[EngineFacts]] = {}
    acceptance: dict[EngineKey, tuple[float, ...]] = {}
    # Engine 10 comes after engine 2: shorter names first.
    for key in sorted(
        keys - ambiguous, key=lambda k: (k.namespace, k.pod, len(k.engine), k.engine)
    ):
        pods.setdefault((key.namespace, key.pod), []).append(
            _engine(key, fast, slow, window_seconds)
        )
        accepted = _acceptance(key, slow)
        if accepted is not None:
            acceptance[key] = accepted
    return Assembled(
        engines=MappingProxyType({pod: tuple(engines) for pod, engines in pods.items()}),
        acceptance=MappingProxyType(acceptance),
        ambiguous=ambiguous,
        remarks=_remarks(ambiguous, slow),
    )


def _engine(
    key: EngineKey,
    fast: Mapping[str, SignalTable],
    slow: Mapping[str, SlowTables],
    window_seconds: float,
) -> EngineFacts:
    numbers: FastNumbers = fast_numbers(
        inter_token_seconds=fast["decode_concurrency"].values.get(key),
        request_steps=fast["request_steps"].values.get(key),
        generated=fast["generated_tokens"].values.get(key),
        first=fast["first_tokens"].values.get(key),
    )
    drafts, drafts_beside = _slow_value(slow, "drafts", key)
    steps, steps_beside = _slow_value(slow, "engine_steps", key)
    return EngineFacts(
        engine=key.engine,
        age_seconds=max(0.0, fast["sample_age"].values.get(key, window_seconds)),
        decode_concurrency=numbers.decode_concurrency,
        request_steps_per_second=numbers.request_steps_per_second,
        steps_per_second=steps,
        step_seconds=numbers.step_seconds,
        mean_batch=ratio(steps_beside, steps),
        generated_tokens_per_second=numbers.generated_tokens_per_second,
        acceptance_length=numbers.acceptance_length,
        tpot_seconds=numbers.tpot_seconds,
        drafts_per_second=drafts,
        drafted_share=ratio(drafts, drafts_beside),
        running=_slow_value(slow, "running", key)[0],
        waiting=_slow_value(slow, "waiting", key)[0],
        tpot_p99_seconds=_slow_value(slow, "tpot_p99", key)[0],
        step_latency_p99_seconds=_slow_value(slow, "step_latency_p99", key)[0],
        not_finite=_not_finite(key, fast, slow),
    )


def _slow_value(
    slow: Mapping[str, SlowTables], name: str, key: EngineKey
) -> tuple[float | None, float | None]:
    """A slow number, and the request-steps of the same evaluation time."""
    tables = slow.get(name)
    if tables is None:
        return None, None
    return usable(tables.table.values.get(key)), usable(tables.request_steps.values.get(key))


def _not_finite(
    key: EngineKey, fast: Mapping[str, SignalTable], slow: Mapping[str, SlowTables]
) -> tuple[str, ...]:
    names = [name for name in FAST if key in fast[name].not_finite]
    names += [name for name, tables in slow.items() if key in tables.table.not_finite]
    return tuple(names)


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


def _ambiguous(
    fast: Mapping[str, SignalTable], slow: Mapping[str, SlowTables]
) -> frozenset[EngineKey]:
    ambiguous = frozenset[EngineKey]().union(*(fast[name].ambiguous for name in FAST))
    spread = slow.get("process_spread")
    if spread is None:
        return ambiguous
    return ambiguous | {k for k, s in spread.table.values.items() if s > SAME_PROCESS_SECONDS}


def _remarks(ambiguous: frozenset[EngineKey], slow: Mapping[str, SlowTables]) -> tuple[str, ...]:
    remarks = []
    if ambiguous:
        remarks.append(
            f"{_counted(ambiguous)} left out: two servers answer under the same namespace, Pod and "
            "engine; tell them apart with the endpoint's matchers (such as cluster), or correct "
            "the relabelling"
        )
    scrapes = slow.get("scrapes")
    twice = {k for k, n in scrapes.table.values.items() if n > 1} if scrapes else set()
    if twice - ambiguous:
        remarks.append(
            f"{_counted(twice - ambiguous)} scraped more than once (each is counted once): remove "
            "the second scrape job; a container that declares several ports gives one per port"
        )
    return tuple(remarks)


def _counted(keys: Iterable[EngineKey]) -> str:
    """How many engines, and the first by name."""
    ordered = sorted(keys)
    first = ordered[0]
    verb = "engine is" if len(ordered) == 1 else "engines are"
    return f"{len(ordered)} {verb} (first {first.namespace}/{first.pod} engine {first.engine})"
