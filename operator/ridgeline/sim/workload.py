"""A simulated Deployment: its ReplicaSets, its Pods, and the status that they add up to.

What the Deployment controller does with the ReplicaSets stands in `replica_sets`, what becomes of
a Pod in `pod`. Time is a parameter; nothing here waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.cluster.objects import DeploymentObject, PodObject, trim_deployment, trim_pod
from ridgeline.cluster.shape import TargetShape
from ridgeline.sim.bodies import PAUSED_PATH, deployment_body, env_path, pod_body
from ridgeline.sim.pace import Pace
from ridgeline.sim.pod import SimulatedPod, least_useful
from ridgeline.sim.progress import Counts, Progress, progressed, shows_progress
from ridgeline.sim.replica_sets import (
    Limits,
    ReplicaSet,
    grow_newest,
    is_scaled,
    recreate,
    scale,
    shrink_others,
)
from ridgeline.sim.template import Template, can_start

__all__ = [
    "PAUSED_PATH",
    "Changes",
    "Pace",
    "Progress",
    "SimulatedPod",
    "Template",
    "Workload",
    "can_start",
    "env_path",
]

_MOST_STEPS: Final = 20
"""Steps of a roll that no Pod has to become Ready for; each is news for the next at once."""

Place = Callable[[TargetShape, str], tuple[str, str]]
"""Takes a shape and a Deployment's name; returns a node, or why there is none."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """What one step of a Deployment changed."""

    pods: list[SimulatedPod] = field(default_factory=list)
    gone: list[SimulatedPod] = field(default_factory=list)
    status: bool = False


