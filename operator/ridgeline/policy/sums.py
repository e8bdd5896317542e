"""Sums over a fleet that no order of its parts changes, and that are known whole or not at all."""

import math
from collections.abc import Iterable


def exact_sum(values: Iterable[float | None]) -> float | None:
    """Return the exact sum; `None` when a part is missing or not finite, or nothing is there."""
    parts = list(values)
    known = [each for each in parts if each is not None and math.isfinite(each)]
    if not known or len(known) != len(parts):
        return None
    try:
        total = math.fsum(sorted(known))
    except OverflowError:
        return None
    return total if math.isfinite(total) else None
