"""After a roll: what the fleet gains is measured, kept, and acted on when it is a loss."""

from ridgeline.sim.fleet_load import EngineModel
from ridgeline.sim.stand_in.step_time import StepTimeModel
from tests.component.controller.test_controller_canary import profiles
from tests.component.controller.test_controller_goodput import around, goodput, server
from tests.component.controller.world import LOW, World


async def _rolled(model: EngineModel | None = None) -> World:
    """A world that was rolled to EAGLE, whose acceptance a person had stated, without a canary."""
    world = World()
    world.deploy(containers=[server(None)], users=LOW)
    world.cluster.create_serving("llama", goodput())
    world.start(around=around())
    if model is not None:
        world.telemetry.model = model
    assert await world.run(3600, until=world.finished("eagle2"))
    return world


async def test_what_the_fleet_gains_stands_beside_what_was_promised() -> None:
    world = await _rolled()
    assert world.status()["rollout"]["promisedPercent"] > 20
    await world.run(900)
    (proof,) = [each for each in world.status()["proofs"] if each["profile"] == "eagle2"]
    assert proof["result"] == "Verified"
    # At 5 requests a simulated engine takes 46 % less time per token with EAGLE.
    assert 40 <= proof["gainPercent"] <= 52
    await world.run(3600)
    written = [each for each in world.cluster.changes() if each.at > world.cluster.now - 300]
    assert written == []


async def test_a_profile_that_makes_the_fleet_slower_is_left_and_not_chosen_again() -> None:
    world = await _rolled(EngineModel(acceptance=(0.02,), step_time=StepTimeModel(draft_ms=40.0)))
    assert await world.run(1800, until=world.finished("none"))
    await world.run(4 * 3600)
    assert profiles(world) == ["none"] * 4
    assert world.profiles_written() == ["eagle2", "none"]
