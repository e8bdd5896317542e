"""The real controller over a simulated cluster: time passes, things happen, the process may die."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.cadence import Cadence
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.passes import LastPasses, all_sinks
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.reconciler import Reconciler
from ridgeline.controller.recorder import PassSink
from ridgeline.engine.container import Container, EnvItem
from ridgeline.engine.speculative_config import Profile, render
from ridgeline.policy.placement import PodNeeds
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import SimulatedTelemetry
from ridgeline.sim.session import CallKind, Faults, ProcessLostError, SimulatedSession
from ridgeline.sim.watch import WatchStream
from ridgeline.sim.workload import Pace
from ridgeline.terms.methods import Method
from ridgeline.terms.names import PROFILE_ENV
from ridgeline.terms.parents import ParentKind

START = 1_795_860_000.0
TICK = 15.0
STEP = 5.0
WINDOW = 60.0
REPLICAS = 4
LOW, HIGH = 5.0 * REPLICAS, 40.0 * REPLICAS

EAGLE = Profile(
    name="eagle2",
    method=Method.EAGLE,
    model="yuhuili/EAGLE-LLaMA3.1-Instruct-8B",
    num_speculative_tokens=4,
)
EAGLE_CONFIG = render(EAGLE)

EAGLE_PROFILE = {
    "name": "eagle2",
    "method": "Eagle",
    "model": EAGLE.model,
    "numSpeculativeTokens": 4,
}
NONE_PROFILE = {"name": "none", "method": "Disabled"}


def spec(target: str = "llama", **fields: Any) -> dict[str, Any]:
    """A serving's spec that switches soon; `fields` replace or add what they name."""
    return {
        "targetRef": {"name": target},
        "mode": "Automatic",
        "profiles": [EAGLE_PROFILE, NONE_PROFILE],
        "cutoff": {
            "strategy": "Fixed",
            "ranges": [
                {"profile": "eagle2", "upToConcurrency": 20, "returnBelowConcurrency": 16},
                {"profile": "none"},
            ],
        },
        "stabilization": {"busierSeconds": 30, "quieterSeconds": 60},
        "cooldownSeconds": 120,
        "rollout": {"canary": {"when": "Never"}, "trial": "Never"},
        **fields,
    }


IMAGE = "vllm/vllm-openai:v0.32.0"


def container(config: str | None = EAGLE_CONFIG, name: str = "vllm", *words: str) -> Container:
    """A container that reads the env item, and carries a config in it unless that is `None`."""
    return Container(
        name=name,
        args=("--model=m", f"--speculative-config=$({PROFILE_ENV})", *words),
        env=() if config is None else (EnvItem(name=PROFILE_ENV, value=config),),
        has_env_from=True,
        image=IMAGE,
    )


@dataclass(slots=True)
class Leadership:
    """The election's result, as the test says it."""

    held: bool = True


