"""A simulated cluster with operator processes, people, a chart, an autoscaler: what can happen.

Every method is one thing that happens; `pass_time` lets the operators work. Nothing here is drawn
at random: who plays says what happens.
"""

import contextlib
import copy
from collections.abc import Callable
from typing import Any, Final

from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.store import Kind
from ridgeline.engine.container import Container
from ridgeline.sim.fate import Fate, crashes
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.sim.fleet_load import ClosedLoop
from ridgeline.sim.fleet_telemetry import EndpointFaults, SimulatedTelemetry
from ridgeline.sim.pace import Pace
from ridgeline.sim.session import ProcessLostError
from ridgeline.sim.template import Template
from ridgeline.terms.names import PROFILE_ENV
from tests.component.controller.world import EAGLE_CONFIG, REPLICAS, container
from tests.soak.api_server import ApiServer, Request
from tests.soak.judge import Judge
from tests.soak.lease import Lease
from tests.soak.process import LISTING_SECONDS, WINDOW, Operator
from tests.soak.servings import Plan
from tests.soak.trouble import Harm, Strike

START: Final = 1_795_860_000.0
NAMESPACE: Final = "default"
MOST_SETS: Final = 11
"""ReplicaSets that a Deployment keeps: the newest, and ten old ones (`revisionHistoryLimit`)."""


