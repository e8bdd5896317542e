"""What the fleet does now, from the replicas that joined.

    concurrency       = Σ decode_concurrency ÷ engines          (mean per engine)
    tokens per second = Σ generated tokens per second
    TPOT              = Σ (TPOT · tokens/s) ÷ Σ tokens/s         (a mean per token)
    acceptance length = Σ (length · request-steps/s) ÷ Σ request-steps/s

Sums are exact (`math.fsum` of sorted values), so no order of replicas or engines changes a digit.
The gauge of running requests is not used: it was seen to read 0 or 1 under a steady load of 32
clients on vLLM 0.32.
"""

import math
from collections.abc import Iterable

from ridgeline.policy.decision import Estimates
from ridgeline.policy.facts import EngineFacts
from ridgeline.policy.fleet import Fleet
from ridgeline.policy.sums import exact_sum


def estimate(fleet: Fleet) -> Estimates:
    """Return the estimates; a number that cannot be had, or is not finite, is `None`."""
    engines = fleet.engines
    ages = [engine.age_seconds + fleet.read_seconds_ago for engine in engines]
    return Estimates(
        concurrency=_mean([engine.decode_concurrency for engine in engines]),
        joined_replicas=len(fleet.joined),
        expected_replicas=fleet.expected,
        pending_replicas=len(fleet.pending),
        tokens_per_second=exact_sum([engine.generated_tokens_per_second for engine in engines]),
        tpot_seconds=_weighted(
            [(engine.tpot_seconds, engine.generated_tokens_per_second) for engine in engines]
        ),
        acceptance_length=_acceptance_length(engines),
        oldest_age_seconds=max(ages, default=None),
    )


def _acceptance_length(engines: tuple[EngineFacts, ...]) -> float | None:
    return _weighted(
        [(engine.acceptance_length, engine.request_steps_per_second) for engine in engines]
    )


def _mean(values: list[float | None]) -> float | None:
    total = exact_sum(values)
    if total is None:
        return None
    known = [value for value in values if value is not None]
    # Division can round past the values themselves; a mean of equal numbers is that number.
    return min(max(total / len(known), min(known)), max(known))


def _weighted(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Weighted mean over the pairs that are known and have a positive, finite weight."""
    known = [
        (value, weight)
        for value, weight in pairs
        if value is not None and weight is not None and math.isfinite(value)
        if math.isfinite(weight) and weight > 0
    ]
    above = exact_sum([value * weight for value, weight in known])
    below = exact_sum([weight for _, weight in known])
    if above is None or not below:
        return None
    mean = above / below
    return mean if math.isfinite(mean) else None
