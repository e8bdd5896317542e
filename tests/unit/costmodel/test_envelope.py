"""Who is best where, on rows of made-up goodput; the last row is the one without speculation."""

from itertools import pairwise

import pytest

from ridgeline.costmodel.envelope import Envelope, Run, envelope, grid

FLAT = [1.0] * 6


def best(*rows: list[float], margin: float = 0.03, dense: bool = True) -> Envelope:
    values = [*rows, FLAT]
    alive = range(len(values))
    return envelope(values, alive, off=len(rows), margin=margin, dense=dense)


def test_the_grid_goes_geometrically_from_one_request_to_the_most() -> None:
    points = grid(1024.0)
    assert 24 <= len(points) <= 32
    assert (points[0], points[-1]) == (1.0, 1024.0)
    ratios = [above / below for below, above in pairwise(points)]
    assert max(ratios) == pytest.approx(min(ratios))
    assert grid(1.0) == [1.0]
    assert grid(0.5) == [0.5]


def test_one_that_speculates_must_beat_none_by_the_margin() -> None:
    found = best([2.0, 1.5, 1.04, 1.02, 1.02, 0.9])
    assert found.runs == (Run(0, 0, 2), Run(1, 3, 5))


def test_one_that_wins_by_less_than_the_margin_gets_no_range() -> None:
    better, near = [2.0, 1.8, 1.5, 1.2, 0.9, 0.8], [2.04, 1.7, 1.2, 0.9, 0.8, 0.7]
    found = best(better, near)
    assert found.runs == (Run(0, 0, 3), Run(2, 4, 5))
    assert found.slight == (1,)
    assert best(better, near, margin=0.01).runs[0] == Run(1, 0, 0)


def test_one_that_is_beaten_everywhere_is_named() -> None:
    found = best([2.0, 1.8, 1.5, 1.2, 0.9, 0.8], [1.5, 1.4, 1.3, 1.1, 0.9, 0.8])
    assert found.never == (1,)


def test_none_keeps_its_busiest_range() -> None:
    found = best([0.9, 0.9, 2.0, 1.5, 0.9, 0.9])
    assert found.runs == (Run(0, 0, 3), Run(1, 4, 5))
    assert found.torn == (1,)


@pytest.mark.parametrize(
    ("dense", "runs"),
    [
        (True, (Run(0, 0, 0), Run(1, 1, 5))),
        (False, (Run(1, 0, 2), Run(0, 3, 5))),
    ],
)
def test_a_profile_that_is_best_twice_keeps_one_range(dense: bool, runs: tuple[Run, ...]) -> None:
    # Quiet by nature for dense models; else where it matters more.
    twice, once = [2.0, 1.6, 1.6, 3.0, 3.0, 3.0], [1.8, 1.8, 1.8, 1.2, 1.2, 1.2]
    assert best(twice, once, dense=dense).runs == runs
