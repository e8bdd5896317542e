"""Cut-offs sized to the accelerator, policies, orders and GPU pools, in the whole controller."""

from typing import Any

import pytest

from ridgeline.cluster.surroundings import (
    BudgetObject,
    NodeObject,
    SpecObject,
    Surroundings,
)
from ridgeline.policy.placement import Node
from ridgeline.sim.workload import Pace
from tests.component.controller.world import HIGH, World, spec

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def ridge(**fields: Any) -> dict[str, Any]:
    """A serving that follows the Ridge strategy of the GPU it names."""
    return spec(accelerator="h100-sxm", **{"cutoff": {"strategy": "Ridge"}, **fields})


def policy(name: str, version: int = 1, **fields: Any) -> SpecObject:
    return SpecObject(
        namespace="default",
        name=name,
        uid=f"policy-{name}",
        resource_version=str(version),
        generation=version,
        spec=fields,
    )


async def test_asked_for_it_the_ridge_of_the_accelerator_decides() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", ridge())
    world.start()
    await world.run(180)
    status = world.status()
    assert status["cutoff"]["strategy"] == "Ridge"
    assert status["cutoff"]["verdict"] == "Yes"
    assert status["accelerator"]["name"] == "h100-sxm"
    # K = 4: five tokens a request and step, so 120 tokens are 24 requests.
    assert status["cutoffTable"][0] == {
        "profile": "eagle2",
        "upToConcurrency": 24,
        "returnBelowConcurrency": 19,
    }
    world.users["llama"] = HIGH
    assert await world.run(900, until=world.finished("none"))


async def test_an_accelerator_that_nobody_knows_holds_and_says_what_to_do() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", {**ridge(), "accelerator": "made-up"})
    world.start()
    world.users["llama"] = HIGH
    await world.run(1800)
    assert world.condition("Ready") == ("False", "AcceleratorUnknown")
    assert "made-up" in world.message("Ready")
    assert "AcceleratorProfile" in world.message("Ready")
    assert world.tries() == []
    assert world.events() == ["AcceleratorUnknown"]
    world.cluster.edit_serving("llama", ridge())
    assert await world.run(900, until=world.finished("none"))


async def test_an_undecided_accelerator_recommends_and_does_not_act() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", {**ridge(), "accelerator": "a100-sxm-80gb"})
    world.start()
    world.users["llama"] = HIGH
    await world.run(1800)
    assert world.status()["cutoff"]["verdict"] == "Undecided"
    assert world.status()["lastDecision"]["reason"] == "CutoffUndecided"
    assert world.status()["recommendedProfile"] == "none"
    assert world.tries() == []


async def test_fixed_cutoffs_need_no_accelerator() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    assert "accelerator" not in world.status()
    assert world.condition("Ready") == ("True", "Operating")


async def test_a_policy_tunes_the_serving_and_its_change_is_followed() -> None:
    around = Surroundings()
    ranges = [{"profile": "eagle2", "upToConcurrency": 10}, {"profile": "none"}]
    around.put_policy(policy("fleet", cutoff={"ranges": ranges}))
    asked = spec(policyRef={"name": "fleet"})
    del asked["cutoff"]
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", asked)
    world.start(around=around)
    await world.run(60)
    assert world.status()["policy"] == {"name": "fleet", "generation": 1}
    assert world.status()["cutoffTable"][0]["upToConcurrency"] == 10
    ranges = [{"profile": "eagle2", "upToConcurrency": 30}, {"profile": "none"}]
    around.put_policy(policy("fleet", 2, cutoff={"ranges": ranges}))
    await world.run(5)
    assert world.status()["policy"] == {"name": "fleet", "generation": 2}
    assert world.status()["cutoffTable"][0]["upToConcurrency"] == 30


