"""The whole controller played at random: everything that can happen to it, and what never may.

The real passes, the real API layer below them and the real store run over a simulated API server
and in virtual time; a counter-example is a short list of rules. `make test-soak-day` plays the same
for a whole day.
"""

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ridgeline.cluster.store import Kind
from tests.component.controller.world import REPLICAS
from tests.soak.edits import BROKEN, SOUND
from tests.soak.loop import JumpingLoop, errors_told_to
from tests.soak.rest import come_to_rest
from tests.soak.servings import whole, with_canary
from tests.soak.stage import Stage
from tests.soak.trouble import Harm

pytestmark = pytest.mark.timeout(1200)

EXAMPLES = int(os.environ.get("RIDGELINE_MACHINE_EXAMPLES", "8"))
STEPS = int(os.environ.get("RIDGELINE_MACHINE_STEPS", "25"))

NAMES = st.sampled_from(["aya", "qwen"])
KINDS = st.sampled_from(["", "read", "rehearsal", "profile", "status", "event"])
LEVELS = st.sampled_from([0.0, 5.0, 17.0, 40.0])
"""Requests per replica: nothing, on EAGLE's side of the cut-off, inside its band, beyond it."""

CALM_SECONDS = 2400.0


class ControllerMachine(RuleBasedStateMachine):
    """Two servings, one of them with a canary, one roll at a time, two operators."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=JumpingLoop)
        self.stack = contextlib.ExitStack()
        self.stage: Stage | None = None

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(what)

    @property
    def there(self) -> Stage:
        assert self.stage is not None
        return self.stage

    @initialize(level=LEVELS)
    def begin(self, level: float) -> None:
        async def first() -> Stage:
            stage = Stage((whole("aya"), with_canary("qwen")))
            stage.users.update(dict.fromkeys(stage.plans, level * REPLICAS))
            stage.start("a")
            stage.start("b")
            await stage.pass_time(120.0)
            return stage

        self.stage = self.run(first())
        self.stack.enter_context(errors_told_to(self.there.judge.report))

    # Time and load

    @rule(seconds=st.sampled_from([5.0, 15.0, 60.0, 300.0]))
    def time_passes(self, seconds: float) -> None:
        self.run(self.there.pass_time(seconds))

    @rule(name=NAMES, level=LEVELS, seconds=st.sampled_from([5.0, 90.0, 200.0]))
    def load_changes(self, name: str, level: float, seconds: float) -> None:
        self.there.users[name] = level * REPLICAS
        self.run(self.there.pass_time(seconds))

    # People and other controllers

    @rule(name=NAMES, change=st.sampled_from(SOUND + BROKEN))
    def serving_is_edited(self, name: str, change: dict[str, Any]) -> None:
        self.there.edit(name, **change)

    @rule(name=NAMES)
    def serving_is_mended(self, name: str) -> None:
        self.there.mean_again(name)

    @rule(name=NAMES, profile=st.sampled_from([None, "none", "eagle2", "unknown"]))
    def profile_is_ordered(self, name: str, profile: str | None) -> None:
        self.there.force(name, profile)

    @rule(name=NAMES, back=st.booleans())
    def serving_goes_or_comes(self, name: str, back: bool) -> None:
        (self.there.create_serving if back else self.there.delete_serving)(name)

    @rule(name=NAMES, how=st.sampled_from(["delete", "create", "recreate"]))
    def target_goes_or_comes(self, name: str, how: str) -> None:
        getattr(self.there, f"{how}_target")(name)

    @rule(name=NAMES, replicas=st.sampled_from([0, 1, REPLICAS, REPLICAS + 2]))
    def autoscaler_scales(self, name: str, replicas: int) -> None:
        self.there.scale(name, replicas)

    @rule(name=NAMES, how=st.sampled_from(["undo", "restart", "take_item_out", "heal_by_git"]))
    def somebody_edits_the_target(self, name: str, how: str) -> None:
        getattr(self.there, how)(name)

    @rule(name=NAMES, words=st.sampled_from([64, 128]))
    def chart_is_upgraded(self, name: str, words: int) -> None:
        self.there.edit_template(name, words)

    @rule(name=NAMES, paused=st.booleans())
    def somebody_pauses_or_resumes(self, name: str, paused: bool) -> None:
        self.there.pause(name, paused)

    # Servers

    @rule(name=NAMES)
    def server_crashes(self, name: str) -> None:
        self.there.crash(name)

    @rule(bad=st.booleans())
    def eagle_starts_or_not(self, bad: bool) -> None:
        (self.there.broken.add if bad else self.there.broken.discard)("eagle")

    # What the operator stands on

    @rule(
        how=st.sampled_from(["error", "crash", "empty", "silent", "not finite", "hidden"]),
        name=NAMES,
        seconds=st.sampled_from([15.0, 120.0]),
    )
    def telemetry_lies(self, how: str, name: str, seconds: float) -> None:
        self.there.lie(how, name)
        self.run(self.there.pass_time(seconds))

    @rule()
    def telemetry_is_well(self) -> None:
        self.there.tell_truth()

    @rule(
        harm=st.sampled_from(list(Harm)),
        kind=KINDS,
        skip=st.integers(0, 4),
        after=st.booleans(),
        name=NAMES,
        who=st.sampled_from(["a", "b", ""]),
    )
    def call_goes_wrong(
        self, harm: Harm, kind: str, skip: int, after: bool, name: str, who: str
    ) -> None:
        self.there.strike(harm, kind=kind, skip=skip, after=after, name=name, who=who)

    @rule(down=st.booleans())
    def api_server_goes_or_comes(self, down: bool) -> None:
        self.there.cluster.api_down = down

    @rule(
        fault=st.sampled_from(["stall", "lose", "repeat", "swap"]),
        kind=st.sampled_from(list(Kind)),
        count=st.integers(1, 3),
    )
    def streams_go_wrong(self, fault: str, kind: Kind, count: int) -> None:
        self.there.stream(fault, kind, count)

    @rule()
    def streams_are_well(self) -> None:
        self.there.heal_streams()

    @rule(who=st.sampled_from(["a", "b"]), back=st.booleans())
    def operator_dies(self, who: str, back: bool) -> None:
        self.run(self.there.kill(who))
        if back:
            self.there.start(who)

    @rule()
    def lease_is_lost(self) -> None:
        self.there.hand_over()

    @rule(seconds=st.sampled_from([-4000.0, -40.0, 40.0, 400.0, 4000.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.there.jump(seconds)

    # What never may be

    @precondition(lambda self: self.stage is not None)
    @invariant()
    def nothing_was_broken(self) -> None:
        assert not self.there.judge.found

    def teardown(self) -> None:
        """Left in peace for long enough, everything is where it says why it is."""
        try:
            if self.stage is not None and not self.stage.judge.found:
                wrong = self.run(come_to_rest(self.stage, CALM_SECONDS))
                assert not wrong
                assert not self.stage.judge.found
        finally:
            if self.stage is not None:
                for who in list(self.stage.operators):
                    self.run(self.stage.kill(who))
            self.stack.close()
            self.runner.close()


TestControllerMachine = ControllerMachine.TestCase
TestControllerMachine.settings = hypothesis_settings(
    max_examples=EXAMPLES, stateful_step_count=STEPS
)
