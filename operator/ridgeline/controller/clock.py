"""The one place that reads the clock; everything else takes time as a parameter."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns epoch seconds."""


def system_clock() -> float:
    """Return the time of day in epoch seconds."""
    return time.time()  # noqa: TID251


def stopwatch() -> float:
    """Return seconds of a clock that only runs forward, for durations."""
    return time.monotonic()
