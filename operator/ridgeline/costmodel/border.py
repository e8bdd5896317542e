"""Where one profile gives way to another, and the band in which the truth may lie.

f(B) = ln of the lower profile's goodput over the upper one's, the margin taken off a profile that
speculates against one that does not. The cut-off is where f = 0. With sd the standard deviation of
f the band's lower edge is where f = +z·sd, the upper where f = −z·sd.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

ROUNDS: Final = 3
"""Most times that a cell of the grid is divided to find a cut-off."""
PIECES: Final = 6
"""Pieces of each division."""
SMOOTH: Final = 0.03
"""Fall of f within a piece that is small enough to take f for straight; more is a jump."""

Leads = Callable[[Sequence[float]], list[float]]
"""f at several concurrencies at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """A cut-off and its band.

    Attributes:
        cutoff: Where f = 0.
        low: Lower edge.
        high: Upper edge; `None` where f never falls that far.
        sure_below: Whether f reaches +z·sd at any lower concurrency at all.
    """

    cutoff: float
    low: float
    high: float | None
    sure_below: bool


def edges(
    points: Sequence[float],
    leads: Sequence[float],
    near: int,
    leads_at: Leads,
    spread: float,
) -> Edges:
    """Return the cut-off nearest to a cell of the grid, with its band.

    Args:
        points: The grid of concurrency.
        leads: f at each point.
        near: Index of the last point at which the lower profile was taken.
        leads_at: f at any concurrencies.
        spread: z·sd.
    """
    cell = _crossing(leads, near)
    cutoff = _solve(points, leads, cell, leads_at)
    low = _downwards(points, leads, cell, spread)
    high = _upwards(points, leads, cell, -spread)
    return Edges(
        cutoff=cutoff,
        low=min(low, cutoff) if low is not None else min(points[0], cutoff),
        high=max(high, cutoff) if high is not None else None,
        sure_below=low is not None,
    )


def _crossing(leads: Sequence[float], near: int) -> int:
    """Return the cell, by its left index, in which f falls through 0 and that is nearest."""
    best, distance = near, len(leads)
    for left in range(len(leads) - 1):
        if leads[left] > 0.0 >= leads[left + 1] and abs(left - near) < distance:
            best, distance = left, abs(left - near)
    return min(best, len(leads) - 2)


def _solve(points: Sequence[float], leads: Sequence[float], cell: int, leads_at: Leads) -> float:
    """Return where f = 0 within a cell: divided evenly in ln B, straight in what is left."""
    left, right = points[cell], points[cell + 1]
    above, below = leads[cell], leads[cell + 1]
    if not above > 0.0 >= below:
        return math.sqrt(left * right)
    for _ in range(ROUNDS):
        ratio = (right / left) ** (1.0 / PIECES)
        inside = [left * ratio**step for step in range(1, PIECES)]
        for point, lead in zip(inside, leads_at(inside), strict=True):
            if lead <= 0.0:
                right, below = point, lead
                break
            left, above = point, lead
        if above - below < SMOOTH:
            break
    return float(left * (right / left) ** (above / (above - below)))


def _downwards(
    points: Sequence[float], leads: Sequence[float], cell: int, level: float
) -> float | None:
    for left in range(cell, -1, -1):
        if leads[left] >= level:
            return _between(points, leads, left, level)
    return None


def _upwards(
    points: Sequence[float], leads: Sequence[float], cell: int, level: float
) -> float | None:
    for right in range(cell + 1, len(points)):
        if leads[right] <= level:
            return _between(points, leads, right - 1, level)
    return None


def _between(points: Sequence[float], leads: Sequence[float], left: int, level: float) -> float:
    """Return where a straight f over ln B passes a level within a cell."""
    fall = leads[left] - leads[left + 1]
    share = (leads[left] - level) / fall if fall > 0 else 0.0
    share = min(max(share, 0.0), 1.0)
    return float(points[left] * (points[left + 1] / points[left]) ** share)
