"""Sums over a fleet that no order of its parts changes, and that are known whole or not at all."""

import math
from collections.abc import Iterable
from typing import cast


def exact_sum(values: Iterable[float | None]) -> float | None:
    """Return the exact sum; `None` when a part is missing or not finite, or nothing is there."""
    parts = list(values)
    whole = _plain_sum(parts)
    if whole is not None:
        return whole
    known = [each for each in parts if each is not None and math.isfinite(each)]
    if not known or len(known) != len(parts):
        return None
    try:
        total = math.fsum(sorted(known))
    except OverflowError:
        return None
    return total if math.isfinite(total) else None


def _plain_sum(parts: list[float | None]) -> float | None:
    """Return the sum of finite parts none of which is negative, `None` of any others.

    `fsum` rounds once, so it needs no order; and with no part below 0 no sum on the way to a finite
    one overflows, in whatever order.
    """
    try:
        known = cast("list[float]", parts)
        total = math.fsum(known)
        return total if known and math.isfinite(total) and min(known) >= 0.0 else None
    except (OverflowError, TypeError, ValueError):
        return None
