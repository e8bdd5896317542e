"""Other writers of the target: conflicts, undoing, autoscalers, deletion. Nobody fights them."""

import pytest

from ridgeline.cluster.target import ProfileWrite
from ridgeline.sim.session import Call, CallKind
from tests.component.controller.world import (
    EAGLE_CONFIG,
    EAGLE_PROFILE,
    HIGH,
    LOW,
    NONE_PROFILE,
    World,
    container,
    settled,
    spec,
)

HOUR = 3600.0


async def _contested() -> World:
    """A world in which a chart owns the env item and load asks for a roll."""
    world = World()
    world.deploy(users=HIGH)
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="flux")
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(HOUR)
    return world


async def test_a_conflict_is_told_once_with_the_managers_name_and_not_stormed() -> None:
    world = await _contested()
    assert world.condition("Stalled") == ("True", "FieldConflict")
    assert "'flux'" in world.message("Stalled")
    assert "SPECULATION_CONFIG" in world.message("Stalled")
    assert world.events() == ["FieldConflict"]
    assert set(world.tries()) == {"rehearsal"}
    # The first, and one each ten minutes: somebody may have let go where nobody can see it.
    assert len(world.tries()) == 6
    assert world.status()["recommendedProfile"] == "none"


async def test_a_conflict_survives_scaling_a_restart_and_an_edit_without_a_new_event() -> None:
    world = await _contested()
    world.cluster.scale("llama", 5)
    await world.run(300)
    world.kill(world.process)
    world.start()
    await world.run(300)
    world.cluster.edit_serving("llama", spec(cooldownSeconds=60))
    before = len(world.tries())
    await world.run(300)
    assert len(world.tries()) == before + 1
    assert world.events() == ["FieldConflict"]
    assert world.condition("Stalled") == ("True", "FieldConflict")


async def test_a_conflict_is_tried_again_by_the_leader_only_and_not_while_suspended() -> None:
    world = await _contested()
    standby = world.start(who="standby", held=False)
    await world.run(HOUR)
    assert standby.session.calls == []
    world.kill(standby)
    world.cluster.edit_serving("llama", spec(suspend=True))
    await world.run(30)
    before = world.tries()
    await world.run(HOUR)
    assert world.tries() == before
    assert world.condition("Stalled") == ("True", "FieldConflict")


async def test_a_conflict_heals_when_the_other_lets_go() -> None:
    world = await _contested()
    world.cluster.set_config("llama", None, manager="flux")
    world.users["llama"] = LOW
    assert await world.run(90, until=lambda: world.condition("Stalled") == ("", ""))
    assert await world.run(900, until=world.finished("eagle2"))
    assert world.events() == ["FieldConflict", "Recovered", "RollStarted", "RollFinished"]


@pytest.mark.parametrize(("also_edits", "within"), [(True, 30.0), (False, 630.0)])
async def test_a_conflict_whose_owner_leaves_the_value_heals(
    also_edits: bool, within: float
) -> None:
    world = await _contested()
    world.cluster.let_go("llama")
    if also_edits:
        world.cluster.note_spec("llama")
    assert await world.run(within, until=lambda: world.condition("Stalled") == ("", ""))
    assert await world.run(900, until=world.finished("none"))


async def test_a_conflict_ends_without_a_try_when_the_other_sets_what_we_wanted() -> None:
    world = await _contested()
    before = world.tries()
    world.cluster.set_config("llama", "", manager="flux")
    await world.run(180)
    assert world.tries() == before
    assert world.condition("Stalled") == ("", "")
    assert world.events() == ["FieldConflict", "Recovered"]


async def test_a_conflict_is_no_matter_to_a_serving_that_only_recommends() -> None:
    world = await _contested()
    before = world.tries()
    world.cluster.edit_serving("llama", spec(mode="RecommendOnly"))
    await world.run(180)
    assert world.tries() == before
    assert world.condition("Stalled") == ("", "")


async def test_a_conflict_is_not_carried_over_to_a_target_created_anew() -> None:
    world = await _contested()
    generation = world.cluster.deployment("llama").generation
    world.cluster.delete_deployment("llama")
    world.deploy(users=HIGH)
    while world.cluster.deployment("llama").generation < generation:
        world.cluster.note_spec("llama")
    await world.run(60)
    assert world.condition("Stalled") == ("", "")


