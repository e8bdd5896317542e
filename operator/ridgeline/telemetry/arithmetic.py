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
from dataclasses import dataclass
from typing import Final

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


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient, or `None` when it is unknown, divided by nothing or not finite."""
    if numerator is None or denominator is None or denominator <= 0:
        return None
    return usable(numerator / denominator)


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
    seconds, steps = usable(inter_token_seconds), usable(request_steps)
    output, decoded = usable(generated), decoded_tokens(usable(generated), usable(first))
    # Without steps or decoded tokens the two latencies have nothing to be the mean of.
    return FastNumbers(
        decode_concurrency=seconds,
        request_steps_per_second=steps,
        generated_tokens_per_second=output,
        step_seconds=ratio(seconds, steps),
        acceptance_length=ratio(decoded, steps),
        tpot_seconds=ratio(seconds, decoded),
    )


def prefix_acceptance(
    accepted_by_position: tuple[float | None, ...], drafts: float | None
) -> tuple[float, ...] | None:
    """Acceptance p_i: the probability that the first i drafts are all accepted, i from 1.

    Unknown (`None`) when nothing was drafted, or when a position's rate is missing. Each p_i is
    kept within what the one before allows: sampling at slightly different moments must not make a
    longer prefix likelier than a shorter one.
    """
    result: list[float] = []
    limit = 1.0
    for accepted in accepted_by_position:
        share = ratio(usable(accepted), usable(drafts))
        if share is None:
            return None
        limit = min(limit, share)
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
    accepted_by_position: tuple[float | None, ...],
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
    low, high = (float(f"{bound:.9g}") for bound in (lower, upper))
    low = 0.0 if low < _NO_SECONDS else low
    fits = low * (1 - _ROUNDING) <= value <= high * (1 + _ROUNDING)
    return (low, high) if fits else None
