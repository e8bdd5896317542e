"""Pure: from the tables of single signals to the facts of every engine.

Fast signals all belong to one evaluation time and say which engines there are; slow ones only add
to engines that the fast ones know, so that nothing lives on in values carried from earlier.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.arithmetic import fast_numbers
from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.slow import SlowNumbers, SlowView

_NOTHING_SLOW: Final = SlowNumbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Everything that the tables tell, by engine."""

    engines: Mapping[tuple[str, str], tuple[EngineFacts, ...]]
    ambiguous: frozenset[EngineKey]
    remarks: tuple[str, ...]


class _FastValues(NamedTuple):
    """The fast numbers by engine, in the order of `FAST`."""

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
    keys = broken.union(*(fast[name].values for name in FAST)) - ambiguous
    values = _FastValues._make(fast[name].values for name in FAST)
    pods: dict[tuple[str, str], list[EngineFacts]] = {}
    for key in sorted(keys):
        not_finite = tuple(n for n in FAST if key in fast[n].not_finite) if key in broken else ()
        not_finite += slow.not_finite.get(key, ())
        facts = _engine(
            key, values, slow.numbers.get(key, _NOTHING_SLOW), window_seconds, not_finite
        )
        pods.setdefault((key.namespace, key.pod), []).append(facts)
    return Assembled(
        engines=MappingProxyType({pod: _ordered(engines) for pod, engines in pods.items()}),
        ambiguous=ambiguous,
        remarks=_remarks(ambiguous, slow.scraped_twice - ambiguous),
    )


def _ordered(engines: list[EngineFacts]) -> tuple[EngineFacts, ...]:
    """Engines by number: shorter names first, so that 10 comes after 2."""
    if len(engines) == 1:
        return (engines[0],)
    return tuple(sorted(engines, key=lambda facts: (len(facts.engine), facts.engine)))


def _engine(
    key: EngineKey,
    fast: _FastValues,
    slow: SlowNumbers,
    window_seconds: float,
    not_finite: tuple[str, ...],
) -> EngineFacts:
    numbers = fast_numbers(
        inter_token_seconds=fast.decode_concurrency.get(key),
        request_steps=fast.request_steps.get(key),
        generated=fast.generated_tokens.get(key),
        first=fast.first_tokens.get(key),
    )
    age = fast.sample_age.get(key, window_seconds)
    return EngineFacts(
        engine=key.engine,
        age_seconds=max(age, 0.0),
        decode_concurrency=numbers.decode_concurrency,
        request_steps_per_second=numbers.request_steps_per_second,
        steps_per_second=slow.steps_per_second,
        step_seconds=numbers.step_seconds,
        mean_batch=slow.mean_batch,
        generated_tokens_per_second=numbers.generated_tokens_per_second,
        acceptance_length=numbers.acceptance_length,
        tpot_seconds=numbers.tpot_seconds,
        drafts_per_second=slow.drafts_per_second,
        drafted_share=slow.drafted_share,
        running=slow.running,
        waiting=slow.waiting,
        tpot_p99_seconds=slow.tpot_p99_seconds,
        step_latency_p99_seconds=slow.step_latency_p99_seconds,
        tpot_p99_bounds=slow.tpot_p99_bounds,
        acceptance=slow.acceptance,
        draft_tokens_per_second=slow.draft_tokens_per_second,
        prompt_tokens_per_second=slow.prompt_tokens_per_second,
        mean_prompt_tokens=slow.mean_prompt_tokens,
        mean_output_tokens=slow.mean_output_tokens,
        kv_cache_use=slow.kv_cache_use,
        preemptions_per_second=slow.preemptions_per_second,
        waiting_for_capacity=slow.waiting_for_capacity,
        queue_seconds_per_second=slow.queue_seconds_per_second,
        ttft_seconds=slow.ttft_seconds,
        not_finite=not_finite,
    )


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
