"""What windows of telemetry teach, and when it no longer fits."""

import math
from dataclasses import replace

import pytest

from ridgeline.costmodel.arm import Calibration
from ridgeline.costmodel.calibration import Drift, Window, drifted, learned, steady
from tests.unit.costmodel.targets import (
    accepted,
    seen,
)


def window(ratio: float, spread: float = 0.0) -> Window:
    return Window(step_seconds=0.01 * ratio, modelled_seconds=0.01, batch_spread=spread)


def test_the_first_windows_are_a_mean_in_which_the_beginning_counts_as_one() -> None:
    known = learned(Calibration(log_scale=0.1), window(1.2))
    assert known.log_scale == pytest.approx((0.1 + math.log(1.2)) / 2)
    assert known.windows == 1
    again = learned(known, window(1.3))
    assert again.log_scale == pytest.approx((0.1 + math.log(1.2) + math.log(1.3)) / 3)


def test_what_was_learned_goes_to_the_truth_by_a_twentieth_a_window_from_then_on() -> None:
    settled = Calibration(log_scale=0.0, windows=100)
    known = learned(settled, window(1.2))
    assert known.log_scale == pytest.approx(0.05 * math.log(1.2))
    for _ in range(200):
        known = learned(known, window(1.2))
    assert known.log_scale == pytest.approx(math.log(1.2), rel=1e-3)


def test_one_wild_window_moves_little() -> None:
    settled = Calibration(log_scale=0.0, windows=100)
    assert learned(settled, window(100.0)).log_scale == pytest.approx(0.05 * 0.5)
    assert learned(settled, window(0.001)).log_scale == pytest.approx(-0.05 * 0.5)
    assert learned(Calibration(), window(100.0)).log_scale == pytest.approx(0.5 * 0.5)


@pytest.mark.parametrize(
    "bad",
    [
        window(1.2, spread=0.11),
        window(1.2, spread=float("nan")),
        window(float("nan")),
        window(float("inf")),
        window(0.0),
        Window(step_seconds=0.01, modelled_seconds=0.0),
    ],
)
def test_an_unsteady_or_unsound_window_teaches_nothing(bad: Window) -> None:
    before = seen(5, 0.1)
    assert not steady(bad)
    assert learned(before, bad) is before
    assert drifted(seen(), bad) is Drift.NONE


def test_step_time_that_leaves_its_band_is_drift_once_something_was_learned() -> None:
    settled = seen(50, math.log(1.2))
    assert drifted(settled, window(1.2 * 1.1)) is Drift.NONE
    assert drifted(settled, window(1.2 * 1.2)) is Drift.STEP_TIME
    assert drifted(settled, window(1.2 / 1.2)) is Drift.STEP_TIME
    assert drifted(seen(3), window(1.3)) is Drift.NONE


def test_acceptance_that_leaves_its_band_is_drift() -> None:
    expected = accepted((0.7, 0.5, 0.3))
    for length, drift in ((2.5, Drift.NONE), (2.3, Drift.NONE), (2.2, Drift.ACCEPTANCE)):
        found = drifted(Calibration(), window(1.0), expected=expected, observed_length=length)
        assert found is drift
    loose = replace(expected, relative_sd=0.2)
    assert drifted(Calibration(), window(1.0), expected=loose, observed_length=2.0) is Drift.NONE
