"""What is kept of settings and of an engine's report is worked out anew by each of its inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from ridgeline.controller import basis as basis_module
from ridgeline.controller.basis import Knowledge, policy_settings
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.settings.engine_report import engine_report
from ridgeline.terms.modes import UnverifiedEngine
from ridgeline.terms.reasons import Reason
from tests.component.controller.test_controller_goodput import around, goodput, world_with
from tests.component.controller.world import EAGLE_CONFIG, LOW

KEY = ("default", "llama")
UNKNOWN = Problem(reason=Reason.ACCELERATOR_UNKNOWN, message="nobody knows")


class Last:
    """The view of the last pass."""

    view: View

    def saw(self, view: View, decided: Decision, told: Decision) -> None:
        del decided, told
        self.view = view


@pytest.fixture
async def view() -> View:
    last, world = Last(), world_with(EAGLE_CONFIG, LOW)
    world.cluster.create_serving("llama", goodput(engine={"version": "0.24.0"}))
    world.start(around=around(), sink=last)
    await world.run(60)
    return last.view


@dataclass(frozen=True, kw_only=True)
class Worked:
    """How often each answer was worked out."""

    settings: MagicMock
    engine: MagicMock


@pytest.fixture
def worked() -> Iterator[Worked]:
    with (
        patch.object(basis_module, "policy_settings", wraps=policy_settings) as settings,
        patch.object(basis_module, "engine_report", wraps=engine_report) as engine,
    ):
        yield Worked(settings=settings, engine=engine)


def settings_inputs(view: View) -> dict[str, Any]:
    return {
        "basis": view.basis,
        "profiles": view.profiles,
        "learned": None,
        "frozen": False,
        "forced": None,
        "left_out": frozenset[str](),
        "engine": view.settings.engine,
    }


@pytest.mark.parametrize(
    "which", ["basis", "profiles", "learned", "frozen", "forced", "left_out", "engine"]
)
async def test_settings_follow_each_of_their_inputs(view: View, worked: Worked, which: str) -> None:
    assert view.settings.engine is not None
    others = {
        "basis": replace(view.basis, accelerator=UNKNOWN),
        "profiles": view.profiles[1:],
        "learned": Learned(basis="another", context_tokens=900.0),
        "frozen": True,
        "forced": "none",
        "left_out": frozenset({"eagle2"}),
        "engine": replace(view.settings.engine, refused={"eagle2": "too new"}),
    }
    knowledge, asked = Knowledge(), settings_inputs(view)
    for _ in range(2):
        knowledge.settings(KEY, **asked)
    assert worked.settings.call_count == 1

    other = {**asked, which: others[which]}
    found = knowledge.settings(KEY, **other)
    assert worked.settings.call_count == 2
    assert found == Knowledge().settings(KEY, **other)


def engine_inputs(view: View) -> dict[str, Any]:
    return {
        "spec": view.spec,
        "basis": view.basis,
        "target": view.target,
        "profiles": view.profiles,
    }


@pytest.mark.parametrize(
    "which", ["container", "profiles", "version", "model", "accelerator", "unverified"]
)
async def test_the_report_of_an_engine_follows_each_of_its_inputs(
    view: View, worked: Worked, which: str
) -> None:
    target = view.target
    assert isinstance(target, ResolvedTarget)
    assert view.spec.engine is not None
    allowing = view.spec.engine.model_copy(update={"unverified": UnverifiedEngine.ALLOW})
    container = replace(target.container, args=(*target.container.args, "--enforce-eager"))
    others: dict[str, dict[str, Any]] = {
        "container": {"target": replace(target, container=container)},
        "profiles": {"profiles": view.profiles[1:]},
        "version": {"basis": replace(view.basis, engine_version="0.10.0")},
        "model": {"basis": replace(view.basis, model=UNKNOWN)},
        "accelerator": {"basis": replace(view.basis, accelerator=UNKNOWN)},
        "unverified": {"spec": view.spec.model_copy(update={"engine": allowing})},
    }
    knowledge, asked = Knowledge(), engine_inputs(view)
    for _ in range(2):
        knowledge.engine(KEY, **asked)
    assert worked.engine.call_count == 1

    other = {**asked, **others[which]}
    found = knowledge.engine(KEY, **other)
    assert worked.engine.call_count == 2
    assert found == Knowledge().engine(KEY, **other)
