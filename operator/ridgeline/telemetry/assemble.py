"""Pure: from the tables of single signals to the facts of every engine.

Fast signals all belong to one evaluation time and say which engines there are; slow ones only add
to engines that the fast ones know, so that nothing lives on in values carried from earlier.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.arithmetic import step_ratios, usable_values
from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.slow import SlowNumbers, SlowView
from ridgeline.telemetry.unsealed import sealed, unsealed_facts

_NOTHING_SLOW: Final = SlowNumbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Everything that the tables tell, by engine."""

    engines: Mapping[tuple[str, str], tuple[EngineFacts, ...]]
    ambiguous: frozenset[EngineKey]
    remarks: tuple[str, ...]


class _FastValues(NamedTuple):
    """The usable fast numbers by engine, in the order of `FAST`."""

    sample_age: Mapping[EngineKey, float]
    decode_concurrency: Mapping[EngineKey, float]
    request_steps: Mapping[EngineKey, float]
    generated_tokens: Mapping[EngineKey, float]
    first_tokens: Mapping[EngineKey, float]


def assemble(
    fast: Mapping[str, SignalTable], slow: SlowView, *, window_seconds: float
) -> Assembled:
    """Facts of every engine that a fast signal knows.

    Args:
        fast: A table for each name of `FAST`, all of one evaluation time.
        slow: What the slow queries know.
        window_seconds: Rate window. It is also the age given to an engine whose age is unknown: its
            rates prove a sample inside the window, and nothing better.
    """
    broken = frozenset[EngineKey]().union(*(fast[name].not_finite for name in FAST))
    ambiguous = slow.processes_differ.union(*(fast[name].ambiguous for name in FAST))
    age, *signals = (fast[name].values for name in FAST)
    # A sample's age may be below 0 by the difference of two clocks; no other signal may.
    values = _FastValues._make((age, *map(usable_values, signals)))
    pods: dict[tuple[str, str], tuple[EngineFacts, ...]] = {}
    for key in _ordered_keys(fast, broken, ambiguous):
        not_finite = tuple(n for n in FAST if key in fast[n].not_finite) if key in broken else ()
        if slow.not_finite:
            not_finite += slow.not_finite.get(key, ())
        facts = _engine(
            key, values, slow.numbers.get(key, _NOTHING_SLOW), window_seconds, not_finite
        )
        pods[key[:2]] = (*pods.get(key[:2], ()), facts)
    return Assembled(
        engines=MappingProxyType({pod: _ordered(engines) for pod, engines in pods.items()}),
        ambiguous=ambiguous,
        remarks=_remarks(ambiguous, slow.scraped_twice - ambiguous),
    )


def _ordered_keys(
    fast: Mapping[str, SignalTable],
    broken: frozenset[EngineKey],
    ambiguous: frozenset[EngineKey],
) -> list[EngineKey]:
    """Every engine that may be told of, by name."""
    keys: dict[EngineKey, object] = {}
    # Answers come nearly in order and with the same engines, which this keeps: cheap to sort.
    for name in FAST:
        keys |= fast[name].values
    keys |= dict.fromkeys(broken)
    return sorted(keys.keys() - ambiguous if ambiguous else keys)


def _ordered(engines: tuple[EngineFacts, ...]) -> tuple[EngineFacts, ...]:
    """Engines by number: shorter names first, so that 10 comes after 2."""
    if len(engines) == 1:
        return engines
    return tuple(sorted(engines, key=lambda facts: (len(facts.engine), facts.engine)))


def _engine(
    key: EngineKey,
    fast: _FastValues,
    slow: SlowNumbers,
    window_seconds: float,
    not_finite: tuple[str, ...],
) -> EngineFacts:
    age = fast.sample_age.get(key, window_seconds)
    seconds, steps = fast.decode_concurrency.get(key), fast.request_steps.get(key)
    generated = fast.generated_tokens.get(key)
    ratios = step_ratios(seconds, steps, generated, fast.first_tokens.get(key))
    facts = unsealed_facts()
    facts.engine = key.engine
    facts.age_seconds = age if age > 0 else 0.0
    facts.decode_concurrency = seconds
    facts.request_steps_per_second = steps
    facts.generated_tokens_per_second = generated
    facts.step_seconds, facts.acceptance_length, facts.tpot_seconds = ratios
    _set_slow(facts, slow)
    facts.not_finite = not_finite
    return sealed(facts)


def _set_slow(facts: Any, slow: SlowNumbers) -> None:
    # In the order of `SlowNumbers`.
    (
        facts.steps_per_second,
        facts.mean_batch,
        facts.drafts_per_second,
        facts.drafted_share,
        facts.draft_tokens_per_second,
        facts.acceptance,
        facts.tpot_p99_seconds,
        facts.tpot_p99_bounds,
        facts.finished_per_second,
        facts.longest_answer_seconds,
        facts.longest_answer_unbounded,
        facts.running,
        facts.waiting,
        facts.waiting_for_capacity,
        facts.queue_seconds_per_second,
        facts.preemptions_per_second,
        facts.kv_cache_use,
        facts.prompt_tokens_per_second,
        facts.mean_prompt_tokens,
        facts.mean_output_tokens,
        facts.ttft_seconds,
        facts.step_latency_p99_seconds,
    ) = slow


def _remarks(
    ambiguous: frozenset[EngineKey], scraped_twice: frozenset[EngineKey]
) -> tuple[str, ...]:
    remarks = []
    if ambiguous:
        remarks.append(
            f"{_counted(ambiguous)} left out: two servers answer under the same namespace, Pod and "
            "engine; tell them apart with the endpoint's matchers (such as cluster), or correct "
            "the relabelling"
        )
    if scraped_twice:
        remarks.append(
            f"{_counted(scraped_twice)} scraped more than once (each is counted once): remove "
            "the second scrape job; a container that declares several ports gives one per port"
        )
    return tuple(remarks)


def _counted(keys: Iterable[EngineKey]) -> str:
    """How many engines, and the first by name."""
    ordered = sorted(keys)
    first = ordered[0]
    verb = "engine is" if len(ordered) == 1 else "engines are"
    return f"{len(ordered)} {verb} (first {first.namespace}/{first.pod} engine {first.engine})"
