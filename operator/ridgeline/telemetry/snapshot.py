"""What one read of a telemetry endpoint yields."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.parse import EngineKey
from ridgeline.telemetry.slow import GpuActivity

PodKey = tuple[str, str]
"""Namespace and name of a Pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySnapshot:
    """All engines that one endpoint knows, at one evaluation time, and how the reading went.

    Attributes:
        endpoint: Name of the endpoint.
        taken_at: Evaluation time of every query (epoch seconds).
        window_seconds: Rate window of the signals.
        error: Why there are no numbers, with the way out; `None` when every query that a decision
            needs was answered. The text stays the same while the same thing fails.
        answered_at: When the endpoint last answered every needed query; `None` if never.
        next_attempt_at: Until when a failing endpoint is left alone; `None` when it is well.
        asked: Whether the endpoint was asked at all (it is not while it is left alone).
        warnings: Remarks of the endpoint and of the reading, each once.
        partial: Remarks of the endpoint that mean that its answers may lack series or samples.
        failed: Slow queries that failed in this read, with the reason; their older values stay
            until they are too old.
        engines: Engines by (namespace, Pod), ordered by name; empty on an error.
        gpus: What a GPU exporter tells of the GPUs of each Pod, where the endpoint has one.
        ambiguous: Engines left out because two servers answer under their name.
        query_seconds: How long each query of this read took.
        series: How many series each query of this read returned.
        slow_age_seconds: Age of the values of each slow query that is still in use.
    """

    endpoint: str
    taken_at: float
    window_seconds: float
    error: str | None = None
    answered_at: float | None = None
    next_attempt_at: float | None = None
    asked: bool = True
    warnings: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[PodKey, tuple[EngineFacts, ...]] = field(default_factory=dict)
    gpus: Mapping[PodKey, GpuActivity] = field(default_factory=dict)
    ambiguous: frozenset[EngineKey] = frozenset()
    query_seconds: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, int] = field(default_factory=dict)
    slow_age_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def data_age_seconds(self) -> float | None:
        """How long ago the endpoint last answered in full; `None` if never. For alerts."""
        return None if self.answered_at is None else max(0.0, self.taken_at - self.answered_at)

    @property
    def acceptance(self) -> Mapping[EngineKey, tuple[float, ...]]:
        """Acceptance p_i by engine, where it is known."""
        return {
            EngineKey(namespace, pod, engine.engine): engine.acceptance
            for (namespace, pod), engines in self.engines.items()
            for engine in engines
            if engine.acceptance is not None
        }

    @property
    def newest_sample_age_seconds(self) -> float | None:
        """Age of the newest sample of any engine; `None` without engines."""
        ages = [engine.age_seconds for pod in self.engines.values() for engine in pod]
        return min(ages, default=None)
