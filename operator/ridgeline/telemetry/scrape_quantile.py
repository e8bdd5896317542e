"""Pure: a quantile of a histogram's growth, as PromQL's `histogram_quantile` reads it."""

from collections.abc import Sequence
from dataclasses import dataclass

_INFINITE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A quantile and the bounds of the bucket that it lies in: nothing resolves it finer.

    Attributes:
        value: By linear interpolation inside the bucket; in the last one its lower bound.
        bounds: Lower and upper bound; the upper one of the last bucket is its lower one again,
            since infinity is no number to tell.
    """

    value: float
    bounds: tuple[float, float]


def quantile_of(q: float, bounds: Sequence[float], counts: Sequence[float]) -> Quantile | None:
    """The quantile `q` of the samples in cumulative buckets; `None` without samples.

    Args:
        q: Between 0 and 1.
        bounds: Upper bounds, rising, the last one infinite.
        counts: How many samples are at most so large, one for each bound. A count below the one
            before it (scraped between two updates) counts as that one.
    """
    if len(bounds) < 2 or bounds[-1] != _INFINITE or len(bounds) != len(counts):
        return None
    rising: list[float] = []
    for count in counts:
        rising.append(max(count, rising[-1]) if rising else max(count, 0.0))
    total = rising[-1]
    if total <= 0:
        return None
    rank = q * total
    index = next(i for i, count in enumerate(rising) if count >= rank)
    if index == len(rising) - 1:
        return Quantile(value=bounds[-2], bounds=(bounds[-2], bounds[-2]))
    upper = bounds[index]
    if index == 0 and upper <= 0:
        return Quantile(value=upper, bounds=(upper, upper))
    lower = bounds[index - 1] if index else 0.0
    before = rising[index - 1] if index else 0.0
    inside = rising[index] - before
    share = (rank - before) / inside if inside > 0 else 1.0
    return Quantile(value=lower + (upper - lower) * share, bounds=(lower, upper))
