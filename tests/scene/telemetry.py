"""Numbers of single Pods for people who look on, read by the operator's own telemetry room."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from tests.scene.operator_process import WINDOW_SECONDS


@dataclass(frozen=True, kw_only=True)
class PodNumbers:
    """What telemetry knows of one Pod; None where it knows nothing."""

    concurrency: float | None
    tpot_ms: float | None


def read_pods(prometheus_url: str, namespace: str) -> dict[str, PodNumbers]:
    """Read the numbers of all Pods of a namespace, by Pod."""
    return asyncio.run(_read(prometheus_url, namespace))


async def _read(prometheus_url: str, namespace: str) -> dict[str, PodNumbers]:
    reader = TelemetryReader(
        Endpoint(name="look", url=prometheus_url), window_seconds=WINDOW_SECONDS
    )
    try:
        snapshot = await reader.read(time.time())
    finally:
        await reader.close()
    numbers = {}
    for (where, pod), engines in snapshot.engines.items():
        if where != namespace:
            continue
        tpot = engines[0].tpot_seconds
        known = [each.decode_concurrency for each in engines if each.decode_concurrency is not None]
        numbers[pod] = PodNumbers(
            concurrency=sum(known) if known else None,
            tpot_ms=None if tpot is None else 1000.0 * tpot,
        )
    return numbers
