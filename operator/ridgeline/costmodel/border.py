"""Where one profile gives way to another, and the band in which the truth may lie.

f(B) = ln of the lower profile's goodput over the upper one's, the margin taken off a profile that
speculates against one that does not. The cut-off is where f = 0. With sd the standard deviation of
f the band's lower edge is where f = +z·sd, the upper where f = −z·sd.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

STEPS: Final = 6
"""Most secant steps to a cut-off; a geometric cell of the grid needs two or three."""
CLOSE: Final = 1e-3
"""Relative width of a cut-off that is exact enough."""


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
    lead_at: Callable[[float], float],
    spread: float,
) -> Edges:
    """Return the cut-off nearest to a cell of the grid, with its band.

    Args:
        points: The grid of concurrency.
        leads: f at each point.
        near: Index of the last point at which the lower profile was taken.
        lead_at: f at any concurrency.
        spread: z·sd.
    """
    cell = _crossing(leads, near)
    cutoff = _solve(points, leads, cell, lead_at)
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


def _solve(
    points: Sequence[float], leads: Sequence[float], cell: int, lead_at: Callable[[float], float]
) -> float:
    """Return where f = 0 within a cell, by regula falsi on ln B that halves a stuck end."""
    left, right = math.log(points[cell]), math.log(points[cell + 1])
    above, below = leads[cell], leads[cell + 1]
    if not above > 0.0 >= below:
        return math.exp((left + right) / 2.0)
    middle = right
    for _ in range(STEPS):
        if right - left < CLOSE or below == 0.0:
            break
        middle = left + (right - left) * above / (above - below)
        lead = lead_at(math.exp(middle))
        if lead > 0.0:
            left, above, below = middle, lead, below / 2.0
        else:
            right, below, above = middle, lead, above / 2.0
        if abs(lead) < 1e-4:
            break
    return math.exp(middle)


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
