"""Profiles in the argument list: the same rolls, and nobody is fought for the list."""

from typing import Any

import pytest

from ridgeline.engine.container import Container
from ridgeline.sim.workload import Pace
from tests.component.controller.world import (
    EAGLE_CONFIG,
    HIGH,
    IMAGE,
    LOW,
    WINDOW,
    World,
    spec,
)

HOUR = 3600.0
FLAG = f"--speculative-config={EAGLE_CONFIG}"
PLAIN = ("serve", "m", "--port=1")
OPTED_IN: dict[str, Any] = {"injection": {"mode": "Args"}, "conflictPolicy": "Force"}


def served(*args: str, **other: Any) -> Container:
    """A container that reads nothing of ours."""
    return Container(name="vllm", args=args, image=IMAGE, **other)


def args(world: World) -> tuple[str, ...]:
    """The argument list of the target."""
    return world.cluster.deployment("llama").containers[0].args


def begin(
    *words: str, users: float = LOW, allowed: bool = True, pace: Pace | None = None, **fields: Any
) -> World:
    """A world with a target of these arguments and a serving that writes into them."""
    world = World(allow_args=allowed)
    world.deploy(users=users, containers=[served(*words)], pace=pace)
    world.cluster.create_serving("llama", spec(**OPTED_IN, **fields))
    world.start()
    return world


async def rolled(*words: str, **fields: Any) -> World:
    """A world in which EAGLE was rolled out by its flag."""
    world = begin(*words, **fields)
    assert await world.run(900, until=world.finished("eagle2"))
    return world


def apply(world: World, *words: str, manager: str) -> None:
    """Let somebody write the whole list."""
    world.cluster.set_containers("llama", (served(*words),), manager=manager)


async def test_the_flag_follows_the_load_and_nothing_else_changes() -> None:
    world = await rolled(*PLAIN)
    assert args(world) == (*PLAIN, FLAG)
    assert world.cluster.deployment("llama").template_profile == "eagle2"
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))
    assert args(world) == PLAIN
    assert world.profiles_written() == ["eagle2", "none"]
    assert world.config() == ""


async def test_adoption_costs_no_roll_and_no_write() -> None:
    world = begin("serve", "m", "--spec-method", "eagle", *("--spec-tokens=4", "-tp", "2"))
    world.cluster.edit_serving("llama", spec(**OPTED_IN))
    before = args(world)
    own = ("serve", "-sc", EAGLE_CONFIG, "m")
    apply(world, *own, manager="helm")
    await world.run(HOUR)
    assert before != args(world) == own
    assert world.tries() == []
    assert world.status()["activeProfile"] == "eagle2"
    assert world.condition("Ready")[0] == "True"


async def test_an_upgrade_of_another_argument_is_where_the_next_write_starts() -> None:
    """The profile goes into the new list, whose other words stay as they are."""
    world = await rolled(*PLAIN)
    upgraded = ("serve", "m", "--port=2", "--new", "x y")
    apply(world, *upgraded, manager="kubectl-client-side-apply")
    assert await world.run(900, until=world.finished("eagle2"))
    assert await world.run(HOUR, until=lambda: len(world.profiles_written()) == 2)
    assert args(world) == (*upgraded, FLAG)
    assert world.events().count("UndoneByOthers") == 1  # a note; nothing waits for a person
    assert world.condition("Ready") == ("True", "Operating")


async def test_after_two_upgrades_it_stops_and_names_who_and_what_to_write() -> None:
    world = await rolled(*PLAIN)
    for port in ("2", "3"):
        count = len(world.profiles_written())
        apply(world, "serve", "m", f"--port={port}", manager="kubectl-client-side-apply")
        await world.run(HOUR, until=lambda n=count: len(world.profiles_written()) > n)  # type: ignore[misc]
    await world.run(HOUR)
    assert args(world) == ("serve", "m", "--port=3")
    assert len(world.profiles_written()) == 2
    assert world.condition("Stalled") == ("True", "UndoneByOthers")
    told = world.message("Stalled")
    assert "'kubectl-client-side-apply'" in told
    assert "--speculative-config=$(SPECULATION_CONFIG)" in told
    assert "managedFieldsManagers" in told


