"""Two operators on a bad hour: stopped, killed and ended at random, while load and servings change.

An observer in a process of its own reads the audit log all the time.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.leaders.audit import Tail
from tests.leaders.observe import dump_rules
from tests.leaders.operators import Replica
from tests.leaders.stage import LEASE_S, Stage, bare, staged
from tests.scene.manifests import EAGLE, NONE, Scene

SERVINGS = 6
MAX_ROLLS = 2
LOW, HIGH = 4.0, 80.0
"""Requests in decode of a target of two Pods; the cut-off lies at 20 for each."""

CALM_S = 180.0
"""In this time everything has come to its end, once nobody is disturbed any more."""

_GRACE_S = 60.0
"""As long a Pod is given to end in."""

_SWITCHES = 6
"""A serving is made anew after so many changes: it may switch ten times a day."""

_CANARY = {
    "canary": {"when": "Always", "deadlineSeconds": 60, "onNoTraffic": "Promote"},
    "trial": "Never",
}
_OPEN = frozenset({"Intended", "Canary", "Rolling", "Undoing"})


@dataclass(kw_only=True)
class Outcome:
    """What came of it.

    Attributes:
        strikes: What was done to the operators, by kind.
        changes: What was changed around them, by kind.
        seen: The observer's report.
        stuck: Servings that did not come to an end afterwards.
        ended: Operators that ended by themselves, or did not end when they were told to.
    """

    strikes: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    seen: dict[str, Any] = field(default_factory=dict)
    stuck: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)


class Play:
    """Does things to the operators of a stage and to what they look after."""

    def __init__(self, stage: Stage, seed: int, *, canary: bool = True) -> None:
        self.outcome = Outcome()
        self._stage = stage
        self._random = random.Random(seed)
        self._changes: Counter[str] = Counter()
        self._scenes = {
            name: bare(stage.namespace, name)
            for name in (f"s{number}" for number in range(SERVINGS))
        }
        if canary:
            self._scenes["s0"] = bare(stage.namespace, "s0", rollout=_CANARY)
        self._blind_until: float | None = None
        self._tail = Tail(stage.log)

    def put(self) -> None:
        """Put everything up."""
        for scene in self._scenes.values():
            self._stage.put(scene, users=LOW)

    def run(self, seconds: float) -> None:
        """Go on for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look_after()
            # A machine that is busy with much else may answer too late; the next turn comes.
            with contextlib.suppress(OSError, ClusterError):
                self._change()
            self._strike()
            self._rest(self._random.uniform(0.0, 4.0))

    def calm(self) -> None:
        """Disturb nobody any more, and see whether everything comes to an end."""
        if self._blind_until is not None:
            self._see_again()
        end = time.monotonic() + CALM_S
        while time.monotonic() < end:
            self._look_after()
            with contextlib.suppress(OSError, ClusterError):
                self.outcome.stuck = self._under_way()
                if not self.outcome.stuck:
                    return
            time.sleep(1.0)

    def end(self) -> None:
        """End both operators as Kubernetes would."""
        for each in self._stage.operators.values():
            try:
                each.stop(timeout_s=_GRACE_S)
            except TimeoutError as error:
                self.outcome.ended.append(str(error))

    def _under_way(self) -> list[str]:
        states = {name: str(self._stage.roll(name).get("state")) for name in self._scenes}
        return [f"{name}: {state}" for name, state in states.items() if state in _OPEN]

    def _look_after(self) -> None:
        for each in self._stage.operators.values():
            if each.ended:
                self.outcome.ended.append(f"{each.identity}: {each.log_tail(3)}")
            if not each.running:
                each.start()
        if self._blind_until is not None and time.monotonic() > self._blind_until:
            self._see_again()

    # What happens around the operators.

    def _change(self) -> None:
        for name in self._random.sample(sorted(self._scenes), self._random.randint(1, 3)):
            self._changes[name] += 1
            if self._changes[name] > _SWITCHES:
                self._changes[name] = 0
                self._make_anew(name)
            else:
                self._random.choice((self._turn_load, self._turn_table, self._edit_profile))(name)
        if self._blind_until is None and self._random.random() < 0.04:
            self.outcome.changes["telemetry off"] += 1
            self._blind_until = time.monotonic() + self._random.uniform(15.0, 40.0)
            self._stage.blind(off=True)

    def _see_again(self) -> None:
        self._blind_until = None
        self._stage.blind(off=False)

    def _turn_load(self, name: str) -> None:
        self.outcome.changes["load"] += 1
        users = self._stage.telemetry.users
        users[name] = LOW if users[name] == HIGH else HIGH

    def _turn_table(self, name: str) -> None:
        self.outcome.changes["cut-off table"] += 1
        quiet = self._random.choice(("eagle", "none"))
        self._stage.edit(name, {"cutoff": {"ranges": _ranges(self._scenes[name], quiet)}})

    def _edit_profile(self, name: str) -> None:
        self.outcome.changes["profile"] += 1
        eagle = {**EAGLE, "numSpeculativeTokens": self._random.randint(2, 6)}
        self._stage.edit(name, {"profiles": [eagle, NONE]})

    def _make_anew(self, name: str) -> None:
        self.outcome.changes["serving made anew"] += 1
        self._stage.drop(name)
        self._rest(self._random.uniform(0.0, 2.0))
        self._stage.apply(self._scenes[name].serving())

    # What is done to the operators.

    def _strike(self) -> None:
        self._aim()
        kind, act = self._random.choice(
            [("SIGSTOP", self._stop)] * 4
            + [("SIGSTOP of both", self._stop_both)]
            + [("SIGKILL", self._kill)] * 2
            + [("SIGTERM", self._end)]
        )
        self.outcome.strikes[kind] += 1
        act(self._victim())

    def _aim(self) -> None:
        """Wait for a while; half of the times no longer than until an operator has written."""
        aimed, end = self._random.random() < 0.5, time.monotonic() + self._random.uniform(0.5, 8.0)
        self._tail.read()
        while time.monotonic() < end:
            if aimed and any(self._is_step(each.user, each.resource) for each in self._tail.read()):
                return
            time.sleep(0.02)

    def _is_step(self, user: str, resource: str) -> bool:
        steps = ("deployments.apps", "speculativeservings.ridgeline.dev/status")
        return user in self._stage.rules.users and resource in steps

    def _victim(self) -> Replica:
        """The leader mostly."""
        holder = ""
        with contextlib.suppress(OSError, ClusterError):
            holder = self._stage.holder()
        first, second = self._stage.operators.values()
        leader, standby = (second, first) if holder.startswith(second.name) else (first, second)
        return leader if self._random.random() < 0.75 else standby

    def _stop(self, victim: Replica) -> None:
        victim.stand_still()
        self._rest(self._random.uniform(0.1, 2.5 * LEASE_S))
        victim.go_on()

    def _stop_both(self, _: Replica) -> None:
        both = self._random.sample(list(self._stage.operators.values()), 2)
        for each in both:
            each.stand_still()
            self._rest(self._random.uniform(0.0, 2.0))
        self._rest(self._random.uniform(0.1, 1.5 * LEASE_S))
        for each in both:
            each.go_on()
            self._rest(self._random.uniform(0.0, 2.0))

    def _kill(self, victim: Replica) -> None:
        victim.kill()
        self._rest(self._random.uniform(0.0, 3.0))
        victim.start()

    def _end(self, victim: Replica) -> None:
        try:
            victim.stop(timeout_s=_GRACE_S)
        except TimeoutError as error:
            self.outcome.ended.append(str(error))
        victim.start()

    def _rest(self, seconds: float) -> None:
        time.sleep(seconds)


