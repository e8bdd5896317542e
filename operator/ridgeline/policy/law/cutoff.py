"""Where two profiles are equal, from the tokens per second that one engine delivers on each.

With X_p(B) the tokens per second of profile p at concurrency B, the cut-off B* is the least B at
which the busier profile delivers at least as much as the quieter one. There both serve the same
demand d* = X(B*) at the same concurrency, so (Little) with the same time per token: one point for
latency and throughput alike. The fleet's D* is d* times its engines.

Between the points of the curves everything is straight, so the crossing is exact. Curves change
rarely, so what was found is kept.
"""

from dataclasses import dataclass
from functools import lru_cache

from ridgeline.costmodel.curve import Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """Where two profiles are equal, for one engine.

    Attributes:
        concurrency: B*, requests in decode; 0 when the quieter profile never pays.
        demand: d*, tokens per second.
        low_demand: Demand at the lower edge of the band, as the busier profile would serve it.
    """

    concurrency: float
    demand: float
    low_demand: float


@lru_cache(maxsize=4096)
def cutoff(quieter: Curve, busier: Curve, lower_edge: float = 1.0) -> Cutoff | None:
    """Return where the busier profile catches up; `None` when it never does.

    Args:
        quieter: The profile for less demand.
        busier: The profile for more.
        lower_edge: Lower edge of the band ÷ cut-off, in concurrency, above 0 and at most 1.
    """
    left = 0.0
    for right in sorted({*quieter.concurrency, *busier.concurrency}):
        lead = quieter.tokens_at(right) - busier.tokens_at(right)
        if lead <= 0:
            return _at(_crossing(quieter, busier, left, right), busier, lower_edge)
        left = right
    return None


def _crossing(quieter: Curve, busier: Curve, left: float, right: float) -> float:
    """Return where the straight pieces between two points cross; the first starts at the origin."""
    before = quieter.tokens_at(left) - busier.tokens_at(left)
    after = quieter.tokens_at(right) - busier.tokens_at(right)
    return left + (right - left) * before / (before - after) if before > 0 else left


def _at(concurrency: float, busier: Curve, lower_edge: float) -> Cutoff:
    return Cutoff(
        concurrency=concurrency,
        demand=busier.tokens_at(concurrency),
        low_demand=busier.tokens_at(concurrency * lower_edge),
    )


def concurrency_at(curve: Curve, tokens_per_second: float) -> float:
    """Return the concurrency at which an engine delivers so much; its last point when it cannot."""
    at = curve.concurrency_at(max(0.0, tokens_per_second))
    return curve.concurrency[-1] if at is None else at


@lru_cache(maxsize=4096)
def demand_within(curve: Curve, tpot_seconds: float) -> float:
    """Return the most tokens per second that one engine delivers within a time per output token.

    The time per token grows with concurrency on every curve that bends downwards; where one does
    not, the last point within the limit counts. Between points it is found exactly:
    B / X(B) = t on the straight piece X = x0 + s·(B − b0) gives B = t·(x0 − s·b0) / (1 − t·s).
    """
    left, left_speed, best = 0.0, 0.0, 0.0
    for right, speed in zip(curve.concurrency, curve.tokens_per_second, strict=True):
        if right <= tpot_seconds * speed:
            best = speed
        elif best == left_speed:
            slope = (speed - left_speed) / (right - left)
            at = tpot_seconds * (left_speed - slope * left) / (1.0 - tpot_seconds * slope)
            best = max(best, curve.tokens_at(at) if left < at < right else 0.0)
        left, left_speed = right, speed
    return best
