"""A canary on the simulated cluster: held back, judged, let go or taken back, whatever happens."""

from collections.abc import Callable
from typing import Any

import pytest

from ridgeline.sim.fleet_load import EngineModel
from ridgeline.sim.session import Call, CallKind, Fault, Moment, ProcessLostError
from ridgeline.sim.stand_in.step_time import StepTimeModel
from ridgeline.sim.workload import Pace
from tests.component.controller.world import (
    EAGLE_CONFIG,
    EAGLE_PROFILE,
    HIGH,
    LOW,
    NONE_PROFILE,
    WINDOW,
    World,
    container,
    spec,
)

DEADLINE = 600
SLOW_DRAFTS = StepTimeModel(draft_ms=40.0)
CANARY: dict[str, Any] = {
    "rollout": {"canary": {"when": "Always", "deadlineSeconds": DEADLINE}, "trial": "Never"}
}


async def quiet(**options: Any) -> World:
    """A world that runs without speculation, quiet enough for the operator to want EAGLE."""
    world = World(**options)
    world.deploy(users=LOW, containers=[container(None)])
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    return world


def stands(world: World, state: str) -> Callable[[], bool]:
    """Tell whether the latest roll stands in a state."""
    return lambda: world.roll() == state


def held_back(world: World) -> bool:
    """Tell whether the target is paused for a canary."""
    return world.cluster.deployment("llama").paused_by_us


def profiles(world: World) -> list[str]:
    """Profile of every Pod that stays, sorted."""
    pods = [pod for pod in world.cluster.pods_of("llama") if not pod.deleting]
    return sorted((pod.template.profile or "" for pod in pods), reverse=True)


async def with_canary(**options: Any) -> World:
    """A world whose canary serves and is being judged."""
    world = await quiet(**options)
    assert await world.run(600, until=lambda: held_back(world))
    assert await world.run(60, until=lambda: _canary_serves(world))
    return world


def _canary_serves(world: World) -> bool:
    return any(pod.serves and pod.template.profile for pod in world.cluster.pods_of("llama"))


async def test_the_first_new_pod_is_held_back_and_every_old_one_serves_on() -> None:
    world = await with_canary()
    await world.run(60)
    assert profiles(world) == ["eagle2", "", "", "", ""]
    assert world.roll() == "Canary"
    status = world.status()
    assert (status["activeProfile"], status["desiredProfile"]) == ("none", "eagle2")
    assert status["lastDecision"]["reason"] == "CanaryUnderWay"
    assert world.condition("Ready") == ("True", "Operating")
    assert world.condition("Reconciling")[0] == "True"
    assert world.events() == ["CanaryStarted"]


async def test_a_person_lets_the_rest_follow_by_ordering_the_profile() -> None:
    world = await with_canary()
    world.cluster.force("llama", "eagle2")
    assert await world.run(600, until=world.finished("eagle2"))
    assert profiles(world) == ["eagle2"] * 4
    assert not world.cluster.deployment("llama").paused
    assert world.status()["rollout"]["reason"] == "Forced"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda world: world.cluster.force("llama", "none"), "Forced"),
        (lambda world: world.cluster.edit_serving("llama", spec(suspend=True)), "Suspended"),
        (
            lambda world: world.cluster.edit_serving("llama", spec(mode="RecommendOnly")),
            "RecommendOnly",
        ),
        (lambda world: world.process.reconciler.freeze(True), "Frozen"),
    ],
)
async def test_what_takes_the_right_to_go_on_takes_the_canary_back(
    change: Callable[[World], None], reason: str
) -> None:
    world = await with_canary()
    change(world)
    assert await world.run(120, until=stands(world, "Restored"))
    assert profiles(world) == [""] * 4
    assert world.config() == ""
    assert not world.cluster.deployment("llama").paused
    assert world.status()["rollout"]["reason"] == reason
    assert "quarantine" not in world.status()


