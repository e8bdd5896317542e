"""Cut-offs and bands on made-up leads over a grid."""

import math
from collections.abc import Callable, Sequence

import pytest

from ridgeline.costmodel.border import Edges, edges
from ridgeline.costmodel.envelope import grid

POINTS = grid(1000.0)


def found(lead: Callable[[float], float], spread: float = 0.1) -> Edges:
    def leads(concurrencies: Sequence[float]) -> list[float]:
        return [lead(each) for each in concurrencies]

    values = leads(POINTS)
    last = max(index for index, value in enumerate(values) if value > 0.0)
    return edges(POINTS, values, last, leads, spread)


def test_a_smooth_fall_is_solved_with_its_band() -> None:
    one = found(lambda b: 0.5 * math.log(40.0 / b))
    assert one.cutoff == pytest.approx(40.0, rel=1e-3)
    assert one.low == pytest.approx(40.0 / math.exp(0.2), rel=1e-2)
    assert one.high == pytest.approx(40.0 * math.exp(0.2), rel=1e-2)
    assert one.sure_below


def test_a_jump_is_found_where_it_is() -> None:
    assert found(lambda b: 0.5 if b < 100.0 else -0.5).cutoff == pytest.approx(100.0, rel=5e-3)


def test_a_flat_end_has_no_upper_edge() -> None:
    one = found(lambda b: max(-0.05, 0.5 * math.log(40.0 / b)))
    assert one.high is None


def test_a_lead_that_is_never_clear_is_not_sure() -> None:
    one = found(lambda b: min(0.05, 0.5 * math.log(40.0 / b)))
    assert not one.sure_below
    assert one.low == POINTS[0]
