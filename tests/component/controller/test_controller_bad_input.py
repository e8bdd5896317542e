"""Bad input: a condition with reason and message, one Event, no write to the target; it heals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ridgeline.engine.container import Container
from tests.component.controller.world import HIGH, LOW, World, container, settled, spec

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of bad input: how it comes about, what it is called, and how it is mended."""

    reason: str
    told: str
    breaks: Callable[[World], None]
    mends: Callable[[World], None]
    condition: str = "TargetResolved"


def _without_target(world: World) -> None:
    world.cluster.create_serving("llama", spec())


def _deploy(world: World) -> None:
    world.deploy(users=HIGH)


def _broken(*containers: Container, **fields: Any) -> Callable[[World], None]:
    def breaks(world: World) -> None:
        world.deploy(users=HIGH, containers=containers)
        world.cluster.create_serving("llama", spec(**fields))

    return breaks


def _repair(*containers: Container) -> Callable[[World], None]:
    return lambda world: world.cluster.set_containers(
        "llama", containers or (container(),), manager="kubectl"
    )


SIDECAR = Container(name="proxy")

CASES = [
    Case(
        reason="TargetNotFound",
        told="Deployment llama does not exist",
        breaks=_without_target,
        mends=_deploy,
    ),
    Case(
        reason="ContainerAmbiguous",
        told="(vllm, proxy); set spec.targetRef.containerName",
        breaks=_broken(container(), SIDECAR),
        mends=lambda world: world.cluster.edit_serving(
            "llama", spec(targetRef={"name": "llama", "containerName": "vllm"})
        ),
    ),
    Case(
        reason="ContainerNotFound",
        told="has no container 'engine' (it has vllm)",
        breaks=_broken(container(), targetRef={"name": "llama", "containerName": "engine"}),
        mends=lambda world: world.cluster.edit_serving("llama", spec()),
    ),
    Case(
        reason="SpeculativeConfigInvalid",
        told="is not JSON",
        breaks=_broken(container("{method: eagle")),
        mends=_repair(),
    ),
    Case(
        reason="InjectionPointMissing",
        told="does not read SPECULATION_CONFIG",
        breaks=_broken(Container(name="vllm", args=("--model=m",))),
        mends=_repair(),
    ),
    Case(
        reason="InjectionPointMissing",
        told="add envFrom with a ConfigMap",
        breaks=_broken(
            Container(name="vllm", args=("--speculative-config=$(SPECULATION_CONFIG)",))
        ),
        mends=_repair(),
    ),
    Case(
        reason="SpecInvalid",
        told="spec.cooldownSeconds",
        breaks=_broken(container(), cooldownSeconds=-1),
        mends=lambda world: world.cluster.edit_serving("llama", spec()),
        condition="Ready",
    ),
    Case(
        reason="UnknownTelemetryEndpoint",
        told="'nowhere' is not defined in the operator's configuration (defined: default)",
        breaks=_broken(container(), telemetry="nowhere"),
        mends=lambda world: world.cluster.edit_serving("llama", spec()),
        condition="TelemetryAvailable",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.reason}: {case.told[:20]}")
async def test_bad_input_is_told_once_and_heals_by_itself(case: Case) -> None:
    world = World()
    case.breaks(world)
    world.start()
    await world.run(HOUR)
    assert world.condition("Ready") == ("False", case.reason)
    assert world.condition("Stalled") == ("True", case.reason)
    assert world.condition(case.condition) == ("False", case.reason)
    assert case.told in world.message("Ready")
    assert world.events() == [case.reason]
    assert world.tries() == []

    began = world.cluster.now
    case.mends(world)
    assert await world.run(900, until=world.finished("none"))
    assert world.condition("Ready") == ("True", "Operating")
    assert world.condition("Stalled") == ("", "")
    healed = [each.note for each in world.cluster.events if each.at > began]
    recovered = [each.note for each in healed if each.reason.value == "Recovered"]
    assert sum(each.startswith("Ready:") for each in recovered) == 1
    assert world.profiles_written() == ["none"]


async def test_of_two_servings_on_one_target_the_older_acts() -> None:
    world = await settled()
    world.cluster.create_serving("younger", spec())
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    assert world.condition("Ready", "younger") == ("False", "TargetConflict")
    assert "serving llama is older" in world.message("Ready", "younger")
    assert world.events("younger") == ["TargetConflict"]
    assert world.condition("Ready") == ("True", "Operating")
    assert world.profiles_written() == ["none"]

    world.cluster.delete_serving("llama")
    await world.run(10)
    assert world.condition("Ready", "younger") == ("True", "Operating")
    assert world.events("younger") == ["TargetConflict", "Recovered"]


async def test_a_rival_is_looked_at_at_once_when_the_older_serving_goes() -> None:
    world = await settled()
    world.cluster.create_serving("younger", spec())
    await world.run(31)
    world.cluster.delete_serving("llama")
    until_tick = world.process.next_tick - world.cluster.now
    await world.run(min(2.0, until_tick - 1.0), step=1.0)
    assert world.condition("Ready", "younger") == ("True", "Operating")


async def test_a_config_that_somebody_breaks_stops_everything_until_it_is_mended() -> None:
    world = await settled()
    world.cluster.set_config("llama", "{oops", manager="kubectl-edit")
    world.users["llama"] = HIGH
    await world.run(1800)
    assert world.condition("TargetResolved") == ("False", "SpeculativeConfigInvalid")
    assert world.events() == ["SpeculativeConfigInvalid"]
    assert world.tries() == []
    world.users["llama"] = LOW
    world.cluster.set_config("llama", container().env[0].value, manager="kubectl-edit")
    await world.run(120)
    assert world.events() == ["SpeculativeConfigInvalid", "Recovered"]
