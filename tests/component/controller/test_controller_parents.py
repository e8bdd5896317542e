"""Targets that another object made, in the whole controller, with and without an adapter for it.

The simulated API server writes the Deployment where the real one's parent would: to the controller
it is the same, since a write through a parent has ended when the Deployment has it.
"""

from typing import Any

import pytest

from ridgeline.cluster.errors import RefusedError
from ridgeline.cluster.shape import Parent, TargetShape
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.session import Call, CallKind, Fault, Moment
from ridgeline.terms.parents import ParentKind
from tests.component.controller.world import HIGH, LOW, REPLICAS, World, container, spec

ALL = frozenset(ParentKind)
ALWAYS = {"canary": {"when": "Always"}, "trial": "Never"}


def owned(
    kind: str = "InferenceService",
    *,
    suffix: str = "-predictor",
    group: str = "serving.kserve.io",
    version: str = "v1beta1",
    config: str | None = None,
    users: float = HIGH,
    **options: Any,
) -> World:
    """A busy target that an object of this kind made, and a serving of it; options of the spec."""
    parent = Parent(group=group, version=version, kind=kind, name="llama", uid="u")
    target = f"llama{suffix}"
    world = World()
    world.cluster.create_deployment(
        target,
        containers=(container() if config is None else container(config),),
        replicas=REPLICAS,
        shape=TargetShape(owner=parent.told, parent=parent, max_surge=1, max_unavailable=0),
    )
    world.users[target] = users
    world.telemetry.traffic[target] = ClosedLoop(lambda _: world.users[target])
    world.cluster.create_serving("llama", spec(target, **options))
    return world


@pytest.mark.parametrize(
    ("kind", "suffix", "version"),
    [
        ("InferenceService", "-predictor", "v1beta1"),
        ("LLMInferenceService", "-kserve", "v1alpha1"),
        ("LLMInferenceService", "-kserve", "v1alpha2"),
    ],
)
async def test_a_kind_that_is_switched_on_is_rolled(kind: str, suffix: str, version: str) -> None:
    world = owned(kind, suffix=suffix, version=version)
    world.start(parents=ALL)

    assert await world.run(1800, until=world.finished("none"))
    assert world.profiles_written(f"llama{suffix}") == ["none"]


@pytest.mark.parametrize(
    ("owner", "parents", "told"),
    [
        ({}, frozenset(), "`parents: [InferenceService]` in its configuration"),
        (
            {},
            frozenset({ParentKind.LLM_INFERENCE_SERVICE}),
            "`parents: [InferenceService]` in its configuration",
        ),
        ({"suffix": "-transformer"}, ALL, "only Deployment llama-predictor is written"),
        ({"version": "v2"}, ALL, "InferenceService/llama owns this Deployment"),
        ({"group": "example.org"}, ALL, "InferenceService/llama owns this Deployment"),
        (
            {"kind": "VLLMRuntime", "group": "production-stack.vllm.ai", "version": "v1alpha1"},
            ALL,
            "no adapter: its env list is one value in its CRD",
        ),
    ],
    ids=["off", "another is on", "not the server", "version", "group", "no adapter"],
)
async def test_all_others_are_recommended_for_and_told_why(
    owner: dict[str, Any], parents: frozenset[ParentKind], told: str
) -> None:
    world = owned(**owner)
    world.start(parents=parents)
    await world.run(900)

    assert world.tries(f"llama{owner.get('suffix', '-predictor')}") == []
    decision = world.status()["lastDecision"]
    assert decision["reason"] == "TargetOwnedByController"
    assert told in decision["message"]


async def test_what_must_begin_with_a_canary_is_held() -> None:
    world = owned(config="", users=LOW, rollout=ALWAYS)
    world.start(parents=ALL)
    await world.run(900)

    assert world.tries("llama-predictor") == []
    assert world.status()["lastDecision"]["reason"] == "CanaryImpossible"
    message = world.status()["lastDecision"]["message"]
    assert "InferenceService/llama's, which cannot hold its rollout back for one" in message
    assert "spec.rollout.canary.otherwise: Roll" in message
    assert "maxSurge" not in message


async def test_otherwise_it_is_rolled_as_a_whole() -> None:
    rollout = {**ALWAYS, "canary": {"when": "Always", "otherwise": "Roll"}}
    world = owned(config="", users=LOW, rollout=rollout)
    world.start(parents=ALL)

    assert await world.run(1800, until=world.finished("eagle2"))
    assert not any(each.what == "paused" for each in world.cluster.changes(CallKind.PROFILE))
    assert world.profiles_written("llama-predictor") == ["eagle2"]


async def test_a_parent_that_does_not_take_it_is_named_and_the_roll_abandoned() -> None:
    def refused(call: Call) -> Fault | None:
        if call.kind is CallKind.PROFILE:
            silent = RefusedError("InferenceService/llama was given the profile")
            return Fault(Moment.BEFORE, silent)
        return None

    world = owned()
    world.start(parents=ALL, faults=refused)
    await world.run(300, until=lambda: world.roll() == "Abandoned")

    assert world.roll() == "Abandoned"
    assert world.condition("Ready") == ("False", "WriteRefused")
    assert "InferenceService/llama was given the profile" in world.message("Ready")