@dataclass(slots=True, kw_only=True)
class Workload:
    """A Deployment. `touch` after a change of its spec, then `step` at `due_at`.

    Attributes:
        owners: Managers of the fields that several may own, by path.
        writers: When each manager wrote its spec last.
        place: Finds a node for one more Pod.
    """

    namespace: str
    name: str
    uid: str
    template: Template
    replicas: int
    pace: Pace
    next_version: Callable[[], int]
    place: Place = lambda _shape, _name: ("", "")
    shape: TargetShape = field(default_factory=TargetShape)
    created_at: float = 0.0
    version: int = 0
    generation: int = 1
    observed_generation: int = 0
    paused: bool = False
    deleting: bool = False
    marker: str | None = None
    owners: dict[str, set[str]] = field(default_factory=dict)
    writers: dict[str, float] = field(default_factory=dict)
    pods: list[SimulatedPod] = field(default_factory=list)
    sets: list[ReplicaSet] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    _sync_at: float = float("inf")
    _progress_at: float = 0.0
    _told_generation: int = 0
    _pods_made: int = 0

    def touch(self, now: float, manager: str | None) -> None:
        """Count a change of the spec by `manager`; the controller sees it a little later.

        Args:
            now: Epoch seconds.
            manager: Who; `None` for a writer of the scale subresource.
        """
        self.generation += 1
        self.version = self.next_version()
        if manager is not None:
            self.writers[manager] = now
        self.sync_soon(now)

    def sync_soon(self, now: float) -> None:
        """Let the controller look at it after its delay."""
        self._sync_at = min(self._sync_at, now + self.pace.sync_seconds)

    def settle(self, now: float) -> None:
        """Make it a Deployment that is up: every Pod Ready since `now` that can be."""
        newest = self._newest_made()
        newest.size = self.replicas
        while len(self.pods) < self.replicas:
            pod = self._create(now, newest.template)
            ready = (pod.fate is None or pod.fate.ready) and not pod.unschedulable
            pod.ready_since = float(int(now)) if ready else None
        self.observed_generation = self.generation
        self.counts = replace(self._counted(), progress=Progress.AVAILABLE)
        self._told_generation = self.generation
        self._progress_at = now
        self._remember(newest)

    def crash_one(self, now: float, exit_code: int = 1, message: str = "") -> Changes:
        """Let one serving Pod's server die; it is started again in place."""
        changes = Changes()
        pod = next(each for each in self.pods if each.serves)
        pod.crash(now, exit_code, message)
        self._changed(pod, changes)
        self.sync_soon(now)
        return changes

    def stop_all(self, now: float) -> Changes:
        """Take every Pod away, as the garbage collector does behind a deleted Deployment."""
        changes = Changes()
        self._sync_at = float("inf")
        self.sets.clear()
        for pod in self._staying():
            self._stop(pod, now, changes)
        return changes

    @property
    def due_at(self) -> float:
        """When `step` has something to do; infinite when nothing is under way."""
        times = [self._sync_at, *(pod.due_at for pod in self.pods)]
        if self._reckons():
            times.append(self._progress_at + self.pace.deadline_seconds)
        return min(times)

    def step(self, now: float) -> Changes:
        """Let Pods start and stop, and let the controller act if it is its time."""
        changes, before = Changes(), self._counted()
        for pod in list(self.pods):
            if pod.stops_at <= now:
                self.pods.remove(pod)
                changes.gone.append(pod)
            elif pod.step(now):
                self._changed(pod, changes)
        if changes.gone or changes.pods:
            self.sync_soon(now)
        if self._sync_at <= now:
            self._sync_at = float("inf")
            self.observed_generation = self.generation
            self._sync(now, changes)
        counts = self._progressed(before, now)
        status = (counts, self.observed_generation)
        if status != (self.counts, self._told_generation):
            self.counts, self._told_generation = status
            self.version = self.next_version()
            changes.status = True
        return changes

    def schedule(self, now: float) -> Changes:
        """Bind the Pods that had no node, where there is one now."""
        changes = Changes()
        for pod in self.pods:
            if pod.unschedulable and not pod.deleting:
                self._bind(pod, now)
                if not pod.unschedulable:
                    self._changed(pod, changes)
        return changes

    # The controller

    @property
    def newest(self) -> ReplicaSet | None:
        """The ReplicaSet of the present template, `None` before there is one."""
        return next((each for each in self.sets if each.template == self.template), None)

    @property
    def limits(self) -> Limits:
        """What bounds its rolling update."""
        return Limits(
            replicas=self.replicas,
            max_surge=self.pace.max_surge,
            max_unavailable=self.pace.max_unavailable,
        )

    def _sync(self, now: float, changes: Changes) -> None:
        """Let the controller act once, up to where it has to wait for Pods."""
        if self.deleting:
            return
        self._pause_or_resume(now)
        if self.paused or is_scaled(self.sets, self.replicas):
            if self.newest is not None:
                self._number(self.newest)
            scale(self.sets, self.newest, self.limits)
            self._fill(now, changes)
        if self.paused:
            return
        known = len(self.sets)
        newest = self._newest_made()
        if len(self.sets) > known:
            self.counts = replace(self.counts, progress=Progress.CREATED)
            self._progress_at = now
        for _ in range(_MOST_STEPS):
            if not self._resize(newest):
                break
            self._remember(newest)
            self._fill(now, changes)
        self._remember(newest)

    def _resize(self, newest: ReplicaSet) -> bool:
        for each in self.sets:
            each.available = sum(1 for pod in self._staying(each.template) if pod.serves)
        if self.shape.recreate:
            gone = all(pod.template == newest.template for pod in self.pods)
            return recreate(self.sets, newest, self.limits, others_gone=gone)
        grown = grow_newest(self.sets, newest, self.limits)
        return grown or shrink_others(self.sets, newest, self.limits)

    def _pause_or_resume(self, now: float) -> None:
        progress = self.counts.progress
        if progress is Progress.TIMED_OUT:
            return  # told once, it is not covered up
        if self.paused and progress is not Progress.PAUSED:
            self.counts = replace(self.counts, progress=Progress.PAUSED)
        elif not self.paused and progress is Progress.PAUSED:
            self.counts = replace(self.counts, progress=Progress.RESUMED)
            self._progress_at = now

    def _newest_made(self) -> ReplicaSet:
        """Return the ReplicaSet of the present template; make it where there is none."""
        newest = self.newest
        if newest is None:
            newest = ReplicaSet(template=self.template, revision=0)
            self.sets.append(newest)
        self._number(newest)
        return newest

    def _number(self, newest: ReplicaSet) -> None:
        """Give the newest ReplicaSet the highest revision, and the Deployment's annotation."""
        highest = max((each.revision for each in self.sets if each is not newest), default=0)
        newest.revision = max(newest.revision, highest + 1)
        newest.marker = self.marker

    def _remember(self, newest: ReplicaSet) -> None:
        """Note for what number of replicas the sizes were reckoned."""
        for each in self.sets:
            if each is newest or each.size > 0:
                each.desired = self.replicas
                each.most = self.replicas + self.pace.max_surge

    def _fill(self, now: float, changes: Changes) -> None:
        """Create and stop Pods until each ReplicaSet has its size."""
        for each in self.sets:
            pods = self._staying(each.template)
            for pod in sorted(pods, key=least_useful)[: max(0, len(pods) - each.size)]:
                self._stop(pod, now, changes)
            for _ in range(each.size - len(pods)):
                changes.pods.append(self._create(now, each.template))

    def _progressed(self, before: Counts, now: float) -> Counts:
        """Return the counts with the progress since `before` that they tell of."""
        progress = self.counts.progress
        before = replace(before, progress=progress)
        counts = replace(self._counted(), progress=progress)
        if self.paused or self.observed_generation != self.generation:
            return counts
        late = now >= self._progress_at + self.pace.deadline_seconds
        counts = progressed(before, counts, self.replicas, late=late)
        if shows_progress(before, counts):
            self._progress_at = now
        return counts

    def _reckons(self) -> bool:
        over = {Progress.AVAILABLE, Progress.TIMED_OUT}
        return not (
            self.deleting
            or self.paused
            or self.observed_generation != self.generation
            or self.counts.progress in over
        )

    def _counted(self) -> Counts:
        staying = self._staying()
        return Counts(
            current=len(staying),
            updated=len(self._staying(of=self.template)),
            ready=sum(1 for pod in staying if pod.serves),
        )

    # Its Pods

    def _create(self, now: float, template: Template) -> SimulatedPod:
        self._pods_made += 1
        # Servers started together are not Ready together.
        startup = self.pace.startup_seconds + 0.7 * (self._pods_made % 3)
        pod = SimulatedPod(
            name=f"{self.name}-{template.digest}-{self._pods_made}",
            uid=f"{self.uid}-pod-{self._pods_made}",
            version=self.next_version(),
            template=template,
            created_at=now,
            starts_at=now + startup,
            startup_seconds=startup,
            fate=self.pace.fate_of(template),
        )
        self._bind(pod, now)
        self.pods.append(pod)
        return pod

    def _bind(self, pod: SimulatedPod, now: float) -> None:
        pod.node, pod.unschedulable = self.place(self.shape, self.name)
        if not pod.unschedulable:
            pod.begin(now)

    def _stop(self, pod: SimulatedPod, now: float, changes: Changes) -> None:
        # A Pod that no kubelet has is gone at once.
        pod.stops_at = now + (0.0 if pod.unschedulable else self.pace.stopping_seconds)
        self._changed(pod, changes)

    def _changed(self, pod: SimulatedPod, changes: Changes) -> None:
        pod.version = self.next_version()
        changes.pods.append(pod)

    def _staying(self, of: Template | None = None) -> list[SimulatedPod]:
        return [pod for pod in self.pods if not pod.deleting and (of is None or pod.template == of)]

    # How it is told

    def told(self) -> DeploymentObject:
        """Return it as the operator keeps what the API server tells of it."""
        shape = replace(
            self.shape,
            max_surge=self.pace.max_surge,
            max_unavailable=self.pace.max_unavailable,
        )
        return replace(trim_deployment(deployment_body(self)), shape=shape)

    def pod_told(self, pod: SimulatedPod) -> PodObject:
        """Return one of its Pods as the operator keeps what the API server tells of it."""
        told = trim_pod(pod_body(self, pod))
        assert told is not None  # noqa: S101 its ReplicaSet is a Deployment's
        return told
