"""What telemetry teaches of a profile's step time, and when it no longer fits.

One clipped logarithmic scalar per profile, one update per independent window:

    g ← g + max(0.05, 1 ÷ (n + 1)) · clip(ln(T observed ÷ T modelled) − g, ±0.5)     n-th window

so that the first windows are a plain mean in which what g began with counts as one: with 0.05
alone a profile that ran longer would be nearer to its truth than another, and the ratio of the two
would be wrong by the difference. A profile that was never seen begins where the one seen longest
stands.

T observed is the step latency (inter-token sum ÷ count) at the mean batch of the same window (count
÷ iterations), learned from only while that batch was steady. The scalar of one profile improves the
prediction of that profile alone; the ratio of two gets better once both were seen. A filter of four
parameters was no better, and least squares with forgetting winds up at steady load.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ridgeline.costmodel.arm import Acceptance, Calibration
from ridgeline.costmodel.constants import CONSTANTS, Constants

STEADY: Final = 0.10
"""Most that the batch may move within a window, as a share of its mean."""
MOST_WINDOWS: Final = 10_000
"""Windows are counted up to here; more teach nothing of the uncertainty."""
STEP_BAND: Final = 0.15
"""Relative departure of step time from what was learned that counts as drift."""
ACCEPTANCE_BAND: Final = 0.10
"""Relative departure of the acceptance length that counts as drift, beside its own deviation."""
SETTLED: Final = 20
"""Windows after which what was learned is settled enough to drift from."""


class Drift(StrEnum):
    """What left its band."""

    NONE = "None"
    STEP_TIME = "StepTime"
    ACCEPTANCE = "Acceptance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window of telemetry of one profile.

    Attributes:
        step_seconds: Mean observed step time.
        modelled_seconds: The model's step time at the same concurrency, context and acceptance.
        batch_spread: (Largest − smallest) ÷ 2 ÷ mean of the batch within the window.
    """

    step_seconds: float
    modelled_seconds: float
    batch_spread: float = 0.0


def steady(window: Window) -> bool:
    """Whether a window may be learned from: sound numbers, and a batch within ±10 %."""
    numbers = (window.step_seconds, window.modelled_seconds)
    sound = all(math.isfinite(each) and 1e-6 <= each <= 1e4 for each in numbers)
    return sound and math.isfinite(window.batch_spread) and abs(window.batch_spread) <= STEADY


def learned(before: Calibration, window: Window, constants: Constants = CONSTANTS) -> Calibration:
    """Return what is known after one more independent window; the same if it is not steady."""
    if not steady(window):
        return before
    error = math.log(window.step_seconds / window.modelled_seconds) - before.log_scale
    clip = constants.learning_clip
    gain = max(constants.learning_gain, 1.0 / (before.windows + 2))
    moved = before.log_scale + gain * min(max(error, -clip), clip)
    return Calibration(log_scale=moved, windows=min(before.windows + 1, MOST_WINDOWS))


def drifted(
    calibration: Calibration,
    window: Window,
    *,
    expected: Acceptance | None = None,
    observed_length: float | None = None,
) -> Drift:
    """Return which of acceptance and step time has left its band, acceptance first.

    A stale draft head gives no error, only slowness: this is how it shows.

    Args:
        calibration: What was learned of the profile before.
        window: Step times now.
        expected: The acceptance that the table in force rests on.
        observed_length: The acceptance length E[L] now.
    """
    if expected is not None and observed_length is not None and math.isfinite(observed_length):
        off = abs(observed_length / expected.length - 1.0)
        if off > max(ACCEPTANCE_BAND, 2.0 * expected.relative_sd):
            return Drift.ACCEPTANCE
    if calibration.windows < SETTLED or not steady(window):
        return Drift.NONE
    error = math.log(window.step_seconds / window.modelled_seconds) - calibration.log_scale
    return Drift.STEP_TIME if abs(error) > math.log1p(STEP_BAND) else Drift.NONE
