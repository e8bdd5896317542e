"""How tests look at a snapshot, and what they compare it with."""

import pytest

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry.exporter import recorded_rate
from tests.component.telemetry.scene import NAMESPACE, WINDOW_SECONDS

RATE_TOLERANCE = 0.15
"""Busy machines miss scrapes at the ends of the window; ratios of one scrape do not suffer."""


async def read(endpoint: Endpoint, at: float) -> TelemetrySnapshot:
    """One read by a new reader, as of `at`."""
    reader = TelemetryReader(endpoint, window_seconds=WINDOW_SECONDS)
    try:
        return await reader.read(at)
    finally:
        await reader.close()


def engines(
    snapshot: TelemetrySnapshot, pod: str, namespace: str = NAMESPACE
) -> tuple[EngineFacts, ...]:
    """All engines of a Pod."""
    return snapshot.engines[namespace, pod]


def only(snapshot: TelemetrySnapshot, pod: str, namespace: str = NAMESPACE) -> EngineFacts:
    """The one engine of a Pod."""
    (engine,) = engines(snapshot, pod, namespace)
    return engine


def close_to(source: str, series: str, *, pace: float = 1.0) -> object:
    """The recorded rate of a series, as well as scrapes can tell it."""
    return pytest.approx(recorded_rate(source, series) * pace, rel=RATE_TOLERANCE)


def decoded(source: str) -> float:
    """Recorded tokens per second that decode steps made."""
    return recorded_rate(source, "generation_tokens_total") - recorded_rate(
        source, "time_to_first_token_seconds_count"
    )
