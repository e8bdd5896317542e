"""Many servings at once: the budget of rolls, and failures that stay where they are."""

import logging

import pytest

from ridgeline.cluster.errors import UnavailableError
from ridgeline.sim.session import Call, CallKind, Fault, Moment
from ridgeline.sim.workload import Pace
from tests.component.controller.world import EAGLE_CONFIG, HIGH, World, container, spec

NAMES = ("aya", "gemma", "llama", "mistral", "qwen")


def _fleet(limit: int) -> World:
    world = World(max_rolls=limit)
    for name in NAMES:
        world.deploy(name)
        world.cluster.create_serving(name, spec(name))
    return world


def _really_rolling(world: World) -> int:
    return sum(
        1
        for name in NAMES
        if not (
            (told := world.cluster.deployment(name)).updated_replicas
            == told.current_replicas
            == told.available_replicas
            == told.replicas
        )
    )


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_no_more_rolls_at_once_than_the_budget_and_all_of_them_end(limit: int) -> None:
    world = _fleet(limit)
    world.start()
    await world.run(180)
    world.users.update(dict.fromkeys(NAMES, HIGH))
    most = 0

    def all_done() -> bool:
        nonlocal most
        most = max(most, _really_rolling(world))
        return all(world.finished("none", name)() for name in NAMES)

    assert await world.run(1800, until=all_done)
    assert most == limit
    for name in NAMES:
        assert world.profiles_written(name) == ["none"]
        assert world.events(name).count("WaitingForRollBudget") <= 1
    waited = [name for name in NAMES if "WaitingForRollBudget" in world.events(name)]
    assert len(waited) == len(NAMES) - limit


async def test_the_budget_holds_across_a_restart() -> None:
    world = _fleet(1)
    world.start()
    await world.run(180)
    world.users.update(dict.fromkeys(NAMES, HIGH))
    assert await world.run(300, until=lambda: _really_rolling(world) == 1)
    world.kill(world.process)
    world.start()
    most = 0

    def all_done() -> bool:
        nonlocal most
        most = max(most, _really_rolling(world))
        return all(world.finished("none", name)() for name in NAMES)

    assert await world.run(2400, until=all_done)
    assert most == 1


async def test_a_roll_whose_target_went_keeps_no_place_in_the_budget() -> None:
    world = _fleet(1)
    world.start()
    await world.run(180)
    world.users["aya"] = HIGH
    assert await world.run(300, until=lambda: world.roll("aya") == "Rolling")
    world.cluster.delete_deployment("aya")
    world.users["qwen"] = HIGH
    assert await world.run(600, until=world.finished("none", "qwen"))


async def test_a_roll_of_a_serving_on_its_way_out_keeps_no_place_in_the_budget() -> None:
    world = _fleet(1)
    world.start()
    await world.run(180)
    world.users["aya"] = HIGH
    assert await world.run(300, until=lambda: world.roll("aya") == "Rolling")
    world.cluster.delete_serving("aya", held_back=True)
    world.users["qwen"] = HIGH
    assert await world.run(100, until=lambda: world.roll("qwen") == "Rolling")


async def test_a_roll_of_an_unreadable_serving_keeps_no_place_once_it_is_over() -> None:
    world = _fleet(1)
    world.start()
    await world.run(180)
    world.users["aya"] = HIGH
    assert await world.run(300, until=lambda: world.roll("aya") == "Rolling")
    world.cluster.edit_serving("aya", spec("aya", cooldownSeconds=-1))
    world.users["qwen"] = HIGH
    await world.run(30)
    assert world.tries("qwen") == []
    assert await world.run(900, until=world.finished("none", "qwen"))
    assert world.roll("aya") == "Rolling"