async def test_a_drift_corrector_is_answered_once() -> None:
    world = await rolled(*PLAIN)
    world.cluster.every(600.0, lambda _: apply(world, *PLAIN, manager="kustomize-controller"))
    await world.run(4 * HOUR)
    assert args(world) == PLAIN
    assert len(world.profiles_written()) == 2
    assert world.condition("Stalled") == ("True", "UndoneByOthers")
    assert "'kustomize-controller'" in world.message("Stalled")


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "kubectl-edit"])
async def test_a_person_who_changes_nothing_else_means_it(manager: str) -> None:
    world = await rolled(*PLAIN)
    apply(world, *PLAIN, manager=manager)
    await world.run(HOUR)
    assert world.profiles_written() == ["eagle2"]
    assert world.condition("Stalled") == ("True", "UndoneByOthers")


@pytest.mark.parametrize("ordered", [False, True])
async def test_without_the_operators_permission_nothing_is_written_ordered_or_not(
    ordered: bool,
) -> None:
    world = begin(*PLAIN, allowed=False)
    if ordered:
        world.cluster.force("llama", "eagle2")
    await world.run(HOUR)
    assert world.tries() == []
    assert world.condition("Stalled") == ("True", "ArgsNotAllowed")
    assert "guard.allowArgs" in world.message("Stalled")
    assert world.events().count("ArgsNotAllowed") == 1
    world.kill(world.process)
    world.start(allow_args=True)
    assert await world.run(900, until=world.finished("eagle2"))


async def test_who_only_looks_needs_no_permission() -> None:
    world = begin(*PLAIN, allowed=False, mode="RecommendOnly")
    await world.run(HOUR)
    assert world.condition("Stalled") == ("", "")
    assert world.status()["recommendedProfile"] == "eagle2"


async def test_a_list_that_cannot_be_edited_is_told_with_the_way_out() -> None:
    world = begin("-c", f"exec vllm serve m -sc '{EAGLE_CONFIG}'")
    container = Container(
        name="vllm", command=("sh",), args=("-c", "exec vllm serve m --spec-tokens 3"), image=IMAGE
    )
    world.cluster.set_containers("llama", (container,), manager="helm")
    await world.run(3 * WINDOW)
    assert world.tries() == []
    assert world.condition("Stalled") == ("True", "ArgsNotEditable")
    assert "script of a shell" in world.message("Stalled")


CANARY: dict[str, Any] = {
    "rollout": {"canary": {"when": "Always", "deadlineSeconds": 600}, "trial": "Never"}
}


async def test_a_canary_that_does_not_start_gives_the_list_back_as_it_was() -> None:
    own = ("serve", "-sc.method", "ngram", "m", "--spec-tokens=3")
    profiles = [
        {"name": "ngram", "method": "NGram", "numSpeculativeTokens": 3},
        *spec()["profiles"],
    ]
    world = begin(
        *own,
        users=LOW,
        pace=Pace(starts=lambda each: "eagle" not in each.speculative_config),
        **CANARY,
    )
    ranges = [
        {"profile": "eagle2", "upToConcurrency": 20},
        {"profile": "ngram", "upToConcurrency": 30},
        {"profile": "none"},
    ]
    cutoff = {"strategy": "Fixed", "ranges": ranges}
    fields = {**OPTED_IN, **CANARY, "profiles": profiles, "cutoff": cutoff}
    world.cluster.edit_serving("llama", spec(**fields))
    assert await world.run(HOUR, until=lambda: world.roll() == "Restored")
    live = world.cluster.deployment("llama")
    assert live.containers[0].args == own
    assert (live.args_ours, live.marker, live.template_profile) == ((), None, None)
    assert not live.paused


async def test_a_deleted_serving_gives_the_list_back_where_it_says_so() -> None:
    world = await rolled(*PLAIN, onDelete="Restore")
    world.cluster.delete_serving("llama")
    assert await world.run(300, until=lambda: args(world) == PLAIN)
    assert world.cluster.deployment("llama").args_ours == ()


async def test_a_serving_that_changes_its_mode_is_told_to_release_first() -> None:
    world = await rolled(*PLAIN)
    before = args(world)
    world.cluster.edit_serving("llama", spec())
    world.users["llama"] = HIGH
    await world.run(HOUR)
    assert args(world) == before
    assert "kubectl ridgeline release" in world.message("Stalled")
