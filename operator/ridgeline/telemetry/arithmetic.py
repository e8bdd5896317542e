"""Pure: from the rates of a few counters to what an engine does.

With, over one window and per second, `s` = inter-token seconds, `c` = inter-token samples,
`g` = output tokens, `f` = first tokens, `i` = engine steps and `d` = drafts:

    decode concurrency = s            step latency = s ÷ c        mean batch = c ÷ i
    acceptance length  = (g − f) ÷ c  TPOT = s ÷ (g − f)          drafted share = d ÷ c

One inter-token sample is one request in one engine step, whatever profile runs, so none of this
needs a gauge or a finished request. No traffic is a true concurrency of 0 and leaves the ratios
unknown.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

_Key = TypeVar("_Key")

LOOKAHEAD_TOLERANCE: Final = 0.03
"""A mean lookahead that is shorter than the longest by more than this share has varied. Drafts that
a request's end cuts short are a few in a hundred; the next shorter lookahead of 8 is 12 % away."""

LEAST_DRAFTED_SHARE: Final = 0.1
"""Where a smaller share of request-steps drafted, the drafts are those of load going up and down: a
recorded in-engine schedule that drafts nothing shows 0.006, and a healthy acceptance."""

_NO_SECONDS: Final = 1e-12
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class FastNumbers:
    """What every tick knows of one engine; `None` where unknown. Fields as in `EngineFacts`."""

    decode_concurrency: float | None
    request_steps_per_second: float | None
    generated_tokens_per_second: float | None
    step_seconds: float | None
    acceptance_length: float | None
    tpot_seconds: float | None


def usable(value: float | None) -> float | None:
    """The value, or `None` when it is missing, not finite or negative.

    No signal of ours can be negative; one that is comes from a broken exporter.
    """
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def usable_values(values: Mapping[_Key, float]) -> Mapping[_Key, float]:
    """Those of many finite numbers that are usable; the very mapping where all are."""
    if min(values.values(), default=0.0) >= 0:
        return values
    return {key: value for key, value in values.items() if value >= 0}


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient of usable numbers, or `None` when it is unknown, by nothing or not finite."""
    if numerator is None or denominator is None or denominator <= 0:
        return None
    value = numerator / denominator
    return value if 0 <= value < math.inf else None


def decoded_tokens(generated: float | None, first: float | None) -> float | None:
    """Tokens per second made by decode steps: the output without first tokens, at least 0."""
    if generated is None or first is None:
        return None
    return max(0.0, generated - first)


def fast_numbers(
    *,
    inter_token_seconds: float | None,
    request_steps: float | None,
    generated: float | None,
    first: float | None,
) -> FastNumbers:
    """Numbers of one engine from the rates of one evaluation time.

    Args:
        inter_token_seconds: Inter-token seconds per second.
        request_steps: Inter-token samples per second.
        generated: Output tokens per second.
        first: First tokens per second.
    """
    seconds, steps, output = usable(inter_token_seconds), usable(request_steps), usable(generated)
    step_seconds, acceptance_length, tpot_seconds = step_ratios(
        seconds, steps, output, usable(first)
    )
    return FastNumbers(
        decode_concurrency=seconds,
        request_steps_per_second=steps,
        generated_tokens_per_second=output,
        step_seconds=step_seconds,
        acceptance_length=acceptance_length,
        tpot_seconds=tpot_seconds,
    )


def step_ratios(
    seconds: float | None, steps: float | None, generated: float | None, first: float | None
) -> tuple[float | None, float | None, float | None]:
    """Step latency, acceptance length and time per output token, from usable rates.

    Without steps or decoded tokens there is nothing that they could be the mean of.
    """
    decoded = decoded_tokens(generated, first)
    return ratio(seconds, steps), ratio(decoded, steps), ratio(seconds, decoded)


def prefix_acceptance(
    accepted_by_position: Sequence[float | None], drafts: float | None
) -> tuple[float, ...] | None:
    """Acceptance p_i: the probability that the first i drafts are all accepted, i from 1.

    Unknown (`None`) when nothing was drafted, or when a position's rate is missing. Each p_i is
    kept within what the one before allows: sampling at slightly different moments must not make a
    longer prefix likelier than a shorter one.
    """
    if drafts is None or not 0 < drafts < math.inf:
        return None
    result: list[float] = []
    limit = 1.0
    for accepted in accepted_by_position:
        if accepted is None or not 0 <= accepted < math.inf:
            return None
        share = accepted / drafts
        if share < limit:
            limit = share
        result.append(limit)
    return tuple(result) or None


def steady_lookahead(draft_tokens: float | None, drafts: float | None, positions: int) -> bool:
    """Whether every draft was as long as there are positions, as far as the mean can tell.

    Only then has each position been tried by every draft, which acceptance by position needs: vLLM
    counts no drafts per position.
    """
    mean = ratio(usable(draft_tokens), usable(drafts))
    return mean is not None and abs(mean - positions) <= LOOKAHEAD_TOLERANCE * positions


def steady_acceptance(
    accepted_by_position: Sequence[float | None],
    *,
    drafts: float | None,
    draft_tokens: float | None,
    drafted_share: float | None,
) -> tuple[float, ...] | None:
    """Acceptance p_i where it can be had without bias, else `None`.

    Args:
        accepted_by_position: Accepted tokens per second at each position.
        drafts: Drafts per second.
        draft_tokens: Drafted tokens per second.
        drafted_share: Share of request-steps that drafted.
    """
    if drafted_share is None or drafted_share < LEAST_DRAFTED_SHARE:
        return None
    if not steady_lookahead(draft_tokens, drafts, len(accepted_by_position)):
        return None
    return prefix_acceptance(accepted_by_position, drafts)


def bucket_bounds(
    value: float | None, lower: float | None, upper: float | None
) -> tuple[float, float] | None:
    """Bounds of the bucket that a quantile lies in; `None` when they and it do not fit together.

    Bounds that were computed by interpolation are rounded to the figures that people write. Equal
    bounds are the beginning of the last bucket, which has no end.
    """
    if value is None or lower is None or upper is None:
        return None
    low, high = _as_written(lower), _as_written(upper)
    low = 0.0 if low < _NO_SECONDS else low
    fits = low * (1 - _ROUNDING) <= value <= high * (1 + _ROUNDING)
    return (low, high) if fits else None


def longest_answer(bound: float | None, beyond: float | None) -> tuple[float | None, bool]:
    """Bound of the longest answer, and whether the longest is above it.

    Args:
        bound: Upper bound of its histogram bucket, or the highest bound when it is above that.
        beyond: How many answers were above the highest bound; where that is unknown, nobody knows
            which kind of bound it is, and none is told.
    """
    if bound is None or beyond is None:
        return None, False
    return _as_written(bound), beyond > 0


@lru_cache(maxsize=1024)
def _as_written(bound: float) -> float:
    """A bound without the last figures, which interpolation may have changed."""
    return float(f"{bound:.9g}")
