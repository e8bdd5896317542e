"""What a pass keeps for the next one never shows: every pass comes out as one from scratch."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.cluster.surroundings import NodeObject, SpecObject, Surroundings
from ridgeline.controller import basis as basis_module
from ridgeline.controller.kept import Kept, Part
from ridgeline.controller.options import Options
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision
from ridgeline.policy.placement import Node
from tests.component.controller import world as world_module
from tests.component.controller.world import HIGH, LOW, World, container, spec

GPU = "nvidia.com/gpu"
ACCELERATORS = ("h100-sxm", "a100-sxm-80gb", "made-up")


class Seen:
    """Writes down all that every pass knew and decided."""

    def __init__(self) -> None:
        self.passes: list[tuple[View, Decision, Decision]] = []

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        self.passes.append((view, decided, told))


class Play:
    """A world with two servings, what surrounds them, and one operator."""

    def __init__(self) -> None:
        self.around, self.seen, self.version = Surroundings(), Seen(), 10
        self.world = World(around=self.around, sink=self.seen)
        self.specs: dict[str, dict[str, Any]] = {}
        for name in ("a", "b"):
            self.world.deploy(name, gpus=1)
            self.specs[name] = spec(name, policyRef={"name": "shared"})
            self.world.cluster.create_serving(name, self.specs[name])
        self.around.nodes.primed = True

    def edit(self, name: str, **fields: Any) -> None:
        self.specs[name] = {**self.specs[name], **fields}
        self.world.cluster.edit_serving(name, self.specs[name])

    def do(self, what: str, name: str, number: int) -> None:
        """Let one thing happen; `number` says how."""
        cluster, self.version = self.world.cluster, self.version + 1
        acts: dict[str, Callable[[], object]] = {
            "suspend": lambda: self.edit(name, suspend=bool(number % 2)),
            "dwell": lambda: self.edit(name, stabilization={"busierSeconds": 30 * number}),
            "accelerator": lambda: self.edit(name, accelerator=ACCELERATORS[number % 3]),
            "strategy": lambda: self.edit(
                name, cutoff={"strategy": ("Ridge", "Goodput")[number % 2]}
            ),
            "retarget": lambda: self.edit(name, targetRef={"name": "ab"[number % 2]}),
            "force": lambda: cluster.force(name, ("eagle2", "none", None)[number % 3]),
            "policy": lambda: self.policy(number),
            "no policy": lambda: self.around.drop_policy(("default", "shared"), f"p{number % 4}"),
            "gpu profile": lambda: self.gpu_profile(number),
            "node": lambda: self.node(number),
            "scale": lambda: cluster.scale(name, 1 + number),
            "crash": lambda: cluster.crash_one(name),
            "image": lambda: cluster.set_containers(
                name, (container(None, "vllm", f"--x={number}"),), manager="somebody"
            ),
            "users": lambda: self.world.users.__setitem__(name, (LOW, HIGH)[number % 2]),
            "freeze": lambda: self.world.process.reconciler.freeze(frozen=bool(number % 2)),
            "restart": self.restart,
            "recreate": lambda: self.recreate(name),
        }
        acts[what]()

    def policy(self, number: int) -> None:
        self.around.put_policy(
            SpecObject(
                namespace="default",
                name="shared",
                uid=f"p{number % 4}",
                resource_version=str(self.version),
                generation=self.version,
                spec={"cooldownSeconds": 60 * number, "maxSwitchesPerDay": 1 + number},
            )
        )

    def gpu_profile(self, number: int) -> None:
        """A person states the figures of a type of GPU."""
        self.around.accelerators.put(
            SpecObject(
                namespace="",
                name="h100-sxm",
                uid="gpu",
                resource_version=str(self.version),
                generation=self.version,
                spec={"memoryGiB": 10 + 20 * number, "ridgeTokens": 50 + 50 * number},
            )
        )

    def node(self, number: int) -> None:
        labels = {f"{GPU}.product": ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB")[number % 2]}
        node = Node(name="n", labels=labels, allocatable={GPU: number}, usable=number != 3)
        version = str(self.version)
        self.around.nodes.put(NodeObject(name="n", uid="n", resource_version=version, node=node))

    def restart(self) -> None:
        self.world.kill(self.world.process)
        self.world.start()

    def recreate(self, name: str) -> None:
        """A new serving of the same name, whose generation begins anew."""
        self.world.cluster.delete_serving(name)
        self.world.cluster.create_serving(name, self.specs[name])


WHATS = (
    "suspend",
    "dwell",
    "accelerator",
    "strategy",
    "retarget",
    "force",
    "policy",
    "no policy",
    "gpu profile",
    "node",
    "scale",
    "crash",
    "image",
    "users",
    "freeze",
    "restart",
    "recreate",
)
happenings = st.lists(
    st.tuples(
        st.sampled_from(WHATS), st.sampled_from("ab"), st.integers(0, 5), st.sampled_from([5, 60])
    ),
    min_size=1,
    max_size=6,
)


async def played(told: list[tuple[str, str, int, int]], *, remember: bool) -> Play:
    with patch.object(world_module, "Options", partial(Options, remember=remember)):
        play = Play()
        play.world.start()
        await play.world.run(75)
        for what, name, number, seconds in told:
            play.do(what, name, number)
            await play.world.run(seconds)
        await play.world.run(30)
    return play


def ends_alike(told: list[tuple[str, str, int, int]]) -> int:
    """Play twice and compare all that was known, decided and written; return the passes made."""
    kept = asyncio.run(played(told, remember=True))
    anew = asyncio.run(played(told, remember=False))
    assert len(kept.seen.passes) == len(anew.seen.passes)
    for mine, other in zip(kept.seen.passes, anew.seen.passes, strict=True):
        assert mine == other
    for name in ("a", "b"):
        assert kept.world.status(name) == anew.world.status(name)
    assert kept.world.cluster.writes == anew.world.cluster.writes
    return len(kept.seen.passes)


@settings(max_examples=6, deadline=None)
@given(happenings)
def test_what_is_kept_never_shows(told: list[tuple[str, str, int, int]]) -> None:
    assert ends_alike(told) > 0


@pytest.mark.parametrize("what", WHATS)
def test_every_edit_is_seen_at_once_as_from_scratch(what: str) -> None:
    told = [(what, "a", number, 20) for number in (1, 4)]
    assert ends_alike(told) > 0


def test_the_figures_of_a_gpu_are_seen_at_once_as_from_scratch() -> None:
    asked = [("accelerator", "a", 0, 5), ("strategy", "a", 0, 20)]
    assert ends_alike([*asked, *(("gpu profile", "a", number, 20) for number in (1, 4))]) > 0


async def test_a_serving_at_rest_is_worked_out_once() -> None:
    with patch.object(basis_module, "policy_settings", wraps=basis_module.policy_settings) as made:
        play = Play()
        play.world.start()
        await play.world.run(600)
        passes, before = len(play.seen.passes), made.call_count
        await play.world.run(600)
    assert len(play.seen.passes) >= passes + 80
    assert made.call_count == before


def test_what_is_asked_for_decides_and_not_the_serving_alone() -> None:
    kept, made = Kept(), list[int]()

    def work(value: int) -> Callable[[], int]:
        def done() -> int:
            made.append(value)
            return value

        return done

    key = ("ns", "a")
    assert kept.of(key, Part.SPEC, ("x",), work(1)) == 1
    assert kept.of(key, Part.SPEC, ("x",), work(2)) == 1
    assert kept.of(key, Part.SPEC, ("y",), work(3)) == 3
    assert kept.of(key, Part.SPEC, ("x",), work(4)) == 4
    assert kept.of(key, Part.BASIS, ("x",), work(5)) == 5
    assert kept.of(("ns", "b"), Part.SPEC, ("x",), work(6)) == 6
    kept.forget(key)
    assert kept.of(key, Part.SPEC, ("x",), work(7)) == 7
    assert made == [1, 3, 4, 5, 6, 7]


def test_what_failed_is_tried_again() -> None:
    kept = Kept()
    with pytest.raises(ValueError, match="broken"):
        kept.of(("ns", "a"), Part.SPEC, (), lambda: (_ for _ in ()).throw(ValueError("broken")))
    assert kept.of(("ns", "a"), Part.SPEC, (), lambda: 1) == 1
