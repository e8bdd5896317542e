"""Every fault at every step of a roll: what becomes of the target (for a test and a page)."""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError, RefusedError, UnavailableError
from ridgeline.cluster.store import Kind
from ridgeline.sim.fate import Fate, crashes
from ridgeline.sim.pace import Pace
from ridgeline.sim.session import Call, CallKind, Faults, Moment
from ridgeline.sim.session import Fault as Fault_
from ridgeline.sim.template import Template
from tests.component.controller.world import LOW, World, container, spec

REPLICAS: Final = 4
OUTAGE_SECONDS: Final = 300.0
SETTLE_SECONDS: Final = 3600.0

_USUAL: Final = {"canary": {"when": "Always", "deadlineSeconds": 900}, "trial": "Never"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a roll ended.

    Attributes:
        profiles: Profiles of the Pods that stay, one entry for each different one.
        replicas: How many they are, and how many of them serve.
        paused: Whether the target is still paused.
        state: State of the roll in status.
        reason: Why, in status; empty where the roll simply went on.
        least_serving: Least replicas that served at any time.
    """

    profiles: tuple[str, ...]
    replicas: tuple[int, int]
    paused: bool
    state: str
    reason: str
    least_serving: int

    @property
    def whole(self) -> bool:
        """Whether the target is on one profile, complete, and not paused."""
        complete = self.replicas == (REPLICAS, REPLICAS)
        return len(self.profiles) == 1 and complete and not self.paused

    def told(self) -> str:
        """Return it for a table."""
        where = " and ".join(each or "as before" for each in self.profiles)
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.state}{why}: all on {where}"


def _state(world: World) -> str:
    return world.roll()


def _held_back(world: World) -> bool:
    return world.cluster.deployment("llama").paused_by_us


def _updated(world: World) -> int:
    return world.cluster.deployment("llama").updated_replicas


STEPS: Final[dict[str, Callable[[World], bool]]] = {
    "announced": lambda world: _state(world) == "Intended",
    "first new Pod": lambda world: _state(world) == "Canary" and not _held_back(world),
    "held back": _held_back,
    "half rolled": lambda world: _state(world) == "Rolling" and _updated(world) >= REPLICAS // 2,
    "being undone": lambda world: _state(world) == "Undoing",
    "ended": lambda world: _state(world) in ("Finished", "Restored"),
}
"""Steps of a roll, and how one sees that it stands there."""

Fault = Callable[[World], Awaitable[None]]


async def _killed(world: World) -> None:
    world.kill(world.process)
    world.start()


async def _killed_for_long(world: World) -> None:
    world.kill(world.process)
    await world.run(OUTAGE_SECONDS)
    world.start()


async def _api_down(world: World) -> None:
    world.cluster.api_down = True
    await world.run(OUTAGE_SECONDS)
    world.cluster.api_down = False


async def _watch_silent(world: World) -> None:
    world.process.stream.stalled = set(Kind)
    await world.run(OUTAGE_SECONDS)
    world.process.stream.stalled = set()


async def _prometheus_down(world: World) -> None:
    world.telemetry.faults.error = "connection refused"
    await world.run(OUTAGE_SECONDS)
    world.telemetry.faults.error = None


async def _not_leader(world: World) -> None:
    world.process.leader.held = False
    standby = world.start(who="standby")
    await world.run(OUTAGE_SECONDS)
    world.processes.remove(standby)
    standby.stop()
    world.process.leader.held = True


async def _canary_dies(world: World) -> None:
    world.cluster.crash_one("llama")


async def _scaled(world: World) -> None:
    world.cluster.scale("llama", REPLICAS + 2)
    await world.run(120)
    world.cluster.scale("llama", REPLICAS)


async def _git_applied(world: World) -> None:
    first = world.cluster.deployment("llama").containers[0]
    words = (*first.args, "--max-num-seqs=128")
    changed = type(first)(
        name=first.name, args=words, env=first.env, has_env_from=True, image=first.image
    )
    world.cluster.set_containers("llama", (changed,), manager="helm")


async def _suspended(world: World) -> None:
    world.cluster.edit_serving("llama", spec(rollout=_USUAL, suspend=True))


async def _restarted(world: World) -> None:
    # kubectl refuses to restart what is paused; the person sees why and waits, or orders.
    with contextlib.suppress(RefusedError):
        world.cluster.rollout_restart("llama")


async def _serving_deleted(world: World) -> None:
    world.cluster.delete_serving("llama")


FAULTS: Final[dict[str, Fault]] = {
    "operator killed": _killed,
    "operator gone 5 min": _killed_for_long,
    "Lease lost, standby takes over": _not_leader,
    "API server down 5 min": _api_down,
    "watch silent 5 min": _watch_silent,
    "Prometheus down 5 min": _prometheus_down,
    "a server crashes": _canary_dies,
    "scaled up and down": _scaled,
    "Git changes an argument": _git_applied,
    "kubectl rollout restart": _restarted,
    "serving suspended": _suspended,
    "serving deleted": _serving_deleted,
}
"""Faults, and what each does."""


async def outcome(step: str, fault: str) -> Outcome:
    """Roll to EAGLE behind a canary, let a fault strike at a step, and see how it ends.

    Raises:
        AssertionError: The roll never came to that step.
    """
    world = World()
    failing = step == "being undone"
    pace: dict[str, Any] = {"fate": _crashing} if failing else {}
    world.deploy(users=LOW, containers=[container(None)], pace=Pace(**pace), replicas=REPLICAS)
    world.cluster.create_serving("llama", spec(rollout=_USUAL))
    world.start(faults=_refused_once() if step == "announced" else None)
    reached = await world.run(2400, until=lambda: STEPS[step](world), step=0.5)
    assert reached, f"no roll came to the step {step!r}: {world.status()}"
    await FAULTS[fault](world)
    least = REPLICAS
    end = world.cluster.now + SETTLE_SECONDS
    while world.cluster.now < end:
        await world.run(10.0)
        serving = sum(1 for pod in world.cluster.pods_of("llama") if pod.serves)
        least = min(least, serving)
    return _seen(world, least)


def _refused_once() -> Faults:
    """Let the first write of a profile fail, so that the roll stays announced for a moment."""
    failed: list[Call] = []

    def fault(call: Call) -> Fault_ | None:
        if call.kind is not CallKind.PROFILE or failed:
            return None
        failed.append(call)
        return Fault_(Moment.BEFORE, UnavailableError("no answer"))

    return fault


def _crashing(template: Template) -> Fate | None:
    return crashes("ValueError: the head does not fit") if template.profile else None


def _seen(world: World, least: int) -> Outcome:
    deployment = world.cluster.deployment("llama")
    pods = [pod for pod in world.cluster.pods_of("llama") if not pod.deleting]
    try:
        rollout = world.status().get("rollout") or {}
    except NotFoundError:
        rollout = {}
    return Outcome(
        profiles=tuple(sorted({pod.template.profile or "" for pod in pods})),
        replicas=(len(pods), sum(1 for pod in pods if pod.serves)),
        paused=deployment.paused,
        state=str(rollout.get("state", "no serving")),
        reason=str(rollout.get("reason", "")),
        least_serving=least,
    )
