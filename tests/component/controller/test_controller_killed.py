"""Killed at any moment: whatever call the process dies in, the roll ends well and happens once.

The scenario is one roll up and one down. In each run one call of the first process goes wrong,
before or after its effect: the process is lost, or the answer is. A lost process is followed by one
with an empty store and an empty memory.
"""

import pytest

from ridgeline.cluster.errors import UnavailableError
from ridgeline.cluster.store import Kind
from ridgeline.sim.session import Call, CallKind, Fault, Moment, ProcessLostError
from tests.component.controller.world import EAGLE_CONFIG, HIGH, LOW, WINDOW, World, settled, spec

MOMENTS = tuple(Moment)


async def up_and_down(world: World) -> None:
    """Play the scenario: quiet, busy, quiet again."""
    world.deploy()
    world.cluster.create_serving("llama", spec())
    await world.run(2.5 * WINDOW)
    world.users["llama"] = HIGH
    await world.run(600, until=world.finished("none"))
    world.users["llama"] = LOW
    await world.run(900, until=world.finished("eagle2"))
    await world.run(60)


def assert_all_is_well(world: World) -> None:
    assert world.profiles_written() == ["none", "eagle2"]
    assert world.history() == [("eagle2", "none", True), ("none", "eagle2", True)]
    assert world.roll() == "Finished"
    assert world.config() == EAGLE_CONFIG
    assert world.condition("Ready") == ("True", "Operating")
    assert world.condition("Stalled") == ("", "")
    assert world.events().count("RollFinished") <= 2
    assert "UndoneByOthers" not in world.events()


async def calls_of_the_scenario() -> list[Call]:
    world = World()
    process = world.start()
    await up_and_down(world)
    assert_all_is_well(world)
    return process.session.calls


def failing(number: int, moment: Moment, error: BaseException) -> World:
    world = World()

    def fault(call: Call) -> Fault | None:
        return Fault(moment, error) if call.number == number else None

    world.start(faults=fault)
    return world


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_process_killed_in_any_call_is_succeeded(moment: Moment) -> None:
    calls = await calls_of_the_scenario()
    assert {call.kind for call in calls} == set(CallKind)
    for call in calls:
        world = failing(call.number, moment, ProcessLostError())
        await up_and_down(world)
        assert world.lost == 1, call
        try:
            assert_all_is_well(world)
        except AssertionError as error:
            error.add_note(f"killed {moment} {call}")
            raise


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_call_without_an_answer_is_made_good(moment: Moment) -> None:
    for call in await calls_of_the_scenario():
        world = failing(call.number, moment, UnavailableError("connection reset"))
        await up_and_down(world)
        try:
            assert_all_is_well(world)
        except AssertionError as error:
            error.add_note(f"no answer {moment} {call}")
            raise


async def test_an_announced_roll_is_begun_by_the_successor() -> None:
    def fault(call: Call) -> Fault | None:
        dies = call.kind is CallKind.PROFILE
        return Fault(Moment.BEFORE, ProcessLostError()) if dies else None

    world = await settled(faults=fault)
    world.users["llama"] = HIGH
    await world.run(300, until=lambda: world.lost == 1)
    assert world.roll() == "Intended"
    announced = world.status()["rollout"]["startTime"]
    # Load falls: a roll that was announced is finished all the same, not decided anew.
    world.users["llama"] = LOW
    assert await world.run(20, until=lambda: world.roll() == "Rolling")
    assert world.status()["rollout"]["startTime"] == announced


async def test_an_announced_roll_is_abandoned_when_the_target_changed_meanwhile() -> None:
    def fault(call: Call) -> Fault | None:
        dies = call.kind is CallKind.PROFILE
        return Fault(Moment.BEFORE, ProcessLostError()) if dies else None

    world = await settled(faults=fault)
    world.users["llama"] = HIGH
    await world.run(300, until=lambda: world.lost == 1)
    world.cluster.scale("llama", 6)
    await world.run(10)
    assert world.roll() == "Abandoned"
    assert world.history() == []
    assert world.status()["lastDecision"]["reason"] != "Suspended"
    world.users["llama"] = HIGH * 2
    assert await world.run(600, until=world.finished("none"))
    assert world.profiles_written() == ["none"]


async def test_an_announced_roll_is_abandoned_when_the_target_is_not_well() -> None:
    def fault(call: Call) -> Fault | None:
        dies = call.kind is CallKind.PROFILE
        return Fault(Moment.BEFORE, ProcessLostError()) if dies else None

    world = await settled(faults=fault)
    process = world.process
    world.users["llama"] = HIGH
    await world.run(
        300, until=lambda: any(c.kind is CallKind.PROFILE for c in process.session.calls)
    )
    assert world.lost == 1
    world.cluster.crash_one("llama")
    await world.run(10)
    assert world.roll() == "Abandoned"
    assert world.history() == []
    assert await world.run(600, until=world.finished("none"))


async def test_an_intent_that_nobody_began_for_long_is_given_up() -> None:
    def fault(call: Call) -> Fault | None:
        dies = call.kind is CallKind.PROFILE
        return Fault(Moment.BEFORE, ProcessLostError()) if dies else None

    world = await settled(faults=fault)
    world.users["llama"] = HIGH
    await world.run(300, until=lambda: world.lost == 1)
    world.kill(world.process)
    world.users["llama"] = LOW
    await world.run(400)
    world.start(faults=None)
    await world.run(600)
    assert world.roll() == "Abandoned"
    assert world.profiles_written() == []
    assert world.history() == []


async def test_an_apply_whose_answer_was_lost_in_a_long_outage_is_found_out() -> None:
    outage: list[Call] = []

    def fault(call: Call) -> Fault | None:
        no_answer = UnavailableError("connection reset")
        if outage:
            return Fault(Moment.BEFORE, no_answer)
        if call.kind is CallKind.PROFILE:
            outage.append(call)
            return Fault(Moment.AFTER, no_answer)
        return None

    world = await settled(faults=fault)
    process = world.process
    process.stream.stalled = set(Kind)
    world.users["llama"] = HIGH
    await world.run(600)
    assert outage
    process.session.faults = None
    await world.run(30)
    assert world.roll() in ("Rolling", "Finished")
    process.stream.stalled = set()
    assert await world.run(300, until=world.finished("none"))
    assert world.history() == [("eagle2", "none", True)]
    assert world.profiles_written() == ["none"]
