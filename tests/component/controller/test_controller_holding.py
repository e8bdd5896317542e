"""Who may act: the leader, not a standby; nobody while frozen or suspended; and deletion."""

import pytest

from ridgeline.cluster.store import Kind
from ridgeline.sim.session import Call, CallKind
from tests.component.controller.world import HIGH, LOW, World, settled, spec


async def test_a_standby_writes_nothing_and_takes_over_with_what_it_has_seen() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    leader = world.start(who="a")
    standby = world.start(who="b", held=False)
    await world.run(180)
    world.users["llama"] = HIGH
    # The leader dies before it acts; the standby has dwelled all the while.
    leader.leader.held = False
    await world.run(120)
    assert all(each.who == "a" for each in world.cluster.writes)
    assert world.tries() == []
    standby.leader.held = True
    await world.run(16)
    assert world.profiles_written() == ["none"]
    assert world.cluster.writes[-1].who == "b"


async def test_two_processes_make_one_roll() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    world.start(who="a")
    world.start(who="b", held=False)
    await world.run(180)
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none"))
    assert world.profiles_written() == ["none"]
    assert {each.who for each in world.cluster.writes} == {"a"}


async def test_a_lease_lost_after_the_rehearsal_stops_before_the_announcement() -> None:
    world = await settled()
    process = world.process

    def lose(call: Call) -> None:
        if call.kind is CallKind.REHEARSAL:
            process.leader.held = False

    process.session.faults = lose
    world.users["llama"] = HIGH
    await world.run(300)
    assert world.tries() == ["rehearsal"]
    assert world.roll() == ""


async def test_a_lease_lost_after_the_announcement_leaves_the_roll_to_the_successor() -> None:
    world = await settled()
    process = world.process

    def lose(call: Call) -> None:
        rehearsed = any(each.kind is CallKind.REHEARSAL for each in process.session.calls)
        if call.kind is CallKind.STATUS and rehearsed:
            process.leader.held = False

    process.session.faults = lose
    world.users["llama"] = HIGH
    await world.run(120)
    assert world.roll() == "Intended"
    assert world.profiles_written() == []
    failures = process.metrics.registry.get_sample_value
    labels = {"namespace": "default", "serving": "llama"}
    assert failures("ridgeline_pass_failures_total", labels) == 1
    world.start(who="successor")
    assert await world.run(600, until=world.finished("none"))
    assert world.history() == [("eagle2", "none", True)]
    assert world.cluster.changes(CallKind.PROFILE)[0].who == "successor"


async def test_a_frozen_operator_observes_and_changes_nothing() -> None:
    world = await settled(users=HIGH, frozen=True)
    await world.run(1800)
    assert world.tries() == []
    assert world.condition("Suspended") == ("True", "Frozen")
    assert world.status()["recommendedProfile"] == "none"
    world.kill(world.process)
    world.start(frozen=False)
    assert await world.run(600, until=world.finished("none"))


async def test_a_serving_suspended_during_a_roll_lets_it_end_and_begins_no_other() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.edit_serving("llama", spec(suspend=True))
    world.users["llama"] = LOW
    await world.run(1800)
    assert world.roll() == "Finished"
    assert world.history() == [("eagle2", "none", True)]
    assert world.profiles_written() == ["none"]
    assert world.status()["recommendedProfile"] == "eagle2"
    assert world.events().count("Suspended") == 1
    world.cluster.edit_serving("llama", spec())
    assert await world.run(600, until=world.finished("eagle2"))


async def _announced_by_the_dead() -> World:
    """A world in which a roll was announced and its process lost the Lease before it began."""
    world = await settled()
    process = world.process

    def lose(call: Call) -> None:
        rehearsed = any(each.kind is CallKind.REHEARSAL for each in process.session.calls)
        if call.kind is CallKind.STATUS and rehearsed:
            process.leader.held = False

    process.session.faults = lose
    world.users["llama"] = HIGH
    await world.run(120)
    world.kill(process)
    assert world.roll() == "Intended"
    return world


@pytest.mark.parametrize("fields", [{"suspend": True}, {"mode": "RecommendOnly"}])
async def test_a_roll_announced_before_an_edit_is_given_up(fields: dict[str, object]) -> None:
    world = await _announced_by_the_dead()
    world.cluster.edit_serving("llama", {**spec(), **fields})
    world.start(who="successor")
    await world.run(10)
    assert world.roll() == "Abandoned"
    await world.run(600)
    assert world.profiles_written() == []
    assert world.history() == []


