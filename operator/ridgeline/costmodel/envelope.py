"""Which profile is best where: the upper envelope of goodput over concurrency.

Works on rows of numbers, one per profile, over one geometric grid of concurrency. A profile without
speculation carries no handicap; the others must beat it by the margin, since a roll has to pay.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

POINTS: Final = 24
"""Points of the grid: neighbours are at most 36 % apart up to 1,024 requests."""


def grid(most: float) -> list[float]:
    """Return rising concurrencies from 1 request (or less, if less is admitted) to the most."""
    first = min(1.0, most)
    if most <= first * (1.0 + 1e-9):
        return [most]
    ratio = math.log(most / first) / (POINTS - 1)
    return [*(first * math.exp(ratio * step) for step in range(POINTS - 1)), most]


@dataclass(frozen=True, slots=True)
class Run:
    """A profile that is best from one point of the grid to another, both included."""

    arm: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """The runs from the quietest to the busiest, and who does not take part.

    Attributes:
        runs: Each profile in at most one.
        never: Profiles that are best nowhere.
        slight: Profiles that are best somewhere, by less than the margin.
        torn: Profiles that are best in two ranges, and have lost the lesser one.
    """

    runs: tuple[Run, ...]
    never: tuple[int, ...]
    slight: tuple[int, ...]
    torn: tuple[int, ...]


def envelope(
    values: Sequence[Sequence[float]],
    alive: Sequence[int],
    *,
    off: int | None,
    margin: float,
    dense: bool = True,
) -> Envelope:
    """Return who is best where.

    Args:
        values: Goodput of each profile at each point of the grid.
        alive: Profiles that take part.
        off: The profile without speculation.
        margin: What a profile has to win by to be worth a range.
        dense: Whether gains fall with concurrency by nature; of a profile that is best in two
            ranges the quieter one is then kept.
    """
    taking_part, slight = list(alive), []
    while True:
        winners, gains = _winners(values, taking_part, off, margin)
        weakest = min(
            (each for each in gains if each != off), key=lambda arm: gains[arm], default=None
        )
        if weakest is None or gains[weakest] >= 1.0 + margin or len(taking_part) == 1:
            break
        taking_part = [each for each in taking_part if each != weakest]
        slight.append(weakest)
    runs, torn = _once_each(_runs(winners), values, off, dense=dense)
    used = {each.arm for each in runs}
    never = tuple(each for each in alive if each not in used and each not in slight)
    return Envelope(tuple(runs), never, tuple(slight), tuple(torn))


def _winners(
    values: Sequence[Sequence[float]], alive: Sequence[int], off: int | None, margin: float
) -> tuple[list[int], dict[int, float]]:
    """Return the best profile at each point, and each winner's largest lead over the next."""
    winners: list[int] = []
    gains: dict[int, float] = {}
    speculating = [each for each in alive if each != off]
    if not speculating:
        return [alive[0]] * len(values[alive[0]]), {alive[0]: math.inf}
    taking_part = off is not None and off in alive
    none = values[off] if off is not None and taking_part else [0.0] * len(values[alive[0]])
    columns = zip(*(values[each] for each in speculating), strict=True)
    for base, column in zip(none, columns, strict=True):
        first = max(column)
        if off is not None and first <= base * (1.0 + margin):
            winner, gain = off, base / first
        else:
            winner = speculating[column.index(first)]
            second = max(base, sorted(column)[-2] if len(column) > 1 else 0.0)
            gain = first / second if second > 0 else math.inf
        winners.append(winner)
        if gain > gains.get(winner, 0.0):
            gains[winner] = gain
    return winners, gains


def _runs(winners: Sequence[int]) -> list[Run]:
    runs: list[Run] = []
    first = 0
    for arm, points in groupby(winners):
        last = first + len(list(points)) - 1
        runs.append(Run(arm, first, last))
        first = last + 1
    return runs


def _once_each(
    runs: list[Run], values: Sequence[Sequence[float]], off: int | None, *, dense: bool
) -> tuple[list[Run], list[int]]:
    """Give the lesser range of a profile that is best in two to the neighbour below (or above).

    Of the profile without speculation the busiest range stays: off at saturation is what is safe.
    Of the others the quieter one stays where gains fall with concurrency (a second win rests on the
    weak cost of steps above the captured size), else the one that matters more.
    """
    torn: list[int] = []
    while True:
        lost = _lesser(runs, values, off, dense=dense)
        if lost is None:
            return runs, torn
        torn.append(runs[lost].arm)
        heir = runs[lost - 1] if lost else runs[1]
        rest = [each for index, each in enumerate(runs) if index != lost]
        merged: list[Run] = []
        start = 0
        for each in rest:
            last = max(each.last, runs[lost].last) if each is heir else each.last
            if merged and merged[-1].arm == each.arm:
                merged[-1] = Run(each.arm, merged[-1].first, last)
            else:
                merged.append(Run(each.arm, start, last))
            start = last + 1
        runs = merged


def _lesser(
    runs: Sequence[Run], values: Sequence[Sequence[float]], off: int | None, *, dense: bool
) -> int | None:
    for index, run in enumerate(runs):
        for later in range(index + 1, len(runs)):
            if runs[later].arm == run.arm:
                if run.arm == off:
                    return index
                if dense or _weight(run, values) >= _weight(runs[later], values):
                    return later
                return index
    return None


def _weight(run: Run, values: Sequence[Sequence[float]]) -> float:
    """Return how much a range is worth: the sum of its leads over the mean of all profiles."""
    total = 0.0
    for point in range(run.first, run.last + 1):
        others = max(row[point] for arm, row in enumerate(values) if arm != run.arm)
        total += math.log(max(values[run.arm][point], 1e-300) / max(others, 1e-300))
    return total