async def test_a_refusal_by_admission_heals_without_a_change_of_either_object() -> None:
    world = await settled()
    world.cluster.admission = lambda write: "denied by policy no-rolls-on-friday"
    world.users["llama"] = HIGH
    await world.run(HOUR)
    assert world.condition("Ready") == ("False", "WriteRefused")
    assert "no-rolls-on-friday" in world.message("Ready")
    assert world.events() == ["WriteRefused"]
    assert len(world.tries()) <= 7
    world.cluster.admission = lambda write: None
    assert await world.run(900, until=world.finished("none"))
    assert world.events()[:2] == ["WriteRefused", "Recovered"]


async def test_an_apply_refused_after_its_rehearsal_leaves_no_switch_behind() -> None:
    world = await settled()
    answers = iter([None])

    def second_thoughts(write: ProfileWrite) -> str | None:
        return next(answers, "denied by a webhook that skips dry runs")

    world.cluster.admission = second_thoughts
    world.users["llama"] = HIGH
    await world.run(600)
    assert world.roll() == "Abandoned"
    assert world.history() == []
    assert world.condition("Ready") == ("False", "WriteRefused")
    assert world.tries()[:2] == ["rehearsal", "profile"]
    assert set(world.tries()[2:]) <= {"rehearsal"}


async def _rolled_up() -> World:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    return world


async def test_what_others_undo_is_left_to_them_until_the_serving_is_edited() -> None:
    world = await _rolled_up()
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(HOUR)
    assert world.profiles_written() == ["none"]
    assert world.roll() == "Undone"
    assert world.condition("Ready") == ("False", "UndoneByOthers")
    assert "'kubectl-edit'" in world.message("Ready")
    assert world.events().count("UndoneByOthers") == 1

    world.cluster.set_config("llama", None, manager="kubectl-edit")
    await world.run(300)
    world.cluster.edit_serving("llama", spec(cooldownSeconds=60))
    await world.run(30)
    assert world.condition("Ready") == ("True", "Operating")
    world.users["llama"] = LOW
    assert await world.run(900, until=world.finished("eagle2"))


async def test_an_edit_before_the_undoing_does_not_hand_the_target_back() -> None:
    world = await _rolled_up()
    world.cluster.edit_serving("llama", spec(cooldownSeconds=60))
    await world.run(300)
    assert world.roll() == "Finished"
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(HOUR)
    assert world.profiles_written() == ["none"]
    assert world.condition("Ready") == ("False", "UndoneByOthers")


async def test_a_roll_that_is_undone_on_the_way_is_not_repeated() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="helm")
    await world.run(HOUR)
    assert world.profiles_written() == ["none"]
    assert world.roll() == "Undone"
    assert world.history() == [("eagle2", "none", True)]


async def test_a_profile_that_comes_back_by_itself_ends_the_hold() -> None:
    world = await _rolled_up()
    world.cluster.set_config("llama", EAGLE_CONFIG, manager="kubectl-edit")
    await world.run(120)
    world.cluster.set_config("llama", "", manager="kubectl-edit")
    await world.run(120)
    assert world.roll() == "Finished"
    assert world.condition("Ready") == ("True", "Operating")


async def test_a_stream_behind_our_own_write_is_not_taken_for_undoing() -> None:
    world = await settled()
    stream = world.process.stream
    stream.delay_seconds = dict.fromkeys(stream.delay_seconds, 45.0)
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    await world.run(300)
    assert world.profiles_written() == ["none"]
    assert world.history() == [("eagle2", "none", True)]
    assert "UndoneByOthers" not in world.events()


async def test_an_autoscaler_during_a_roll_is_neither_drift_nor_a_reason_to_stop() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.scale("llama", 6)
    await world.run(10)
    world.cluster.scale("llama", 5)
    assert await world.run(600, until=world.finished("none"))
    await world.run(600)
    assert world.profiles_written() == ["none"]
    assert world.cluster.deployment("llama").replicas == 5
    assert "UndoneByOthers" not in world.events()


async def test_nothing_is_rolled_while_the_target_scales() -> None:
    world = await settled()
    world.users["llama"] = HIGH * 3
    for replicas in (5, 6, 7, 8, 9, 10):
        world.cluster.scale("llama", replicas)
        await world.run(15)
        assert world.tries() == []
    assert world.status()["lastDecision"]["reason"] == "RolloutUnderWay"


async def test_a_target_deleted_during_a_roll_ends_it() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.delete_deployment("llama")
    await world.run(30)
    assert world.roll() == "Abandoned"
    assert world.history() == []
    assert world.condition("Ready") == ("False", "TargetNotFound")
    world.deploy(users=HIGH)
    assert await world.run(900, until=world.finished("none"))
    assert world.history() == [("eagle2", "none", True)]


