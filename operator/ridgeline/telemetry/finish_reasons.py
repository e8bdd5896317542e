"""Pure: how requests ended, by vLLM's finish reason; bounded, since labels are what servers say."""

import math
from collections.abc import Iterable
from typing import Final

Finished = tuple[tuple[str, float], ...]
"""Requests per second by finish reason, in the order of the reasons."""

OTHER: Final = "other"
"""Stands for every reason that is not told apart."""

MOST_REASONS: Final = 8
LONGEST_REASON: Final = 32

_KNOWN: Final = frozenset({"stop", "length", "abort", "error", "repetition"})
"""vLLM's own (recorded from 0.32.0), which are told apart however many others there are."""


def reason_of(label: str | None) -> str:
    """The reason that a label names; `OTHER` where it names none that could be shown."""
    if label and len(label) <= LONGEST_REASON and label.isprintable():
        return label
    return OTHER


def finished_of(rates: Iterable[tuple[str, float | None]]) -> Finished | None:
    """Rates by reason, of at most `MOST_REASONS` reasons; equal reasons are summed.

    Args:
        rates: Reasons as `reason_of` names them, and requests per second.

    Returns:
        `None` without any rate, or when one is unknown, not finite or negative: shares of the rest
        would be those of nothing.
    """
    found: dict[str, float] = {}
    for reason, rate in rates:
        if rate is None or not 0 <= rate < math.inf:
            return None
        found[reason] = found.get(reason, 0.0) + rate
    if len(found) > MOST_REASONS:
        found = _fewer(found)
    if not found or sum(found.values()) == math.inf:
        return None
    return tuple(sorted(found.items()))


def _fewer(found: dict[str, float]) -> dict[str, float]:
    """The first reasons, vLLM's own before others, and the sum of the rest."""
    named = sorted(found.keys() - {OTHER}, key=lambda reason: (reason not in _KNOWN, reason))
    kept, rest = named[: MOST_REASONS - 1], named[MOST_REASONS - 1 :]
    summed = sum((found[reason] for reason in rest), start=found.get(OTHER, 0.0))
    return {reason: found[reason] for reason in kept} | {OTHER: summed}