class Process:
    """One operator process: everything that is lost with it."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        sources: dict[str, TelemetrySource],
        *,
        who: str = "operator",
        held: bool = True,
        frozen: bool = False,
        max_rolls: int = 3,
        max_rolls_per_pool: int = 1,
        faults: Faults | None = None,
        around: Surroundings | None = None,
        sink: PassSink | None = None,
        parents: frozenset[ParentKind] = frozenset(),
        allow_args: bool = False,
    ) -> None:
        self.cluster = cluster
        self.store = WatchStore()
        self.leader = Leadership(held)
        self.metrics = OperatorMetrics()
        self.session: SimulatedSession
        self.stream: WatchStream
        self.session, self.stream = cluster.connect(who, self.store, faults)
        self.passes = LastPasses(
            self.store, self.leader, lambda: cluster.now, instance=who, tick_seconds=TICK
        )
        self.reconciler = Reconciler(
            store=self.store,
            targets=self.session,
            reports=self.session,
            leader=self.leader,
            options=Options(
                stale_after_seconds=60.0,
                max_concurrent_rolls=max_rolls,
                max_concurrent_rolls_per_pool=max_rolls_per_pool,
                frozen=frozen,
                parents=parents,
                allow_args=allow_args,
            ),
            metrics=self.metrics,
            around=around,
            sink=all_sinks((sink, self.passes)),
        )
        self.cadence = Cadence(
            store=self.store,
            sources=sources,
            reconciler=self.reconciler,
            metrics=self.metrics,
            clock=lambda: cluster.now,
            tick_seconds=TICK,
            window_seconds=WINDOW,
            around=around,
        )
        self.next_tick = cluster.now
        cluster.list_into(self.store)

    async def work(self) -> None:
        """Do what is due now: a tick, and the event passes."""
        if self.cluster.now >= self.next_tick:
            self.next_tick += TICK
            await self.cadence.tick()
        await self.cadence.work_off()

    def stop(self) -> None:
        """End its streams; nothing of it acts any more."""
        self.cluster.disconnect(self.stream)


class World:
    """A cluster, its telemetry and the operator processes on it."""

    def __init__(self, **options: Any) -> None:
        self.cluster = SimulatedCluster(now=START)
        self.users: dict[str, float] = {}
        self.telemetry = SimulatedTelemetry(self.cluster, {}, window_seconds=WINDOW)
        self.sources: dict[str, TelemetrySource] = {"default": self.telemetry}
        self.options = options
        self.processes: list[Process] = []
        self.lost = 0
        self.successor_faults: Faults | None = None

    def deploy(
        self,
        name: str = "llama",
        *,
        containers: Iterable[Container] = (),
        users: float = LOW,
        pace: Pace | None = None,
        replicas: int = REPLICAS,
        gpus: int = 0,
        alone_on_node: bool = False,
    ) -> None:
        """Bring a Deployment up, long ago, with users on it."""
        requests = {"nvidia.com/gpu": gpus} if gpus else {}
        self.cluster.create_deployment(
            name,
            containers=tuple(containers) or (container(),),
            replicas=replicas,
            pace=pace,
            shape=TargetShape(needs=PodNeeds(requests=requests, alone_on_node=alone_on_node)),
        )
        self.users[name] = users
        self.telemetry.traffic[name] = ClosedLoop(lambda _: self.users[name])

    def start(self, **options: Any) -> Process:
        """Start an operator process."""
        process = Process(self.cluster, self.sources, **{**self.options, **options})
        self.processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        """Lose a process without a last word."""
        process.stop()
        self.processes.remove(process)

    async def run(
        self, seconds: float, until: Callable[[], bool] = lambda: False, step: float = STEP
    ) -> bool:
        """Let time pass, at most so long; return whether `until` became true.

        A process that is lost on the way is followed by a new one.
        """
        end = self.cluster.now + seconds
        while self.cluster.now < end:
            self.cluster.advance(min(end, self.cluster.now + step))
            for process in list(self.processes):
                try:
                    await process.work()
                except ProcessLostError:
                    self.lost += 1
                    self.kill(process)
                    self.start(faults=self.successor_faults)
            if until():
                return True
        return False

    # What stands in the cluster

    @property
    def process(self) -> Process:
        """The only process."""
        (process,) = self.processes
        return process

    def status(self, name: str = "llama") -> dict[str, Any]:
        """A serving's status."""
        return dict(self.cluster.serving(name).status)

    def condition(self, kind: str, name: str = "llama") -> tuple[str, str]:
        """Status and reason of a condition; two empty texts without it."""
        for each in self.status(name).get("conditions", ()):
            if each["type"] == kind:
                return each["status"], each["reason"]
        return "", ""

    def message(self, kind: str, name: str = "llama") -> str:
        """Message of a condition; empty without it."""
        conditions = self.status(name).get("conditions", ())
        return next((str(each["message"]) for each in conditions if each["type"] == kind), "")

    def roll(self, name: str = "llama") -> str:
        """State of the latest roll; empty without one."""
        return str((self.status(name).get("rollout") or {}).get("state", ""))

    def config(self, name: str = "llama") -> str:
        """The speculative config in the target's template."""
        items = self.cluster.deployment(name).containers[0].env
        return next((str(item.value) for item in items if item.name == PROFILE_ENV), "")

    def history(self, name: str = "llama") -> list[tuple[str | None, str, bool]]:
        """From, to and whether it ended, of each switch in the history."""
        return [
            (each.get("from"), each["to"], "finishTime" in each)
            for each in self.status(name).get("switchHistory", ())
        ]

    def profiles_written(self, name: str = "llama") -> list[str]:
        """Profiles that were really written to a Deployment, in order."""
        return [each.what for each in self.cluster.changes(CallKind.PROFILE) if each.name == name]

    def tries(self, name: str = "llama") -> list[str]:
        """Every attempt to write a Deployment, rehearsals too, by its kind."""
        kinds = (CallKind.PROFILE, CallKind.REHEARSAL)
        return [
            each.kind.value
            for each in self.cluster.writes
            if each.name == name and each.kind in kinds
        ]

    def events(self, name: str = "llama") -> list[str]:
        """Reasons of the Events about a serving, in order."""
        return [each.note.reason.value for each in self.cluster.events if each.serving == name]

    def finished(self, profile: str, name: str = "llama") -> Callable[[], bool]:
        """Tell whether the last roll of a serving went to a profile and ended."""

        def done() -> bool:
            rollout = self.status(name).get("rollout") or {}
            return rollout.get("state") == "Finished" and rollout.get("to") == profile

        return done


async def settled(users: float = LOW, **options: Any) -> World:
    """A world with one serving and its target, an operator, and telemetry that fills a window."""
    world = World(**options)
    world.deploy(users=users)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(3 * WINDOW)
    return world
