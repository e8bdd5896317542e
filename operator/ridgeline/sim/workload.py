"""A simulated Deployment with its Pods, and the rolling update that replaces them.

The rules are those of the Deployment controller: never more Pods than replicas + maxSurge, never
fewer available ones than replicas − maxUnavailable, Pods that do not serve go first, and a template
that was there before gets its old Pods back. Time is a parameter; nothing here waits.
"""

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.cluster.objects import DeploymentObject, PodObject
from ridgeline.cluster.shape import TargetShape
from ridgeline.engine.container import Container
from ridgeline.engine.fingerprint import fingerprint
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, parse
from ridgeline.terms.names import PROFILE_ENV, PROFILE_MANAGER

PAUSED_PATH: Final = ".spec.paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A Pod template; two equal ones share their Pods, as equal hashes do."""

    containers: tuple[Container, ...]
    profile: str | None = None

    @property
    def digest(self) -> str:
        """Short name of the template, as in the names of ReplicaSets."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    @property
    def speculative_config(self) -> str:
        """Text of the env item that carries the profile; empty without one."""
        items = [item for each in self.containers for item in each.env if item.name == PROFILE_ENV]
        return next((item.value for item in items if item.value), "")


def can_start(template: Template) -> bool:
    """Tell whether a server starts: not with a speculative config that is no JSON object."""
    try:
        parse(template.speculative_config)
    except InvalidSpeculativeConfigError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a Deployment rolls, in Pods and seconds.

    Attributes:
        max_surge: Pods beyond the replicas while it rolls.
        max_unavailable: Replicas that may be missing while it rolls.
        startup_seconds: From the creation of a Pod until it is Ready.
        stopping_seconds: From the deletion of a Pod until it is gone.
        sync_seconds: How long the Deployment controller takes to see a change.
        deadline_seconds: Time without progress after which a rollout counts as failed.
        starts: Whether a server with this template becomes Ready at all.
    """

    max_surge: int = 1
    max_unavailable: int = 0
    startup_seconds: float = 20.0
    stopping_seconds: float = 5.0
    sync_seconds: float = 0.5
    deadline_seconds: float = 600.0
    starts: Callable[[Template], bool] = can_start

    def __post_init__(self) -> None:
        """Refuse what the API server refuses too."""
        if self.max_surge + self.max_unavailable <= 0:
            raise ValueError("maxSurge and maxUnavailable are both 0: set one of them to 1 or more")


@dataclass(slots=True, kw_only=True)
class SimulatedPod:
    """A Pod; it is gone from the cluster at `stops_at`."""

    name: str
    uid: str
    version: int
    template: Template
    starts_at: float
    ready_since: float | None = None
    stops_at: float = math.inf

    @property
    def deleting(self) -> bool:
        """Whether it was told to stop."""
        return math.isfinite(self.stops_at)

    @property
    def serves(self) -> bool:
        """Whether it is Ready and not going."""
        return self.ready_since is not None and not self.deleting


@dataclass(slots=True, kw_only=True)
class Changes:
    """What one step of a Deployment changed."""

    pods: list[SimulatedPod] = field(default_factory=list)
    gone: list[SimulatedPod] = field(default_factory=list)
    status: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The replica counts of a Deployment's status."""

    current: int = 0
    updated: int = 0
    ready: int = 0
    deadline_exceeded: bool = False