async def test_a_stuck_rollout_is_taken_back_and_its_profile_is_left_alone() -> None:
    world = World()
    pace = Pace(deadline_seconds=120.0, starts=lambda template: template.profile is None)
    world.deploy(pace=pace)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    world.users["llama"] = HIGH
    await world.run(600)
    assert world.roll() == "Restored"
    assert world.condition("Ready") == ("True", "Operating")
    assert world.events()[:3] == ["RollStarted", "RollUndone", "RollRestored"]
    (entry,) = world.status()["quarantine"]
    assert (entry["profile"], entry["reason"]) == ("none", "RollDeadlineExceeded")
    assert world.config() == EAGLE_CONFIG
    assert world.status()["lastDecision"]["reason"] == "ProfileQuarantined"
    # maxUnavailable 0: every old replica serves, and has all the time.
    assert sum(1 for pod in world.cluster.pods_of("llama") if pod.serves) == 4


async def test_a_serving_that_fails_does_not_disturb_the_others() -> None:
    world = _fleet(5)

    def fault(call: Call) -> Fault | None:
        if call.name != "gemma":
            return None
        if call.kind is CallKind.STATUS:
            return Fault(Moment.BEFORE, ZeroDivisionError("a fault in the program"))
        return Fault(Moment.BEFORE, UnavailableError("no answer"))

    process = world.start(faults=fault)
    await world.run(180)
    world.users.update(dict.fromkeys(NAMES, HIGH))
    others = [name for name in NAMES if name != "gemma"]
    assert await world.run(
        900, until=lambda: all(world.finished("none", each)() for each in others)
    )
    failures = process.metrics.registry.get_sample_value
    name = "ridgeline_pass_failures_total"
    assert (failures(name, {"namespace": "default", "serving": "gemma"}) or 0) > 0
    assert failures(name, {"namespace": "default", "serving": "aya"}) is None
    process.session.faults = None
    assert await world.run(900, until=world.finished("none", "gemma"))


async def test_the_same_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world = _fleet(5)
    process = world.start()
    await world.run(180)
    world.cluster.api_down = True
    world.telemetry.faults.crash = KeyError("a fault in the program")
    await world.run(1200)
    lines = [each for each in caplog.records if each.getMessage().startswith("pass put off")]
    assert len(lines) == len(NAMES)
    assert all(each.exc_info is None or not each.exc_info for each in lines)
    crashes = [each for each in caplog.records if "telemetry endpoint failed" in each.message]
    assert len(crashes) == 1
    assert crashes[0].exc_info
    world.cluster.api_down = False
    process.session.faults = lambda call: Fault(Moment.BEFORE, ZeroDivisionError("ours"))
    await world.run(600)
    traces = [each for each in caplog.records if each.getMessage() == "pass put off: ours"]
    assert len(traces) == len(NAMES)
    assert all(each.exc_info for each in traces)
    process.session.faults = None
    await world.run(60)
    again = [each for each in caplog.records if each.getMessage() == "passes succeed again"]
    assert len(again) == len(NAMES)


async def test_an_event_that_cannot_be_sent_does_not_stop_the_roll() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())

    def fault(call: Call) -> Fault | None:
        silent = call.kind is CallKind.EVENT
        return Fault(Moment.BEFORE, UnavailableError("no answer")) if silent else None

    world.start(faults=fault)
    await world.run(180)
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none"))
    assert world.events() == []


async def test_metrics_tell_what_the_fleet_does_and_wants() -> None:
    world = World()
    world.deploy(users=HIGH, containers=[container(None)])
    world.cluster.create_serving("llama", spec())
    process = world.start()
    await world.run(300)
    sample = process.metrics.registry.get_sample_value
    labels = {"namespace": "default", "serving": "llama"}
    assert sample("ridgeline_serving_concurrency", labels) == pytest.approx(40.0)
    assert sample("ridgeline_serving_acceptance_length", labels) == pytest.approx(1.0)
    assert sample("ridgeline_serving_replicas_joined", labels) == 4
    for role in ("active", "desired", "recommended"):
        assert sample("ridgeline_serving_profile", {**labels, "role": role, "profile": "none"}) == 1
    world.telemetry.faults.error = "down"
    await world.run(30)
    assert sample("ridgeline_serving_concurrency", labels) is None