def play(cluster: Cluster, *, seconds: float, seed: int, canary: bool = True) -> Outcome:
    """Let two operators have a bad time, and return what came of it.

    Args:
        cluster: Where.
        seconds: How long.
        seed: Of what happens. The operators go their own pace: no two runs are the same.
        canary: Whether one of the servings is rolled behind a canary, which takes minutes.

    Raises:
        RuntimeError: The observer ended before it was told to.
    """
    with staged(cluster, max_rolls=MAX_ROLLS) as stage, _observed(stage) as report:
        course = Play(stage, seed, canary=canary)
        stage.both_ready()
        course.put()
        course.run(seconds)
        course.calm()
        course.end()
        course.outcome.seen = report()
        return course.outcome


@contextlib.contextmanager
def _observed(stage: Stage) -> Iterator[Any]:
    """An observer in a process of its own; what is yielded ends it and returns its report."""
    told = stage.journal.path.with_name("observer.jsonl")
    command = [sys.executable, "-m", "tests.leaders.observe", str(stage.log)]
    command += [dump_rules(stage.rules), str(stage.journal.path)]
    with told.open("wb") as out:
        process = subprocess.Popen(command, cwd=REPO, stdout=out)

    def report() -> dict[str, Any]:
        if process.poll() is not None:
            raise RuntimeError(f"the observer ended:\n{told.read_text()}")
        time.sleep(2.0)  # what was answered last is in the log by now
        process.terminate()
        process.wait(timeout=60)
        found: dict[str, Any] = json.loads(told.read_text().splitlines()[-1])["report"]
        return found

    try:
        _wait_for_a_line(told, process)
        yield report
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_for_a_line(told: Path, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and not told.read_text():
        time.sleep(0.1)


def _ranges(scene: Scene, quiet: str) -> list[dict[str, Any]]:
    return bare(scene.namespace, scene.name, quiet_profile=quiet).ranges()
