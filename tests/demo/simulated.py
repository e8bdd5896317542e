"""The demo where no cluster can be had: the same controller, on simulated replicas."""

from __future__ import annotations

import asyncio
from typing import Final

from ridgeline.cluster.objects import ServingObject, trim_container
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.controller.cadence import Cadence
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.ports import AlwaysLeader
from ridgeline.controller.reconciler import Reconciler
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.sim.workload import Pace
from tests.demo.frame import Replica
from tests.demo.scenario import Outcome, Scenario, Show
from tests.demo.status import frame_of
from tests.scene.manifests import STAND_IN_GPU, Scene

WINDOW_SECONDS: Final = 12.0
TICK_SECONDS: Final = 2.0
SPEED: Final = 8.0
"""Virtual seconds per second."""


def play_simulated(scenario: Scenario, show: Show, *, speed: float = SPEED) -> Outcome:
    """Play the scenario in virtual time, `speed` times as fast as the clock (0: at once)."""
    return asyncio.run(_play(scenario, show, speed))


async def _play(scenario: Scenario, show: Show, speed: float) -> Outcome:
    scene = Scene(namespace="default", strategy="Goodput")
    cluster = SimulatedCluster(now=1_000_000.0)
    container = scene.deployment()["spec"]["template"]["spec"]["containers"][0]
    cluster.create_deployment(
        scene.name,
        containers=(trim_container(container),),
        replicas=scene.replicas,
        pace=Pace(max_surge=1, max_unavailable=1, startup_seconds=3.0),
    )
    cluster.create_serving(scene.name, scene.serving()["spec"])
    telemetry = SimulatedTelemetry(
        cluster,
        {scene.name: ClosedLoop(lambda _: float(scenario.users))},
        window_seconds=WINDOW_SECONDS,
    )
    store = WatchStore()
    session, _ = cluster.connect("operator", store)
    cluster.list_into(store)
    metrics = OperatorMetrics()
    reconciler = Reconciler(
        store=store,
        targets=session,
        reports=session,
        leader=AlwaysLeader(),
        options=Options(stale_after_seconds=20.0, max_concurrent_rolls=3),
        metrics=metrics,
        around=_around(),
    )
    cadence = Cadence(
        store=store,
        sources={"default": telemetry},
        reconciler=reconciler,
        metrics=metrics,
        clock=lambda: cluster.now,
        tick_seconds=TICK_SECONDS,
        window_seconds=WINDOW_SECONDS,
    )
    began = cluster.now
    labels = {"namespace": "default", "serving": scene.name}
    while not scenario.over:
        cluster.advance(cluster.now + TICK_SECONDS)
        await cadence.tick()
        await cadence.work_off()
        frame = frame_of(
            scenario,
            _status(store.servings.get(("default", scene.name))),
            lambda name: metrics.registry.get_sample_value(name, labels),
            await _replicas(scene, store, telemetry, cluster.now),
            cluster.now - began,
        )
        show(frame)
        scenario.feed(frame)
        if speed > 0:
            await asyncio.sleep(TICK_SECONDS / speed)
    return scenario.outcome()


def _around() -> Surroundings:
    """What surrounds the target: the accelerator that the cut-offs are predicted for."""
    around = Surroundings()
    around.accelerators.put(
        SpecObject(
            namespace="",
            name=STAND_IN_GPU["metadata"]["name"],
            uid="stand-in",
            resource_version="1",
            generation=1,
            spec=STAND_IN_GPU["spec"],
        )
    )
    return around


async def _replicas(
    scene: Scene, store: WatchStore, telemetry: SimulatedTelemetry, now: float
) -> tuple[Replica, ...]:
    snapshot = await telemetry.read(now)
    found = []
    for pod in store.pods_of("default", scene.name):
        engines = snapshot.engines.get((pod.namespace, pod.name), ())
        engine = engines[0] if engines else None
        tpot = engine.tpot_seconds if engine else None
        found.append(
            Replica(
                name=pod.name,
                profile=pod.profile or "",
                ready=pod.ready_since is not None and not pod.deleting,
                concurrency=engine.decode_concurrency if engine else None,
                tpot_ms=None if tpot is None else 1000.0 * tpot,
            )
        )
    return tuple(found)


def _status(serving: ServingObject | None) -> dict[str, object]:
    return dict(serving.status) if serving else {}