async def test_nothing_lands_on_a_target_that_was_created_anew_under_our_hands() -> None:
    world = await settled()

    def recreate(call: Call) -> None:
        if call.kind is CallKind.PROFILE:
            world.process.session.faults = None
            world.cluster.delete_deployment("llama")
            world.deploy(users=HIGH)

    world.process.session.faults = recreate
    world.users["llama"] = HIGH
    await world.run(75)
    refused = [each for each in world.cluster.writes if each.kind is CallKind.PROFILE]
    assert "UID in precondition" in refused[0].refused
    assert world.config() == EAGLE_CONFIG
    assert world.roll() == "Abandoned"
    assert await world.run(900, until=world.finished("none"))


async def test_a_status_change_under_our_hands_is_read_anew() -> None:
    world = await settled()

    def moves(call: Call) -> None:
        if call.kind is CallKind.REHEARSAL:
            world.process.session.faults = None
            world.cluster.note("llama")

    world.process.session.faults = moves
    world.users["llama"] = HIGH
    assert await world.run(600, until=world.finished("none"))
    assert world.tries() == ["rehearsal", "rehearsal", "profile"]


def _renamed() -> dict[str, object]:
    ranges = [
        {"profile": "eagle2", "upToConcurrency": 20, "returnBelowConcurrency": 16},
        {"profile": "off"},
    ]
    return spec(
        profiles=[EAGLE_PROFILE, {**NONE_PROFILE, "name": "off"}],
        cutoff={"strategy": "Fixed", "ranges": ranges},
    )


async def test_a_profile_renamed_while_active_is_nobodys_undoing() -> None:
    world = await _rolled_up()
    world.cluster.edit_serving("llama", _renamed())
    await world.run(300)
    world.cluster.scale("llama", 5)
    await world.run(600)
    assert world.condition("Ready") == ("True", "Operating")
    assert world.status()["activeProfile"] == "off"
    assert "UndoneByOthers" not in world.events()
    assert world.profiles_written() == ["none"]
    samples = world.process.metrics.registry.get_sample_value
    labels = {"namespace": "default", "serving": "llama"}
    name = "ridgeline_serving_cutoff_concurrency"
    assert samples(name, {**labels, "profile": "eagle2"}) == 20


async def test_a_profile_renamed_during_its_roll_lets_the_roll_end() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    assert await world.run(900, until=lambda: world.roll() == "Rolling")
    world.cluster.edit_serving("llama", _renamed())
    assert await world.run(600, until=lambda: world.roll() == "Finished")
    assert world.history() == [("eagle2", "none", True)]
    assert "UndoneByOthers" not in world.events()


async def test_a_profile_edited_while_active_is_unknown_and_not_undone() -> None:
    world = await _rolled_up()
    world.users["llama"] = LOW
    assert await world.run(1200, until=world.finished("eagle2"))
    edited = spec(profiles=[{**EAGLE_PROFILE, "numSpeculativeTokens": 3}, NONE_PROFILE])
    world.cluster.edit_serving("llama", edited)
    await world.run(600)
    assert world.condition("Ready") == ("False", "ActiveProfileUnknown")
    assert "UndoneByOthers" not in world.events()
    assert len(world.profiles_written()) == 2


async def test_a_profile_whose_name_passed_to_another_is_not_undone() -> None:
    world = await _rolled_up()
    world.users["llama"] = LOW
    assert await world.run(1200, until=world.finished("eagle2"))
    moved = {**EAGLE_PROFILE, "name": "eagle-k4"}
    fewer = {**EAGLE_PROFILE, "numSpeculativeTokens": 3}
    world.cluster.edit_serving("llama", spec(profiles=[fewer, moved, NONE_PROFILE]))
    await world.run(300)
    assert world.status()["activeProfile"] == "eagle-k4"
    assert world.roll() == "Finished"
    assert "UndoneByOthers" not in world.events()


async def test_a_label_that_was_left_behind_is_not_believed() -> None:
    """Somebody took the env item away and left the label: new Pods are labelled and run none."""
    world = World()
    world.deploy(containers=(container(config=None),))
    world.cluster.create_serving("llama", spec())
    world.start()
    assert await world.run(1200, until=world.finished("eagle2"))
    world.cluster.set_config("llama", None, manager="kubectl-set")
    await world.run(300)
    assert world.condition("Ready") == ("False", "UndoneByOthers")
    world.cluster.edit_serving("llama", spec(cooldownSeconds=60))
    await world.run(120)
    assert world.condition("Ready") == ("True", "Operating")
    assert await world.run(1800, until=lambda: world.profiles_written() == ["eagle2", "eagle2"])
