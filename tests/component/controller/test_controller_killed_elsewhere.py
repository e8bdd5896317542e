"""Killed at any moment of what is no plain roll: a conflict, an undoing, a queue, a bad day."""

from collections.abc import Awaitable, Callable

import pytest

from ridgeline.sim.session import Call, CallKind, Fault, Moment, ProcessLostError
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    LOW,
    WINDOW,
    World,
    spec,
)

Play = Callable[[World], Awaitable[None]]


async def _killed_everywhere(play: Play, check: Callable[[World], None], **options: int) -> None:
    """Play a scenario undisturbed, then once for each of its calls and each moment of it."""
    whole = World(**options)
    process = whole.start()
    await play(whole)
    check(whole)
    for call in process.session.calls:
        for moment in Moment:
            world = World(**options)

            def fault(made: Call, number: int = call.number, at: Moment = moment) -> Fault | None:
                return Fault(at, ProcessLostError()) if made.number == number else None

            world.start(faults=fault)
            await play(world)
            try:
                assert world.lost == 1
                check(world)
            except AssertionError as error:
                error.add_note(f"killed {moment} {call}")
                raise


async def test_a_conflict() -> None:
    async def play(world: World) -> None:
        world.deploy(users=HIGH)
        world.cluster.set_config("llama", EAGLE_CONFIG, manager="flux")
        world.cluster.create_serving("llama", spec())
        await world.run(400)

    def check(world: World) -> None:
        assert world.profiles_written() == []
        assert world.events() in ([], ["FieldConflict"])
        assert world.condition("Stalled") == ("True", "FieldConflict")
        assert world.history() == []
        assert len(world.tries()) <= 4

    await _killed_everywhere(play, check)


async def test_an_undoing_on_the_way() -> None:
    async def play(world: World) -> None:
        world.deploy()
        world.cluster.create_serving("llama", spec())
        await world.run(2.5 * WINDOW)
        world.users["llama"] = HIGH
        assert await world.run(300, until=lambda: bool(world.profiles_written()))
        await world.run(25)
        world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
        await world.run(400)

    def check(world: World) -> None:
        assert world.profiles_written() == ["none"]
        assert world.roll() == "Undone"
        assert world.history() == [("eagle2", "none", True)]
        assert world.condition("Ready") == ("False", "UndoneByOthers")

    await _killed_everywhere(play, check)


async def test_a_queue_for_the_roll_budget() -> None:
    names = ("aya", "qwen")

    async def play(world: World) -> None:
        for name in names:
            world.deploy(name, replicas=2)
            world.cluster.create_serving(name, spec(name))
        await world.run(2.5 * WINDOW)
        world.users.update(dict.fromkeys(names, HIGH))
        await world.run(900, until=lambda: all(world.finished("none", each)() for each in names))

    def check(world: World) -> None:
        for name in names:
            assert world.profiles_written(name) == ["none"]
            assert world.history(name) == [("eagle2", "none", True)]
        first, second = (each.at for each in world.cluster.changes(CallKind.PROFILE))
        assert second - first > 40  # the second roll began after the first had ended

    await _killed_everywhere(play, check, max_rolls=1)


@pytest.mark.parametrize("calls", [3, 4, 5, 7, 11])
async def test_processes_that_live_for_a_few_calls_each_get_there(calls: int) -> None:
    """Three calls are what a roll needs of one life: read, read, write."""

    def fault(made: Call) -> Fault | None:
        dies = made.number == calls - 1
        return Fault(Moment.AFTER, ProcessLostError()) if dies else None

    world = World(faults=fault)
    world.successor_faults = fault
    world.deploy()
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(2.5 * WINDOW)
    world.users["llama"] = HIGH
    assert await world.run(1800, until=world.finished("none"))
    world.users["llama"] = LOW
    assert await world.run(1800, until=world.finished("eagle2"))
    assert world.lost > 1
    assert world.profiles_written() == ["none", "eagle2"]
    assert world.history() == [("eagle2", "none", True), ("none", "eagle2", True)]
