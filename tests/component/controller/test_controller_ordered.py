"""An order to roll to a profile that does not start: obeyed once, and not for ever."""

from ridgeline.sim.fate import Fate, crashes
from ridgeline.sim.pace import Pace
from ridgeline.sim.template import Template
from tests.component.controller.world import EAGLE_PROFILE, HIGH, NONE_PROFILE, World, spec

HOUR = 3600.0


def _crashing(template: Template) -> Fate | None:
    return crashes("ValueError: the head does not fit") if template.speculative_config else None


async def _ordered(users: float = HIGH) -> World:
    """A world without speculation, where EAGLE was ordered and does not start."""
    world = World()
    world.deploy(users=users, pace=Pace(fate=_crashing))
    world.cluster.set_config("llama", "", manager="helm")
    world.cluster.let_go("llama")
    world.cluster.advance(world.cluster.now + 120.0)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    world.cluster.force("llama", "eagle2")
    await world.run(120)
    return world


async def test_a_standing_order_whose_roll_failed_is_not_obeyed_again_and_again() -> None:
    world = await _ordered()
    await world.run(HOUR)
    assert world.profiles_written().count("eagle2") == 1
    assert world.config() == ""
    assert world.events().count("RollUndone") == 1
    decision = world.status()["lastDecision"]
    assert decision["reason"] == "ProfileQuarantined"
    assert "was rolled to by that order and failed" in decision["message"]
    assert "the head does not fit" in decision["message"]


async def test_a_restart_does_not_forget_that_the_order_was_obeyed() -> None:
    world = await _ordered()
    world.kill(world.process)
    world.start()
    await world.run(HOUR)
    assert world.profiles_written().count("eagle2") == 1


async def test_an_edited_profile_is_tried_at_once() -> None:
    world = await _ordered()
    edited = {**EAGLE_PROFILE, "numSpeculativeTokens": 3}
    world.cluster.edit_serving("llama", spec(profiles=[edited, NONE_PROFILE]))
    await world.run(120)
    assert world.profiles_written().count("eagle2") == 2


async def test_an_order_overrides_a_failure_from_before_it() -> None:
    world = World()
    world.deploy(pace=Pace(fate=_crashing))
    world.cluster.set_config("llama", "", manager="helm")
    world.cluster.let_go("llama")
    world.cluster.advance(world.cluster.now + 120.0)
    world.cluster.create_serving("llama", spec())
    world.start()
    assert await world.run(1200, until=lambda: world.roll() == "Restored")
    await world.run(300)
    assert world.profiles_written().count("eagle2") == 1
    world.cluster.force("llama", "eagle2")
    await world.run(HOUR)
    assert world.profiles_written().count("eagle2") == 2
