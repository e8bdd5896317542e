"""Two hours of a simulated fleet under a real operator, as what Prometheus would scrape of it.

Quiet, crowded and quiet again; one serving names a Deployment that is not there, and for a while
the telemetry endpoint does not answer. The operator and its reader are the real ones, in virtual
time; of what it would tell of the API server, the calls are those that it made of the simulated
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry

from ridgeline.sim.session import Call, CallKind
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from tests.component.controller.simulated_prometheus import Misbehaviour, simulated_prometheus
from tests.component.controller.world import WINDOW, Process, World, spec

HOURS: Final = 2
EVERY_SECONDS: Final = 30.0
LABELS: Final = {"job": "ridgeline", "pod": "ridgeline-0", "instance": "10.0.0.1:8080"}

_CALLS: Final = {
    CallKind.STATUS: ("patch", "speculativeservings/status"),
    CallKind.EVENT: ("create", "events"),
    CallKind.PROFILE: ("patch", "deployments"),
    CallKind.REHEARSAL: ("patch", "deployments"),
    CallKind.READ: ("get", "deployments"),
}
_KINDS: Final = ("speculativeservings", "deployments", "pods", "nodes")


async def played() -> tuple[str, float, float]:
    """Play; return the series in OpenMetrics, and the first and the last moment."""
    world = World()
    for name in ("llama-70b", "qwen-8b"):
        world.deploy(name)
        world.cluster.create_serving(name, spec(name))
    world.cluster.create_serving("mistral", spec("nowhere"))
    async with simulated_prometheus(world.telemetry, WINDOW) as prometheus:
        endpoint = Endpoint(name="default", url=prometheus.url)
        reader = TelemetryReader(endpoint, window_seconds=WINDOW)
        world.sources["default"] = reader
        process = world.start()
        process.metrics.leader.set(1)
        process.session.faults = lambda call: _called(process, call)
        began = world.cluster.now
        lines: list[str] = []
        while (since := world.cluster.now - began) < HOURS * 3600:
            world.users["llama-70b"] = 70 - 50 * math.cos(2 * math.pi * since / 3600)
            world.users["qwen-8b"] = 30 + 10 * math.sin(2 * math.pi * since / 1800)
            down = 3000 < since < 3600
            prometheus.misbehaviour = Misbehaviour(status=503 if down else 200)
            await world.run(EVERY_SECONDS)
            _as_if_in_a_cluster(process, since)
            lines += _samples(process.metrics.registry, world.cluster.now)
        await reader.close()
    return "\n".join([*lines, "# EOF", ""]), began, world.cluster.now


def _called(process: Process, call: Call) -> None:
    process.metrics.api.called(*_CALLS.get(call.kind, ("patch", "deployments")), "200")


def _as_if_in_a_cluster(process: Process, since: float) -> None:
    """What only a process in a cluster tells: the Lease's renewals, bookmarks, its event loop."""
    metrics = process.metrics
    for _ in range(15):
        metrics.api.called("update", "leases", "200")
        metrics.time.lagged(0.002)
    for place, kind in enumerate(_KINDS):
        silence = 8 * (place + 1) + 5 * math.sin(since / 600 + place)
        metrics.api._heard.labels(kind, "*").set(process.cluster.now - silence)


def _samples(registry: CollectorRegistry, at: float) -> Iterator[str]:
    for family in registry.collect():
        for each in family.samples:
            if not each.name.endswith("_created"):
                yield f"{each.name}{{{_labels(each.labels)}}} {each.value} {at}"


def _labels(labels: dict[str, Any]) -> str:
    told = {**LABELS, **labels}
    quoted = (
        (key, str(value).replace("\\", r"\\").replace('"', r"\"")) for key, value in told.items()
    )
    return ",".join(f'{key}="{value}"' for key, value in quoted)
