"""Metrics of where the operator's time goes: phases of a tick, and the lag of its event loop."""

import asyncio
from enum import StrEnum
from types import TracebackType
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from ridgeline.controller.clock import stopwatch

LAG_SECONDS: Final = 0.5
"""How often the lag of the event loop is measured."""

_TICK_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LAG_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Phase(StrEnum):
    """Parts of a tick, none of them within another."""

    READ = "read"
    """Telemetry endpoints are asked."""
    JOIN = "join"
    """What is known of a serving is put together."""
    DECIDE = "decide"
    """What to do is worked out."""
    ACT = "act"
    """Targets are read and written."""
    REPORT = "report"
    """Statuses and Events are worked out and written."""


class TimeMetrics:
    """Adds up the phases of a tick over all servings, and measures the event loop."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tick = Histogram(
            "ridgeline_tick_seconds",
            "Time of a tick in each phase, added up over its servings; waiting for answers counts.",
            ["phase"],
            buckets=_TICK_BUCKETS,
            registry=registry,
        )
        self._lag = Histogram(
            "ridgeline_loop_lag_seconds",
            "How much later than it asked to a task of the event loop goes on.",
            buckets=_LAG_BUCKETS,
            registry=registry,
        )
        self._spent = dict.fromkeys(Phase, 0.0)

    def phase(self, phase: Phase) -> "_Span":
        """Return a context whose duration counts as a phase."""
        return _Span(self._spent, phase)

    def tick_ended(self) -> None:
        """Record what was spent since the last tick ended."""
        for phase, seconds in self._spent.items():
            self._tick.labels(phase.value).observe(seconds)
            self._spent[phase] = 0.0

    def lagged(self, seconds: float) -> None:
        """Record by how much a task of the event loop was late."""
        self._lag.observe(max(0.0, seconds))

    async def measure_lag(self) -> None:
        """Measure the event loop until cancelled."""
        while True:
            asked = stopwatch()
            await asyncio.sleep(LAG_SECONDS)
            self.lagged(stopwatch() - asked - LAG_SECONDS)


class _Span:
    """One stay in a phase: a class, as a generator costs several times as much."""

    __slots__ = ("_began", "_phase", "_spent")

    def __init__(self, spent: dict[Phase, float], phase: Phase) -> None:
        self._spent = spent
        self._phase = phase
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = stopwatch()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._spent[self._phase] += stopwatch() - self._began
