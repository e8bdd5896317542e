"""Rolls by load: once each way, nothing at steady state, and none where none is needed."""

from ridgeline.sim.session import CallKind
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    World,
    container,
    settled,
    spec,
)


async def test_load_that_rises_and_falls_rolls_once_each_way() -> None:
    world = await settled()
    assert world.profiles_written() == []

    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    assert world.config() == ""

    world.users["llama"] = LOW
    assert await world.run(1200, until=world.finished("eagle2"))
    assert world.config() == EAGLE_CONFIG

    await world.run(1800)
    assert world.profiles_written() == ["none", "eagle2"]
    assert world.history() == [("eagle2", "none", True), ("none", "eagle2", True)]
    assert world.events() == ["RollStarted", "RollFinished"] * 2
    assert world.condition("ProfileApplied") == ("True", "Applied")
    assert world.condition("Ready") == ("True", "Operating")
    assert world.condition("Reconciling") == ("", "")


async def test_nothing_is_written_at_steady_state() -> None:
    world = await settled()
    began = world.cluster.now
    await world.run(3600)
    written = [each for each in world.cluster.writes if each.at > began]
    assert written == []


async def test_nothing_is_written_at_steady_state_after_a_roll() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    await world.run(300)
    began = world.cluster.now
    await world.run(3600)
    assert [each for each in world.cluster.writes if each.at > began] == []


async def test_a_target_that_runs_what_is_desired_is_adopted_without_a_write() -> None:
    world = World()
    world.deploy(users=HIGH, containers=[container(None)])
    world.cluster.create_serving("llama", spec())
    world.start()
    before = world.cluster.deployment("llama")
    await world.run(3600)
    assert world.cluster.deployment("llama") == before
    assert world.tries() == []
    assert world.status()["activeProfile"] == world.status()["desiredProfile"] == "none"


async def test_a_roll_is_announced_before_the_target_is_written() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    kinds = [each.kind for each in world.cluster.writes]
    at = kinds.index(CallKind.PROFILE)
    assert kinds[at - 2 : at] == [CallKind.REHEARSAL, CallKind.STATUS]
    assert world.cluster.writes[at - 1].what == "AboveCutoff"
