"""Servings in every situation, with the status that the real controller writes to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.policy.drift import SEVERAL
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.terms import names
from tests.component.controller.test_controller_learning import STALE, learned_world
from tests.component.controller.test_controller_requalify import OPTED_IN, speculating, upgrade
from tests.component.controller.test_controller_schedules import FIXED, window, world_of
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    WINDOW,
    World,
    container,
    settled,
    spec,
)

Object = dict[str, Any]

KEPT: Final = (
    "observedGeneration",
    "activeProfile",
    "desiredProfile",
    "rollout",
    "conditions",
)
"""Fields of the status that a GitOps tool can make use of; the others are left out of test data."""

ROLLOUT_KEPT: Final = ("from", "to", "state", "way")
"""Likewise of its latest roll."""

_CANARY: Final[Object] = {"rollout": {"canary": {"when": "Always"}, "trial": "Never"}}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A situation and what each tool is to make of it.

    Attributes:
        world: Plays it; the serving `llama` stands in it then.
        argo: Health in Argo CD.
        message: Argo CD's message; one that ends with a colon is the reason of a condition, whose
            message follows.
        kstatus: Status by kstatus alone, as `kubectl` and `cli-utils` take it.
        flux: Status in Flux with our expressions.
    """

    world: Callable[[], Awaitable[World]]
    argo: str
    message: str
    kstatus: str
    flux: str


async def _new() -> World:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    return world


async def _edited() -> World:
    world = await settled()
    world.cluster.edit_serving("llama", spec(cooldownSeconds=600))
    return world


async def _rolling() -> World:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(600, until=lambda: world.roll() == "Rolling")
    return world


async def _rolled() -> World:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    return world


async def _canary() -> World:
    world = World()
    world.deploy(users=LOW, containers=[container(None)])
    world.cluster.create_serving("llama", spec(**_CANARY))
    world.start()
    assert await world.run(600, until=lambda: world.roll() == "Canary")
    return world


async def _ordered() -> World:
    world = await settled()
    world.cluster.force("llama", "eagle2")
    world.users["llama"] = HIGH
    await world.run(120)
    return world


async def _contested(**fields: Any) -> World:
    world = World()
    world.deploy(users=HIGH)
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="flux")
    world.cluster.create_serving("llama", spec())
    world.start()
    assert await world.run(600, until=lambda: world.condition("Stalled")[1] == "FieldConflict")
    if fields:
        world.cluster.edit_serving("llama", spec(**fields))
        await world.run(60)
    return world


async def _contested_and_suspended() -> World:
    return await _contested(suspend=True)


async def _undone() -> World:
    world = await _rolled()
    world.cluster.rollout_undo("llama")
    assert await world.run(600, until=lambda: world.condition("Stalled")[1] == "UndoneByOthers")
    return world


async def _suspended() -> World:
    world = await settled()
    world.cluster.edit_serving("llama", spec(suspend=True))
    await world.run(60)
    return world


async def _frozen() -> World:
    return await settled(frozen=True)


async def _recommends() -> World:
    world = await settled()
    world.cluster.edit_serving("llama", spec(mode="RecommendOnly"))
    await world.run(60)
    return world


async def _restores() -> World:
    world = await settled()
    world.cluster.edit_serving("llama", spec(onDelete="Restore"))
    await world.run(60)
    return world


async def _blind() -> World:
    world = await settled()
    world.telemetry.faults.error = "HTTP 503: service unavailable"
    await world.run(600)
    return world


async def _without_target() -> World:
    world = World()
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(60)
    return world


async def _spec_unreadable() -> World:
    world = await settled()
    world.cluster.edit_serving("llama", {"targetRef": {"name": "llama"}, "profiles": []})
    await world.run(60)
    return world


async def _schedules_valid() -> World:
    return await world_of(FIXED, window("night", 8 * 3600.0, 3600, freeze=True))


async def _schedules_invalid() -> World:
    lost = window("lost", 0.0, 3600, profile="none", timeZone="Europe/Nowhere")
    return await world_of(FIXED, lost)