async def test_a_canary_that_nobody_could_judge_is_taken_back_and_left_alone_for_a_while() -> None:
    world = await with_canary()
    world.telemetry.faults.error = "connection refused"
    assert await world.run(DEADLINE + 120, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "CanaryNotJudged"
    (entry,) = world.status()["quarantine"]
    assert entry["profile"] == "eagle2"
    world.telemetry.faults.error = None
    await world.run(1200)
    assert world.status()["lastDecision"]["reason"] == "ProfileQuarantined"
    assert profiles(world) == [""] * 4


async def test_an_image_that_changes_meanwhile_stays_changed_and_goes_on_without_the_canary() -> (
    None
):
    world = await with_canary()
    first = world.cluster.deployment("llama").containers[0]
    changed = container(EAGLE_CONFIG, "vllm", "--max-num-seqs=128")
    changed = type(first)(
        name=first.name, args=changed.args, env=first.env, has_env_from=True, image=first.image
    )
    world.cluster.set_containers("llama", (changed,), manager="helm")
    assert await world.run(240, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "TemplateChanged"
    assert "--max-num-seqs=128" in world.cluster.deployment("llama").containers[0].args
    assert world.config() == ""
    assert not world.cluster.deployment("llama").paused


async def test_an_autoscaler_that_scales_a_target_with_a_canary_is_no_disturbance() -> None:
    world = await with_canary()
    world.cluster.scale("llama", 8)
    await world.run(60)
    assert world.roll() == "Canary"
    world.cluster.force("llama", "eagle2")
    assert await world.run(900, until=world.finished("eagle2"))
    assert profiles(world) == ["eagle2"] * 8


async def test_a_serving_deleted_under_its_canary_leaves_no_paused_target() -> None:
    world = await with_canary()
    world.cluster.delete_serving("llama")
    await world.run(180)
    assert not world.cluster.deployment("llama").paused
    assert profiles(world) == [""] * 4


async def test_a_lone_replica_has_a_canary_too() -> None:
    world = World()
    world.deploy(users=5.0, containers=[container(None)], replicas=1)
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    assert await world.run(600, until=lambda: held_back(world))
    await world.run(60)
    assert profiles(world) == ["eagle2", ""]


async def test_a_target_that_may_lose_old_pods_at_once_gets_no_canary_and_no_roll() -> None:
    world = World()
    world.deploy(users=LOW, containers=[container(None)], pace=Pace(max_unavailable=1))
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    await world.run(1200)
    assert world.profiles_written() == []
    decision = world.status()["lastDecision"]
    assert decision["reason"] == "CanaryImpossible"
    assert "maxUnavailable: 0" in decision["message"]
    world.cluster.edit_serving(
        "llama", spec(rollout={"canary": {"when": "Always", "otherwise": "Roll"}})
    )
    assert await world.run(1200, until=world.finished("eagle2"))


async def test_a_roll_to_no_speculation_has_no_canary() -> None:
    world = World()
    world.deploy(users=HIGH)
    world.cluster.create_serving("llama", spec(**CANARY))
    world.start()
    assert await world.run(900, until=world.finished("none"))
    assert "CanaryStarted" not in world.events()


async def test_what_has_served_needs_no_second_canary_until_the_template_changes() -> None:
    world = World()
    world.deploy(users=HIGH)
    usual = {"canary": {"when": "Unproven", "deadlineSeconds": DEADLINE}}
    world.cluster.create_serving("llama", spec(rollout=usual))
    world.start()
    assert await world.run(900, until=world.finished("none"))
    world.users["llama"] = LOW
    assert await world.run(1800, until=world.finished("eagle2"))
    assert "CanaryStarted" not in world.events()
    (proof,) = [each for each in world.status()["proofs"] if each["profile"] == "eagle2"]
    assert proof["result"] == "Served"


async def test_a_canary_that_is_better_lets_the_rest_follow() -> None:
    world = await with_canary()
    assert await world.run(DEADLINE, until=world.finished("eagle2"))
    assert profiles(world) == ["eagle2"] * 4
    rollout = world.status()["rollout"]
    assert rollout["reason"] == "CanaryBetter"
    assert "less time per token" in rollout["message"]
    assert world.events() == ["CanaryStarted", "RollStarted", "RollFinished"]
    results = {each["profile"]: each["result"] for each in world.status()["proofs"]}
    assert results == {"none": "Served", "eagle2": "CanaryPassed"}


async def test_a_canary_that_is_slower_is_taken_back_and_its_profile_left_alone() -> None:
    world = await quiet()
    # Heads that guess next to nothing: every step pays for drafts that are thrown away.
    world.telemetry.model = EngineModel(acceptance=(0.02,), step_time=SLOW_DRAFTS)
    assert await world.run(900, until=stands(world, "Restored"))
    assert world.status()["rollout"]["reason"] == "CanarySlower"
    assert [each["profile"] for each in world.status()["quarantine"]] == ["eagle2"]
    assert world.events()[:3] == ["CanaryStarted", "RollUndone", "RollRestored"]
    await world.run(3600)
    assert profiles(world) == [""] * 4
    assert world.events().count("CanaryStarted") == 1


async def test_an_edited_profile_may_try_again_at_once() -> None:
    world = await quiet()
    world.telemetry.model = EngineModel(acceptance=(0.02,), step_time=SLOW_DRAFTS)
    assert await world.run(900, until=stands(world, "Restored"))
    world.telemetry.model = EngineModel()
    edited = {**EAGLE_PROFILE, "numSpeculativeTokens": 3}
    world.cluster.edit_serving("llama", spec(profiles=[edited, NONE_PROFILE], **CANARY))
    assert await world.run(1800, until=world.finished("eagle2"))
    assert "quarantine" not in world.status()


async def test_a_serving_replaced_under_its_canary_leaves_no_paused_target() -> None:
    world = await with_canary()
    world.cluster.delete_serving("llama")
    world.cluster.create_serving("llama", spec(suspend=True))
    await world.run(300)
    assert not world.cluster.deployment("llama").paused
    assert profiles(world) == [""] * 4


async def test_a_serving_deleted_while_the_operator_is_frozen_leaves_no_paused_target() -> None:
    world = await with_canary()
    world.cluster.delete_serving("llama")
    world.process.reconciler.freeze(True)
    await world.run(300)
    assert not world.cluster.deployment("llama").paused


async def test_a_target_that_cannot_be_resolved_any_more_is_not_left_paused() -> None:
    world = await with_canary()
    first = world.cluster.deployment("llama").containers[0]
    sidecar = container(None, "sidecar")
    world.cluster.set_containers("llama", (first, sidecar), manager="helm")
    await world.run(300)
    assert world.condition("Ready") == ("False", "ContainerAmbiguous")
    assert not world.cluster.deployment("llama").paused
    assert profiles(world) == [""] * 4


async def test_a_person_who_resumes_the_rollout_lets_the_rest_follow() -> None:
    world = await with_canary()
    await world.run(30)
    world.cluster.pause("llama", False)
    assert await world.run(600, until=world.finished("eagle2"))
    assert "somebody resumed" in world.status()["rollout"]["message"]
    results = {each["profile"]: each["result"] for each in world.status()["proofs"]}
    assert results["eagle2"] == "Unclear"


async def test_a_person_who_pauses_a_roll_is_waited_for_and_named_nowhere_as_a_failure() -> None:
    world = await with_canary()
    world.cluster.force("llama", "eagle2")
    assert await world.run(300, until=stands(world, "Rolling"))
    world.cluster.force("llama", None)
    world.cluster.pause("llama", True)
    await world.run(3 * 3600)
    assert world.status()["lastDecision"]["reason"] == "RolloutPaused"
    assert "quarantine" not in world.status()
    world.cluster.pause("llama", False)
    assert await world.run(600, until=world.finished("eagle2"))


async def test_a_successor_counts_a_pause_that_it_finds_from_the_begin_of_the_stage() -> None:
    world = await with_canary()
    world.cluster.force("llama", "eagle2")
    assert await world.run(300, until=stands(world, "Rolling"))
    world.cluster.force("llama", None)
    world.cluster.pause("llama", True)
    await world.run(3 * 3600)
    world.kill(world.process)
    world.start()
    await world.run(60)
    world.cluster.pause("llama", False)
    assert await world.run(600, until=world.finished("eagle2"))
    assert "quarantine" not in world.status()


async def test_a_profile_is_not_blamed_for_what_git_broke_while_it_rolled() -> None:
    world = await quiet()
    world.cluster.edit_serving("llama", spec(rollout={"canary": {"when": "Never"}}))
    assert await world.run(900, until=stands(world, "Rolling"))
    first = world.cluster.deployment("llama").containers[0]
    broken = type(first)(
        name=first.name,
        args=(*first.args, "--no-such-flag"),
        env=first.env,
        has_env_from=True,
        image=first.image,
    )
    world.cluster.set_containers("llama", (broken,), manager="helm")
    await world.run(1200)
    assert "quarantine" not in world.status()
    assert "RollUndone" not in world.events()


async def test_a_serving_that_was_renamed_keeps_its_targets_profile() -> None:
    world = World()
    world.deploy(users=LOW, containers=[container(None)])
    world.cluster.create_serving("llama", spec(onDelete="Restore"))
    world.start()
    assert await world.run(1200, until=world.finished("eagle2"))
    world.cluster.create_serving("llama-2", spec(onDelete="Restore"))
    world.cluster.delete_serving("llama")
    await world.run(600)
    assert profiles(world) == ["eagle2"] * 4
    world.cluster.delete_serving("llama-2")
    await world.run(300)
    assert profiles(world) == [""] * 4


@pytest.mark.parametrize("otherwise", ["Hold", "Roll"])
async def test_a_pause_that_somebody_else_owns_is_a_conflict_or_a_roll_without_a_canary(
    otherwise: str,
) -> None:
    world = World()
    world.deploy(users=LOW, containers=[container(None)])
    world.cluster.apply_as("llama", manager="flux", paused=False)
    rollout = {"canary": {"when": "Always", "otherwise": otherwise}, "trial": "Never"}
    world.cluster.create_serving("llama", spec(rollout=rollout))
    world.start()
    if otherwise == "Roll":
        assert await world.run(1200, until=world.finished("eagle2"))
        assert world.status()["rollout"]["way"] == "Whole"
        return
    await world.run(3 * 3600)
    assert world.condition("Stalled") == ("True", "FieldConflict")
    assert ".spec.paused" in world.message("Stalled")
    assert world.events().count("FieldConflict") == 1
    assert world.profiles_written() == []


CALLS = range(2, 40)


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("number", CALLS)
async def test_an_operator_killed_at_any_call_of_a_canary_leaves_it_whole(
    number: int, moment: Moment
) -> None:
    """Killed once at each call, before and after its effect: its successor ends what was begun."""

    def fault(call: Call) -> Fault | None:
        dies = call.number == number and call.kind is not CallKind.READ
        return Fault(moment, ProcessLostError()) if dies else None

    world = await quiet(faults=None)
    world.process.session.faults = fault
    await world.run(600, until=lambda: held_back(world))
    await world.run(3 * WINDOW)
    world.cluster.edit_serving("llama", spec(mode="RecommendOnly"))
    await world.run(600)
    deployment = world.cluster.deployment("llama")
    assert not deployment.paused
    assert len(set(profiles(world))) == 1
    assert world.roll() in ("", "Restored", "Abandoned", "Finished")
    assert len([each for each in world.profiles_written() if each == "eagle2"]) <= 1
