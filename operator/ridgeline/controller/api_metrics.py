"""Metrics of the way to the API server: calls by how they ended, and whether watches live."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ridgeline.controller.clock import Clock, system_clock

_WATCH: Final = ("resource", "scope")


class ApiMetrics:
    """What `cluster.accounting` tells, as metrics."""

    def __init__(self, registry: CollectorRegistry, clock: Clock = system_clock) -> None:
        self._clock = clock
        self._calls = Counter(
            "ridgeline_api_calls_total",
            "Calls to the Kubernetes API that have ended, and watches that began.",
            ["verb", "resource", "code"],
            registry=registry,
        )
        self._heard = Gauge(
            "ridgeline_watch_heard_timestamp_seconds",
            "When a watch stream last brought anything: an event, or the API server's bookmark of "
            "each minute.",
            _WATCH,
            registry=registry,
        )

    def called(self, verb: str, resource: str, code: str) -> None:
        """Count a call."""
        self._calls.labels(verb, resource, code).inc()

    def heard(self, resource: str, scope: str) -> None:
        """Keep when a watch was last alive."""
        self._heard.labels(resource, scope).set(self._clock())

    def silent_seconds(self) -> float | None:
        """Return for how long the most silent watch stream has brought nothing.

        `None` before any stream has begun.
        """
        heard = [each.value for family in self._heard.collect() for each in family.samples]
        return max(0.0, self._clock() - min(heard)) if heard else None