async def test_a_roll_announced_by_the_dead_is_not_begun_by_a_frozen_successor() -> None:
    world = await _announced_by_the_dead()
    world.start(who="successor", frozen=True)
    await world.run(900)
    assert world.profiles_written() == []
    assert world.roll() == "Abandoned"
    assert world.history() == []


async def test_a_recommendation_writes_nothing_to_the_target() -> None:
    world = World()
    world.deploy(users=HIGH)
    world.cluster.create_serving("llama", spec(mode="RecommendOnly"))
    world.start()
    await world.run(3600)
    assert world.tries() == []
    assert world.events() == ["RecommendOnly"]
    assert world.status()["recommendedProfile"] == "none"
    assert world.status()["desiredProfile"] == "eagle2"


async def test_a_serving_deleted_during_a_roll_is_forgotten_and_the_roll_goes_on() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.delete_serving("llama")
    deleted = world.cluster.now
    await world.run(600)
    assert world.config() == ""
    assert world.cluster.deployment("llama").updated_replicas == 4
    assert [each for each in world.cluster.writes if each.at > deleted] == []
    left = [
        sample
        for family in world.process.metrics.registry.collect()
        for sample in family.samples
        if sample.labels.get("serving") == "llama"
    ]
    assert left == []


async def test_a_serving_deleted_under_our_hands_is_not_rolled() -> None:
    world = await settled()

    def delete(call: Call) -> None:
        if call.kind is CallKind.REHEARSAL:
            world.cluster.delete_serving("llama")

    world.process.session.faults = delete
    world.users["llama"] = HIGH
    await world.run(300)
    assert world.tries() == ["rehearsal"]


async def test_a_serving_created_anew_starts_without_the_memory_of_the_old_one() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(
        300, until=lambda: world.status()["lastDecision"]["reason"] == "Dwelling"
    )
    await world.run(20)
    assert world.tries() == []
    world.cluster.delete_serving("llama")
    world.cluster.create_serving("llama", spec())
    created = world.cluster.now
    assert await world.run(300, until=lambda: world.tries() != [])
    assert world.cluster.now - created >= 30


async def test_a_paused_or_stalled_rollout_is_named() -> None:
    world = await settled()
    world.cluster.pause("llama", True)
    world.users["llama"] = HIGH
    await world.run(300)
    assert world.status()["lastDecision"]["reason"] == "RolloutPaused"
    world.cluster.pause("llama", False)
    assert await world.run(600, until=world.finished("none"))


async def test_a_successor_whose_stream_is_behind_the_last_roll_waits_for_it() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    leader = world.start(who="a")
    standby = world.start(who="b", held=False)
    await world.run(180)
    standby.stream.stalled = {Kind.DEPLOYMENT}
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none"))
    world.kill(leader)
    standby.leader.held = True
    began = world.cluster.now
    await world.run(600)
    assert [each for each in world.cluster.writes if each.at > began] == []
    standby.stream.stalled = set()
    await world.run(60)
    assert world.history() == [("eagle2", "none", True)]
    assert world.roll() == "Finished"
    assert world.profiles_written() == ["none"]


async def test_nothing_is_begun_while_a_pod_is_down_and_a_crash_undoes_nothing() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    for _ in range(6):
        world.cluster.crash_one("llama")
        await world.run(15)
    assert world.tries() == []
    assert await world.run(600, until=world.finished("none"))
    world.cluster.crash_one("llama")
    await world.run(300)
    assert world.profiles_written() == ["none"]
    assert "UndoneByOthers" not in world.events()


async def test_a_serving_that_a_stranger_holds_back_from_deletion_is_as_good_as_gone() -> None:
    world = await settled()
    world.cluster.create_serving("younger", spec())
    await world.run(30)
    world.cluster.delete_serving("llama", held_back=True)
    deleted = world.cluster.now
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none", "younger"))
    kinds = (CallKind.STATUS, CallKind.EVENT)
    told = [each for each in world.cluster.writes if each.at > deleted and each.kind in kinds]
    assert {each.name for each in told} == {"younger"}
    assert world.roll() == ""
    sample = world.process.metrics.registry.get_sample_value
    labels = {"namespace": "default", "serving": "llama"}
    assert sample("ridgeline_serving_concurrency", labels) is None
