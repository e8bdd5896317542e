"""The fleet's sums, from what telemetry knows of each engine.

Sums are exact (`math.fsum` of sorted values), so no order of engines changes a digit. A sum is
known only when every engine that is seen tells its part: a part taken for the whole would read as
calm. The mean answer is weighted by tokens, as far as it is known.

Concurrency is the mean of requests in decode. Under preemption a request's time between two tokens
includes the time without a place, which inflates that mean; the mean batch of the engine's steps
does not count it, so the lesser of the two holds there.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ridgeline.policy.facts import EngineFacts
from ridgeline.policy.sums import exact_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSignals:
    """Sums over the engines seen, named as in `LawInputs`; `None` where not known."""

    generated_tokens_per_second: float | None = None
    waiting_requests: float | None = None
    mean_output_tokens: float | None = None
    concurrency: float | None = None
    waiting_for_capacity: float | None = None
    queued_requests: float | None = None
    preemptions_per_second: float | None = None


def fleet_signals(engines: Iterable[EngineFacts]) -> FleetSignals:
    """Return the sums over engines."""
    seen = tuple(engines)
    levels = exact_sum([_level(each) for each in seen])
    return FleetSignals(
        generated_tokens_per_second=exact_sum([each.generated_tokens_per_second for each in seen]),
        waiting_requests=exact_sum([each.waiting for each in seen]),
        mean_output_tokens=_mean_output(seen),
        concurrency=None if levels is None else levels / len(seen),
        waiting_for_capacity=exact_sum([each.waiting_for_capacity for each in seen]),
        queued_requests=exact_sum([each.queue_seconds_per_second for each in seen]),
        preemptions_per_second=exact_sum([each.preemptions_per_second for each in seen]),
    )


def _level(engine: EngineFacts) -> float | None:
    level, batch = engine.decode_concurrency, engine.mean_batch
    preempts = engine.preemptions_per_second is not None and engine.preemptions_per_second > 0
    if level is None or batch is None or not preempts or not math.isfinite(batch):
        return level
    return min(level, batch)


def _mean_output(engines: tuple[EngineFacts, ...]) -> float | None:
    pairs = [
        (each.mean_output_tokens, each.generated_tokens_per_second)
        for each in engines
        if each.mean_output_tokens is not None and each.generated_tokens_per_second is not None
    ]
    above = exact_sum([mean * weight for mean, weight in pairs])
    below = exact_sum([weight for _, weight in pairs])
    if above is None or not below:
        return None
    mean = above / below
    return mean if math.isfinite(mean) else None