async def test_a_policy_that_does_not_exist_holds_until_it_does() -> None:
    around = Surroundings()
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec(policyRef={"name": "fleet"}))
    world.start(around=around)
    await world.run(300)
    assert world.condition("Ready") == ("False", "PolicyNotFound")
    assert world.events() == ["PolicyNotFound"]
    around.put_policy(policy("fleet", cooldownSeconds=60))
    await world.run(5)
    assert world.condition("Ready") == ("True", "Operating")


async def test_an_order_is_obeyed_and_handed_back() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(180)
    world.cluster.force("llama", "none")
    assert await world.run(300, until=world.finished("none"))
    assert world.status()["switchHistory"][-1]["reason"] == "Forced"
    await world.run(1800)
    assert world.profiles_written() == ["none"]
    assert world.status()["lastDecision"]["reason"] == "Forced"
    world.cluster.force("llama", None)
    assert await world.run(1800, until=world.finished("eagle2"))


async def test_a_freeze_and_a_thaw_need_no_restart() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    process = world.start()
    await world.run(180)
    process.reconciler.freeze(frozen=True)
    world.users["llama"] = HIGH
    await world.run(1800)
    assert world.condition("Suspended") == ("True", "Frozen")
    assert world.tries() == []
    process.reconciler.freeze(frozen=False)
    assert await world.run(900, until=world.finished("none"))


async def test_one_roll_at_a_time_on_a_pool_of_gpus() -> None:
    world = World(max_rolls=5)
    names = ("aya", "gemma", "llama")
    for name in names:
        world.deploy(name)
        asked = ridge(targetRef={"name": name})
        gpu = "h200-sxm" if name == "llama" else "h100-sxm"
        world.cluster.create_serving(name, {**asked, "accelerator": gpu})
    world.start()
    await world.run(180)
    world.users.update(dict.fromkeys(names, HIGH))
    most: dict[str, int] = {"h100": 0, "all": 0}

    def all_done() -> bool:
        rolling = {name for name in names if world.roll(name) in ("Intended", "Rolling")}
        most["h100"] = max(most["h100"], len(rolling & {"aya", "gemma"}))
        most["all"] = max(most["all"], len(rolling))
        return all(world.finished("none", name)() for name in names)

    assert await world.run(3600, until=all_done)
    assert most == {"h100": 1, "all": 2}
    waited = [name for name in names if "WaitingForRollBudget" in world.events(name)]
    assert len(waited) == 1


def node(gpus: int) -> NodeObject:
    return NodeObject(
        name="n",
        uid="n",
        resource_version="1",
        node=Node(name="n", labels=H100, allocatable={"nvidia.com/gpu": gpus}),
    )


@pytest.mark.parametrize(("gpus", "reason"), [(0, "NoRoomForSurge"), (1, None)])
async def test_a_surge_pod_needs_a_free_gpu(gpus: int, reason: str | None) -> None:
    around = Surroundings()
    around.nodes.lay_over(0, [node(gpus)])
    world = World()
    world.deploy(gpus=1)
    world.cluster.create_serving("llama", spec())
    world.start(around=around)
    world.users["llama"] = HIGH
    await world.run(900)
    if reason is None:
        assert world.profiles_written() == ["none"]
        return
    assert world.status()["lastDecision"]["reason"] == reason
    assert world.status()["recommendedProfile"] == "none"
    assert world.tries() == []


async def test_a_disruption_budget_is_kept() -> None:
    around = Surroundings()
    budget = BudgetObject(
        namespace="default",
        name="keep-all",
        uid="b",
        resource_version="1",
        labels={},
        expressions=(),
        allowed=0,
    )
    around.budgets.lay_over(0, [budget])
    world = World()
    world.deploy(pace=Pace(max_unavailable=1))
    world.cluster.create_serving("llama", spec())
    world.start(around=around)
    world.users["llama"] = HIGH
    await world.run(900)
    assert world.status()["lastDecision"]["reason"] == "DisruptionBudget"
    assert "keep-all" in world.status()["lastDecision"]["message"]
    assert world.tries() == []
