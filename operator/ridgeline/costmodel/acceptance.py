"""How often drafts are right, from whatever is known of it.

p_i is the probability that the first i drafts are all accepted, E[L] = 1 + Σ p_i. From one rate a
per token p_i = a^i. Where nothing is known a prior per method and task stands in, to recommend with
and never to act on: E[L] enters the speed-up linearly, so a guess of it is worth no roll.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Final

from ridgeline.costmodel.arm import Acceptance, Origin
from ridgeline.terms.methods import Method


class Task(StrEnum):
    """What requests are mostly about."""

    CHAT = "Chat"
    MATHS = "Maths"
    SUMMARIES = "Summaries"
    CODE = "Code"


PRIOR_SD: Final = 0.25
"""Relative standard deviation of the acceptance length of a prior."""

_FIRST: Final[dict[Method, tuple[float, float]]] = {
    Method.EAGLE: (0.68, 0.56),
    Method.EAGLE3: (0.76, 0.72),
    Method.DRAFT_MODEL: (0.72, 0.74),
    Method.MTP: (0.80, 0.65),
    Method.NGRAM: (0.50, 0.75),
    Method.SUFFIX: (0.55, 0.80),
}
"""Probability of the first draft, and of each further one given those before it.

EAGLE and EAGLE-3: rates by position that stand beside the step times of vLLM PR 32374 (MT-Bench).
The others: round figures from memory, in the middle of what is published.
"""

_TASK: Final[dict[Task, float]] = {
    Task.CHAT: 1.0,
    Task.MATHS: 1.05,
    Task.SUMMARIES: 0.92,
    Task.CODE: 1.1,
}
"""Factor on each of these probabilities (SpecDecode-Bench, by data set, roughly)."""

_HIT: Final[dict[Task, float]] = {
    Task.CHAT: 0.2,
    Task.MATHS: 0.2,
    Task.SUMMARIES: 0.4,
    Task.CODE: 0.8,
}
"""Share of request-steps in which looking up finds a draft (fit on SpecDecode-Bench)."""


def rates_from_one(rate: float, lookahead: int) -> tuple[float, ...]:
    """Return p_1 … p_K from one acceptance rate per token.

    Raises:
        ValueError: When the rate is outside 0 to 1.
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"acceptance rate is {rate}: give 0 to 1")
    return tuple(rate**position for position in range(1, lookahead + 1))


def rates_from_length(length: float, lookahead: int) -> tuple[float, ...]:
    """Return p_1 … p_K of one rate per token from an acceptance length E[L].

    Args:
        length: E[L]; below 1 it is taken for 1, above K+1 for K+1.
        lookahead: K.

    Raises:
        ValueError: When the length is not finite.
    """
    if not math.isfinite(length):
        raise ValueError(f"acceptance length is {length}: give 1 to {lookahead + 1}")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if 1.0 + math.fsum(rates_from_one(middle, lookahead)) < length:
            low = middle
        else:
            high = middle
    return rates_from_one(high, lookahead)


def rates_from_counters(observed: Sequence[float], lookahead: int) -> tuple[float, ...]:
    """Return p_1 … p_K from observed rates by position, made such that they never rise.

    Positions that were not observed follow with the ratio of the last two.

    Args:
        observed: Rates of positions 1, 2, …; numbers outside 0 to 1 are brought to the nearer end,
            those that are not finite end the row.
        lookahead: K.
    """
    row = []
    for rate in observed[:lookahead]:
        if not math.isfinite(rate):
            break
        row.append(min(max(rate, 0.0), 1.0))
    rates = list(accumulate(row, min))
    before = rates[-2] if len(rates) > 1 else 1.0
    ratio = rates[-1] / before if rates and before > 0 else 0.0
    while len(rates) < lookahead:
        rates.append((rates[-1] if rates else 0.0) * ratio)
    return tuple(rates)


def widened(rates: Sequence[float], width: int) -> tuple[float, ...]:
    """Return the rates by depth of a tree from those of a chain.

    A tree offers several drafts for each position, of which any may be right: a position that a
    chain gets right with c it gets right with 1 − (1−c)^e, e = width^0.23. The exponent rests on
    published lengths of EAGLE with and without a tree, and is weak.
    """
    exponent = float(width) ** 0.23
    found, before, reached = [], 1.0, 1.0
    for rate in rates:
        given = rate / before if before > 0 else 0.0
        reached *= 1.0 - (1.0 - given) ** exponent
        before = rate
        found.append(reached)
    return tuple(found)


def prior(method: Method, lookahead: int, task: Task = Task.CHAT) -> Acceptance:
    """Return what a method usually has on a task: a guess, to recommend with."""
    if not method.speculates:
        return Acceptance(rates=(), origin=Origin.NONE_NEEDED)
    first, further = (min(each * _TASK[task], 0.97) for each in _FIRST[method])
    rates = tuple(first * further**position for position in range(lookahead))
    looks_up = method in (Method.NGRAM, Method.SUFFIX)
    return Acceptance(
        rates=rates,
        hit=_HIT[task] if looks_up else 1.0,
        origin=Origin.PRIOR,
        relative_sd=PRIOR_SD,
    )