@dataclass(slots=True, kw_only=True)
class Workload:
    """A Deployment. `touch` after a change of its spec, then `step` at `due_at`."""

    namespace: str
    name: str
    uid: str
    template: Template
    replicas: int
    pace: Pace
    next_version: Callable[[], int]
    shape: TargetShape = field(default_factory=TargetShape)
    version: int = 0
    generation: int = 1
    observed_generation: int = 0
    paused: bool = False
    deleting: bool = False
    marker: str | None = None
    last_writer: str = ""
    owners: dict[str, set[str]] = field(default_factory=dict)
    pods: list[SimulatedPod] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    _sync_at: float = math.inf
    _progress_at: float = 0.0
    _told_generation: int = 0
    _pods_made: int = 0
    _scaled_to: int = -1

    def touch(self, now: float, manager: str) -> None:
        """Count a change of the spec by `manager`; the controller sees it a little later."""
        self.generation += 1
        self.version = self.next_version()
        if manager != PROFILE_MANAGER:
            self.last_writer = manager
        self._progress_at = now
        self.sync_soon(now)

    def sync_soon(self, now: float) -> None:
        """Let the controller look at it after its delay."""
        self._sync_at = min(self._sync_at, now + self.pace.sync_seconds)

    def settle(self, now: float) -> None:
        """Make it a Deployment that is up: every Pod Ready since `now` that can be."""
        while len(self.pods) < self.replicas:
            pod = self._create(now)
            pod.ready_since = float(int(now)) if self.pace.starts(pod.template) else None
        self.observed_generation = self.generation
        self.counts = self._counted(now)
        self._told_generation = self.generation
        self._progress_at = now

    def crash_one(self, now: float) -> Changes:
        """Let one serving Pod's server die; it is started again in place."""
        changes = Changes()
        pod = next(each for each in self.pods if each.serves)
        pod.ready_since = None
        pod.starts_at = now + self.pace.startup_seconds
        pod.version = self.next_version()
        changes.pods.append(pod)
        self.sync_soon(now)
        return changes

    def stop_all(self, now: float) -> Changes:
        """Take every Pod away, as the garbage collector does behind a deleted Deployment."""
        changes = Changes()
        self._sync_at = math.inf
        for pod in self._staying():
            self._stop(pod, now, changes)
        return changes

    @property
    def due_at(self) -> float:
        """When `step` has something to do; infinite when nothing is under way."""
        times = [self._sync_at]
        for pod in self.pods:
            times.append(pod.stops_at)
            if pod.ready_since is None and not pod.deleting and self.pace.starts(pod.template):
                times.append(pod.starts_at)
        if self._unfinished() and not self.counts.deadline_exceeded:
            times.append(self._progress_at + self.pace.deadline_seconds)
        return min(times)

    def step(self, now: float) -> Changes:
        """Let Pods start and stop, and let the controller act if it is its time."""
        changes = Changes()
        self._kubelet(now, changes)
        if self._sync_at <= now:
            self._sync_at = math.inf
            self.observed_generation = self.generation
            self._roll(now, changes)
        counts = self._counted(now)
        status = (counts, self.observed_generation)
        if status != (self.counts, self._told_generation):
            self.counts, self._told_generation = status
            self.version = self.next_version()
            changes.status = True
        return changes

    def _kubelet(self, now: float, changes: Changes) -> None:
        for pod in list(self.pods):
            if pod.stops_at <= now:
                self.pods.remove(pod)
                changes.gone.append(pod)
            elif (
                pod.ready_since is None
                and not pod.deleting
                and pod.starts_at <= now
                and self.pace.starts(pod.template)
            ):
                pod.ready_since = float(int(now))
                pod.version = self.next_version()
                changes.pods.append(pod)
        if changes.gone or changes.pods:
            self._progress_at = now
            self.sync_soon(now)

    def _roll(self, now: float, changes: Changes) -> None:
        """Scale the new Pods up and the old ones down as far as the limits allow."""
        new = self._staying(of=self.template)
        old = [pod for pod in self._staying() if pod.template != self.template]
        wanted = 0 if self.deleting else self.replicas
        if not self.paused:
            self._scaled_to = wanted
        if self.paused and old:
            self._scale_in_proportion(wanted, new, old, now, changes)
            self._scaled_to = wanted
            return
        for pod in _least_useful(new)[: max(0, len(new) - wanted)]:
            self._stop(pod, now, changes)
        room = wanted + (self.pace.max_surge if old else 0) - len(new) - len(old)
        for _ in range(max(0, min(room, wanted - len(new)))):
            changes.pods.append(self._create(now))
        serving = sum(1 for pod in self._staying() if pod.serves)
        spare = serving - max(0, wanted - self.pace.max_unavailable)
        for pod in _least_useful(old):
            if pod.serves:
                if spare <= 0:
                    break
                spare -= 1
            self._stop(pod, now, changes)
        if self._can_create_more(wanted):
            self.sync_soon(now)

    def _scale_in_proportion(
        self,
        wanted: int,
        new: list[SimulatedPod],
        old: list[SimulatedPod],
        now: float,
        changes: Changes,
    ) -> None:
        """Scale both templates' Pods when the replicas change while it is paused.

        A paused rollout replaces nothing, and a Deployment that is scaled meanwhile shares what is
        added or taken away between its templates by their sizes. Old templates are one here.
        """
        missing = wanted + (self.pace.max_surge if new else 0) - len(new) - len(old)
        if wanted == self._scaled_to or missing == 0:
            return
        share = round(missing * len(new) / (len(new) + len(old)))
        for _ in range(share):
            changes.pods.append(self._create(now))
        for _ in range(missing - share):
            changes.pods.append(self._create(now, old[0].template))
        for pod in _least_useful(new)[: max(0, -share)]:
            self._stop(pod, now, changes)
        for pod in _least_useful(old)[: max(0, share - missing)]:
            self._stop(pod, now, changes)

    def _can_create_more(self, wanted: int) -> bool:
        missing = wanted - len(self._staying(of=self.template))
        return missing > 0 and len(self._staying()) < wanted + self.pace.max_surge

    def _create(self, now: float, template: Template | None = None) -> SimulatedPod:
        self._pods_made += 1
        template = template or self.template
        pod = SimulatedPod(
            name=f"{self.name}-{template.digest}-{self._pods_made}",
            uid=f"{self.uid}-pod-{self._pods_made}",
            version=self.next_version(),
            template=template,
            # Servers started together are not Ready together.
            starts_at=now + self.pace.startup_seconds + 0.7 * (self._pods_made % 3),
        )
        self.pods.append(pod)
        return pod

    def _stop(self, pod: SimulatedPod, now: float, changes: Changes) -> None:
        pod.stops_at = now + self.pace.stopping_seconds
        pod.version = self.next_version()
        changes.pods.append(pod)

    def _staying(self, of: Template | None = None) -> list[SimulatedPod]:
        return [pod for pod in self.pods if not pod.deleting and (of is None or pod.template == of)]

    def _unfinished(self) -> bool:
        return (
            not self.deleting
            and self.observed_generation == self.generation
            and not (
                self.counts.updated == self.counts.current == self.counts.ready == self.replicas
            )
        )

    def _counted(self, now: float) -> Counts:
        staying = self._staying()
        counts = Counts(
            current=len(staying),
            updated=len(self._staying(of=self.template)),
            ready=sum(1 for pod in staying if pod.serves),
        )
        finished = counts.updated == counts.current == counts.ready == self.replicas
        late = now >= self._progress_at + self.pace.deadline_seconds
        return replace(counts, deadline_exceeded=late and not finished)

    def told(self) -> DeploymentObject:
        """Return it as the API server tells it."""
        return DeploymentObject(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            generation=self.generation,
            resource_version=str(self.version),
            deleting=self.deleting,
            replicas=self.replicas,
            paused=self.paused,
            template_profile=self.template.profile,
            containers=self.template.containers,
            marker=self.marker,
            observed_generation=self.observed_generation,
            current_replicas=self.counts.current,
            updated_replicas=self.counts.updated,
            ready_replicas=self.counts.ready,
            available_replicas=self.counts.ready,
            progress_deadline_exceeded=self.counts.deadline_exceeded,
            last_writer=self.last_writer,
            template=fingerprint(repr(_without_ours(self.template))),
            ours=any(PROFILE_MANAGER in self.owners.get(path, ()) for path in self._env_paths()),
            paused_by_us=self.paused and PROFILE_MANAGER in self.owners.get(PAUSED_PATH, ()),
            shape=replace(
                self.shape,
                max_surge=self.pace.max_surge,
                max_unavailable=self.pace.max_unavailable,
            ),
        )

    def _env_paths(self) -> list[str]:
        return [env_path(each.name) for each in self.template.containers]

    def pod_told(self, pod: SimulatedPod) -> PodObject:
        """Return one of its Pods as the API server tells it."""
        failing = pod.ready_since is None and not self.pace.starts(pod.template)
        return PodObject(
            namespace=self.namespace,
            name=pod.name,
            uid=pod.uid,
            resource_version=str(pod.version),
            deployment=self.name,
            profile=pod.template.profile,
            ready_since=pod.ready_since,
            deleting=pod.deleting,
            trouble="CrashLoopBackOff" if failing else None,
        )


def env_path(container: str) -> str:
    """Return the path of the env item's value, as the API server writes it."""
    containers = f'.spec.template.spec.containers[name="{container}"]'
    return f'{containers}.env[name="{PROFILE_ENV}"].value'


def _without_ours(template: Template) -> Template:
    """Return the template without the fields that the operator may own."""
    return Template(
        containers=tuple(
            replace(each, env=tuple(item for item in each.env if item.name != PROFILE_ENV))
            for each in template.containers
        )
    )


def _least_useful(pods: Iterable[SimulatedPod]) -> list[SimulatedPod]:
    """Sort Pods by how soon they are taken away: first those that do not serve, then the newest."""
    return sorted(pods, key=lambda pod: (pod.serves, -pod.starts_at, pod.name))
