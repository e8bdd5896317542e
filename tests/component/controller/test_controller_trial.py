"""First contact: a profile of which nobody knows the acceptance is tried on one canary."""

from typing import Any

from ridgeline.sim.fleet_load import EngineModel
from ridgeline.sim.stand_in.step_time import StepTimeModel
from ridgeline.sim.workload import Pace
from tests.component.controller.test_controller_canary import held_back, profiles, stands
from tests.component.controller.test_controller_goodput import around, goodput, server
from tests.component.controller.world import LOW, World

ALLOWED: dict[str, Any] = {"rollout": {"canary": {"deadlineSeconds": 1200}}}


async def _unknown(pace: Pace | None = None, **fields: Any) -> World:
    """A quiet world without speculation, whose EAGLE head nobody has seen or stated."""
    world = World()
    world.deploy(containers=[server(None)], users=LOW, pace=pace)
    world.cluster.create_serving("llama", goodput(stated=False, **{**ALLOWED, **fields}))
    world.start(around=around())
    return world


async def test_it_is_measured_on_a_canary_taken_back_and_then_chosen_by_what_was_measured() -> None:
    world = await _unknown()
    assert await world.run(1800, until=lambda: held_back(world))
    assert world.status()["rollout"]["way"] == "Trial"
    assert world.status()["desiredProfile"] == "none"
    assert await world.run(1800, until=stands(world, "Restored"))
    assert profiles(world) == [""] * 4
    assert world.status()["rollout"]["reason"] == "TrialEnded"
    # What was measured stands in status, and is no guess any more.
    learned = {each["profile"]: each for each in world.status()["learned"]["profiles"]}
    assert learned["eagle2"]["windows"] > 0
    assert abs(learned["eagle2"]["acceptancePercent"][0] - 60) <= 3
    # A trial is no switch: it takes nothing of the day's budget.
    assert "switchHistory" not in world.status()
    assert await world.run(3600, until=world.finished("eagle2"))
    assert world.status()["rollout"]["way"] == "Whole"
    assert world.events().count("CanaryStarted") == 1


async def test_a_profile_that_does_badly_on_its_trial_is_left_alone() -> None:
    world = await _unknown()
    world.telemetry.model = EngineModel(acceptance=(0.02,), step_time=StepTimeModel(draft_ms=40.0))
    assert await world.run(3600, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "CanarySlower"
    await world.run(4 * 3600)
    assert profiles(world) == [""] * 4
    assert world.events().count("CanaryStarted") == 1


async def test_nothing_is_tried_where_a_person_forbids_it() -> None:
    world = await _unknown(rollout={"trial": "Never"})
    await world.run(3600)
    assert world.profiles_written() == []
    assert world.status()["lastDecision"]["reason"] == "CutoffUndecided"
    assert "spec.rollout.trial is Never" in world.status()["lastDecision"]["message"]


async def test_nothing_is_tried_where_a_trial_would_take_an_old_replica_away() -> None:
    world = await _unknown(pace=Pace(max_unavailable=1))
    await world.run(3600)
    assert world.profiles_written() == []
    assert "maxUnavailable" in world.status()["lastDecision"]["message"]


async def test_nothing_is_tried_by_a_serving_that_only_recommends() -> None:
    world = await _unknown(mode="RecommendOnly")
    await world.run(3600)
    assert world.profiles_written() == []