async def _drifted() -> World:
    world, source, _ = await learned_world(mode="RecommendOnly")
    source.signals = STALE
    await world.run((SEVERAL + 3) * WINDOW)
    return world


async def _not_proven_anew() -> World:
    world = await speculating(spec, OPTED_IN)
    upgrade(world)
    assert await world.run(1800, until=lambda: world.condition("ProofFresh")[1] == "ProofStale")
    return world


def _healthy(world: Callable[[], Awaitable[World]], message: str) -> Situation:
    return Situation(
        world=world, argo="Healthy", message=message, kstatus="Current", flux="Current"
    )


def _waits(world: Callable[[], Awaitable[World]], message: str, kstatus: str) -> Situation:
    return Situation(
        world=world, argo="Progressing", message=message, kstatus=kstatus, flux="InProgress"
    )


def _stalled(world: Callable[[], Awaitable[World]], message: str) -> Situation:
    return Situation(world=world, argo="Degraded", message=message, kstatus="Failed", flux="Failed")


def _still(world: Callable[[], Awaitable[World]], message: str) -> Situation:
    return Situation(
        world=world, argo="Suspended", message=message, kstatus="Current", flux="Current"
    )


SITUATIONS: Final[Mapping[str, Situation]] = {
    # kstatus knows nothing of an object without a status, and takes it as done. Flux waits: an
    # expression that cannot be evaluated is Unknown to it.
    "new": replace(
        _waits(_new, "Waiting for the operator to look at it", "Current"), flux="Unknown"
    ),
    "edited": _waits(_edited, "Waiting for the operator to see the latest spec", "InProgress"),
    "rolling": _waits(_rolling, "RolloutUnderWay:", "InProgress"),
    "canary": _waits(_canary, "CanaryUnderWay:", "InProgress"),
    "healthy": _healthy(settled, "Runs eagle2"),
    "rolled": _healthy(_rolled, "Runs none"),
    "ordered": _healthy(_ordered, "Runs eagle2"),
    "recommend-only": _healthy(_recommends, "Runs eagle2"),
    "restores": _healthy(_restores, "Runs eagle2"),
    "blind": _healthy(_blind, "TelemetryUnavailable:"),
    "schedules-valid": _healthy(_schedules_valid, "Runs eagle2"),
    "schedules-invalid": _healthy(_schedules_invalid, "ScheduleInvalid:"),
    "drifted": _healthy(_drifted, "AcceptanceDrifted:"),
    "proof-stale": _healthy(_not_proven_anew, "ProofStale:"),
    "suspended": _still(_suspended, "Suspended:"),
    "frozen": _still(_frozen, "Frozen:"),
    "conflict": _stalled(_contested, "FieldConflict:"),
    "conflict-suspended": _stalled(_contested_and_suspended, "FieldConflict:"),
    "undone": _stalled(_undone, "UndoneByOthers:"),
    "target-not-found": _stalled(_without_target, "TargetNotFound:"),
    "spec-unreadable": _stalled(_spec_unreadable, "SpecInvalid:"),
}


async def played(situation: Situation) -> Object:
    """The serving of a situation, as the API server would give it to a GitOps tool."""
    return serving_object((await situation.world()).cluster)


def serving_object(cluster: SimulatedCluster) -> Object:
    """The serving `llama` of a simulated cluster, with what a GitOps tool can use."""
    held = cluster.serving("llama")
    metadata: Object = {
        "name": held.name,
        "namespace": held.namespace,
        "generation": held.generation,
    }
    if held.forced_profile is not None:
        metadata["annotations"] = {names.FORCE_ANNOTATION: held.forced_profile}
    body: Object = {
        "apiVersion": names.API_VERSION,
        "kind": names.SERVING_KIND,
        "metadata": metadata,
        "spec": dict(held.spec),
    }
    status = {key: held.status[key] for key in KEPT if key in held.status}
    if roll := status.get("rollout"):
        status["rollout"] = {key: roll[key] for key in ROLLOUT_KEPT if key in roll}
    return {**body, "status": status} if status else body