class Stage:
    """The cluster, and everybody who acts on it.

    Attributes:
        plans: What each serving and its target are meant to be, by name.
        users: Users on each target.
        broken: Profiles whose servers crash.
        judge: Looks at everything, and knows nothing of the operator's own reasons.
    """

    def __init__(self, plans: tuple[Plan, ...], *, max_rolls: int = 1) -> None:
        self.cluster = SimulatedCluster(now=START)
        self.server = ApiServer(self.cluster)
        self.plans = {each.name: each for each in plans}
        self.users = {each.name: each.users for each in plans}
        self.broken: set[str] = set()
        self.telemetry = SimulatedTelemetry(self.cluster, {}, window_seconds=WINDOW)
        self.lease = Lease()
        self.operators: dict[str, Operator] = {}
        self.lost = 0
        self._max_rolls = max_rolls
        self._later: list[tuple[float, Callable[[], object]]] = []
        self.skew = 0.0
        self.judge = Judge(cluster=self.cluster, telemetry=self.telemetry, max_rolls=max_rolls)
        self.server.landed = self.judge.landed
        self.server.told = self.judge.told
        for name, plan in self.plans.items():
            self._deploy(plan)
            self.cluster.create_serving(name, copy.deepcopy(plan.spec))
            self.telemetry.traffic[name] = ClosedLoop(self._users_of(name))

    # Time, and the processes

    def start(self, who: str) -> None:
        """Start an operator process, unless it runs."""
        if who not in self.operators:
            self.operators[who] = Operator(
                who=who,
                cluster=self.cluster,
                way=self,
                lease=self.lease,
                sources={"default": self.telemetry},
                max_rolls=self._max_rolls,
                skew=self.skew,
                around=next((each.around() for each in self.plans.values() if each.around), None),
            )

    async def kill(self, who: str) -> None:
        """Lose a process without a last word."""
        operator = self.operators.pop(who, None)
        if operator is not None:
            await operator.stop()
            self.lease.lose(who, self.cluster.now)

    async def pass_time(self, seconds: float, step: float = 5.0) -> None:
        """Let time pass, and the operators work."""
        end = self.cluster.now + seconds
        while self.cluster.now < end:
            self.advance(min(step, end - self.cluster.now))
            if self.lease.contend(sorted(self.operators), self.cluster.now):
                self.operators[str(self.lease.holder)].catch_up()
            for who in list(self.operators):
                await self._work(who)
            self.judge.look()

    async def _work(self, who: str) -> None:
        operator = self.operators[who]
        lay_over = operator.listing()
        if lay_over is not None and not self.cluster.api_down:
            self.later(LISTING_SECONDS, lay_over)
        try:
            await operator.work()
        except ProcessLostError:
            self.lost += 1
            await self.kill(who)
            self.start(who)

    def advance(self, seconds: float) -> None:
        """Let time pass in the cluster alone."""
        to = self.cluster.now + seconds
        while due := [each for each in self._later if each[0] <= to]:
            first = min(due, key=lambda each: each[0])
            self._later.remove(first)
            self.cluster.advance(max(self.cluster.now, first[0]))
            first[1]()
        self.cluster.advance(to)
        for workload in self.cluster._workloads.values():
            old = [each for each in workload.sets if each.size == 0 and each is not workload.newest]
            for each in sorted(old, key=lambda one: one.revision)[: len(workload.sets) - MOST_SETS]:
                workload.sets.remove(each)

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something after a time."""
        self._later.append((self.cluster.now + seconds, act))

    def asked(self, request: Request) -> None:
        """Take note of a request that is sent."""
        self.judge.asked(request, held=self.lease.holder == request.who)

    def lose_lease(self, who: str) -> None:
        """Take the Lease away from a process."""
        self.lease.lose(who, self.cluster.now)

    def hand_over(self) -> None:
        """Let the holder of the Lease lose it."""
        if self.lease.holder is not None:
            self.lease.lose(self.lease.holder, self.cluster.now)

    def jump(self, seconds: float) -> None:
        """Let the clock of every process jump."""
        self.skew += seconds
        self.judge.jumped(seconds)
        for operator in self.operators.values():
            operator.skew = self.skew

    # The API server and its streams

    def strike(
        self, harm: Harm, *, kind: str, skip: int, after: bool, name: str, who: str = ""
    ) -> None:
        """Let something go wrong with a later call of every process, or of one."""
        for operator in self.operators.values():
            if who not in ("", operator.who):
                continue
            operator.client.trouble.expect(
                Strike(
                    harm=harm,
                    kind=kind,
                    skip=skip,
                    after=after,
                    meanwhile=lambda: self.touch(name),
                )
            )

    def stream(self, fault: str, kind: Kind, count: int) -> None:
        """Let the watch streams stall, or lose, repeat or swap news."""
        for operator in self.operators.values():
            if fault == "stall":
                operator.stream.stalled.add(kind)
            elif fault == "lose":
                operator.stream.lose[kind] += count
            elif fault == "repeat":
                operator.stream.repeat[kind] += count
            else:
                operator.stream.swap[kind] += count

    def heal_streams(self) -> None:
        """Let the streams go their way again, and list anew."""
        for operator in self.operators.values():
            operator.stream.heal()
            operator.next_listing = self.cluster.now

    # Telemetry

    def lie(self, how: str, name: str) -> None:
        """Let the telemetry endpoint fail in one way."""
        faults = self.telemetry.faults
        pods = [pod.name for pod in self.cluster.pods_of(name)]
        match how:
            case "error":
                faults.error = "connection refused"
            case "crash":
                faults.crash = RuntimeError("a fault in the reader")
            case "empty":
                faults.empty = True
            case "silent":
                faults.scraping = False
            case "not finite":
                faults.not_finite.update(pods)
            case "hidden":
                faults.hidden.update(pods[:1])

    def tell_truth(self) -> None:
        """Let the telemetry endpoint be well."""
        self.telemetry.faults = EndpointFaults()

    # People, charts, autoscalers

    def edit(self, name: str, **fields: Any) -> None:
        """Edit a serving's spec; `None` takes a field out."""
        self.judge.asked_for(name)
        with contextlib.suppress(NotFoundError):
            wanted = {**self.cluster.serving(name).spec, **fields}
            spec = {key: value for key, value in wanted.items() if value is not None}
            self.cluster.edit_serving(name, copy.deepcopy(spec))

    def mean_again(self, name: str) -> None:
        """Put a serving's spec back to what its owner means."""
        self.judge.asked_for(name)
        with contextlib.suppress(NotFoundError):
            self.cluster.edit_serving(name, copy.deepcopy(self.plans[name].spec))

    def force(self, name: str, profile: str | None) -> None:
        """Order a profile by the annotation, or take the order back."""
        self.judge.asked_for(name)
        with contextlib.suppress(NotFoundError):
            self.cluster.force(name, profile)

    def delete_serving(self, name: str) -> None:
        """Delete a serving."""
        self.judge.asked_for(name)
        with contextlib.suppress(NotFoundError):
            self.cluster.delete_serving(name)

    def create_serving(self, name: str) -> None:
        """Create a serving as it is meant, unless it is there."""
        self.judge.asked_for(name)
        if ("default", name) not in self.cluster._servings:
            self.cluster.create_serving(name, copy.deepcopy(self.plans[name].spec))

    def delete_target(self, name: str) -> None:
        """Delete a target."""
        self.judge.asked_for(name)
        with contextlib.suppress(NotFoundError):
            self.cluster.delete_deployment(name)

    def create_target(self, name: str) -> None:
        """Create a target as its chart has it, unless it is there."""
        if ("default", name) not in self.cluster._workloads:
            self._deploy(self.plans[name])

    def recreate_target(self, name: str) -> None:
        """Delete a target and create it again under the same name."""
        self.delete_target(name)
        self.create_target(name)

    def crash(self, name: str) -> None:
        """Let the server in one Pod die."""
        if any(pod.serves for pod in self.cluster.pods_of(name)) and self._there(name):
            self.cluster.crash_one(name)

    def scale(self, name: str, replicas: int) -> None:
        """Scale a target, as an autoscaler does."""
        if self._there(name):
            self.cluster.scale(name, replicas)

    def touch(self, name: str) -> None:
        """Change something in a target that is no part of its spec."""
        if self._there(name):
            self.cluster.note(name)

    def pause(self, name: str, paused: bool) -> None:
        """Pause or resume the rollout of a target."""
        if self._there(name):
            self.judge.interfered(name)
            self.cluster.pause(name, paused)

    def undo(self, name: str) -> None:
        """Do as `kubectl rollout undo`."""
        self._person(name, lambda: self.cluster.rollout_undo(name))

    def restart(self, name: str) -> None:
        """Do as `kubectl rollout restart`."""
        self._person(name, lambda: self.cluster.rollout_restart(name))

    def heal_by_git(self, name: str, config: str | None = EAGLE_CONFIG) -> None:
        """Do as a GitOps controller whose manifest has the env item: take it over by force."""
        self._person(
            name,
            lambda: self.cluster.apply_as(name, manager="flux", config=config, force=True),
        )

    def edit_template(self, name: str, words: int) -> None:
        """Do as a chart's upgrade: change an argument of the container."""
        if self._there(name):
            first, *others = self.cluster._workload(name, NAMESPACE).template.containers
            told = (*first.args[:2], f"--max-num-seqs={words}")
            changed = Container(
                name=first.name,
                args=told,
                env=first.env,
                has_env_from=first.has_env_from,
                image=first.image,
            )
            self.judge.interfered(name)
            self.cluster.set_containers(name, (changed, *others), manager="helm")

    def take_item_out(self, name: str) -> None:
        """Let a person take the env item out of the template."""
        if self._there(name):
            self.judge.interfered(name)
            self.cluster.set_config(name, None, manager="kubectl-edit")

    def _person(self, name: str, act: Callable[[], None]) -> None:
        if self._there(name):
            self.judge.interfered(name)
            with contextlib.suppress(ClusterError):
                act()

    def _users_of(self, name: str) -> Callable[[float], float]:
        return lambda _: self.users[name]

    def _there(self, name: str) -> bool:
        return (NAMESPACE, name) in self.cluster._workloads

    def _deploy(self, plan: Plan) -> None:
        self.cluster.create_deployment(
            plan.name,
            containers=(plan.server or container(EAGLE_CONFIG),),
            replicas=REPLICAS,
            pace=Pace(fate=self._fate),
        )

    def _fate(self, template: Template) -> Fate | None:
        text = template.speculative_config
        if any(each in text for each in self.broken):
            return crashes("ValueError: the head does not fit")
        return None

    # Rest

    def config(self, name: str) -> str:
        """Return the speculative config in a target's template."""
        items = self.cluster.deployment(name).containers[0].env
        return next((item.value or "" for item in items if item.name == PROFILE_ENV), "")

    def calm(self) -> None:
        """End every fault, and put everything back as it is meant; one process holds on."""
        self.cluster.api_down = False
        self._later.clear()
        self.broken.clear()
        self.tell_truth()
        self.jump(-self.skew)
        for operator in self.operators.values():
            operator.client.trouble.clear()
        self.heal_streams()
        for name, plan in self.plans.items():
            self.create_target(name)
            self.create_serving(name)
            self.force(name, None)
            self.cluster.edit_serving(name, copy.deepcopy(plan.spec))
            self.scale(name, REPLICAS)
            workload = self.cluster._workload(name, NAMESPACE)
            if workload.paused and not self.cluster.deployment(name).paused_by_us:
                self.cluster.pause(name, False)
            for pod in workload.pods:
                pod.fate = None
        if not self.operators:
            self.start("a")
