"""The objects of a simulated cluster, how they change in time, and who else changes them."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import Key, Kind, WatchStore
from ridgeline.engine.container import Container, EnvItem
from ridgeline.sim.watch import WatchStream
from ridgeline.sim.workload import (
    PAUSED_PATH,
    Changes,
    Pace,
    SimulatedPod,
    Template,
    Workload,
    env_path,
)
from ridgeline.terms.names import PROFILE_ENV

NAMESPACE: Final = "default"


@dataclass(slots=True)
class _Routine:
    every: float
    due_at: float
    act: Callable[[float], None]


class SimulatedObjects:
    """Deployments with their Pods and servings, in virtual time.

    Everybody but the operator acts here: the Deployment controller and the kubelets while time
    passes, and people, charts and autoscalers through the methods that change an object.

    Attributes:
        now: Epoch seconds; moved on by `advance`.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self._servings: dict[Key, ServingObject] = {}
        self._workloads: dict[Key, Workload] = {}
        self._leaving: list[Workload] = []
        self._streams: list[WatchStream] = []
        self._routines: list[_Routine] = []
        self._version = 0
        self._made = 0

    # Time

    def advance(self, to: float) -> None:
        """Let time pass until `to`: Pods start and stop, controllers act, streams deliver."""
        if to < self.now:
            raise ValueError(f"time runs forward only: it is {self.now}, not {to}")
        while (due := self._due_at()) <= to:
            self.now = max(self.now, due)
            for stream in self._streams:
                stream.deliver(self.now)
            for workload in list(self._all_workloads()):
                if workload.due_at <= self.now:
                    self._tell(workload, workload.step(self.now))
            self._leaving = [each for each in self._leaving if each.pods]
            for routine in self._routines:
                if routine.due_at <= self.now:
                    routine.due_at += routine.every
                    routine.act(self.now)
        self.now = to

    def every(self, seconds: float, act: Callable[[float], None]) -> None:
        """Call `act` with the time, now and every so many seconds while time passes."""
        act(self.now)
        self._routines.append(_Routine(seconds, self.now + seconds, act))

    def _due_at(self) -> float:
        times = [each.due_at for each in self._all_workloads()]
        times += [each.due_at for each in self._streams]
        times += [each.due_at for each in self._routines]
        return min(times, default=math.inf)

    # What people, charts and autoscalers do

    def create_serving(
        self, name: str, spec: Mapping[str, Any], namespace: str = NAMESPACE
    ) -> None:
        """Create a serving."""
        self._made += 1
        self._put_serving(
            ServingObject(
                namespace=namespace,
                name=name,
                uid=f"serving-{self._made}",
                generation=1,
                resource_version=str(self._next_version()),
                created_at=float(int(self.now)),
                deleting=False,
                spec=dict(spec),
                status={},
            )
        )

    def edit_serving(self, name: str, spec: Mapping[str, Any], namespace: str = NAMESPACE) -> None:
        """Replace the spec of a serving."""
        before = self.serving(name, namespace)
        if before.spec == spec:
            return
        version = str(self._next_version())
        self._put_serving(
            replace(
                before,
                spec=dict(spec),
                generation=before.generation + 1,
                resource_version=version,
            )
        )

    def force(self, name: str, profile: str | None, namespace: str = NAMESPACE) -> None:
        """Set or remove the annotation that orders a profile."""
        before = self.serving(name, namespace)
        version = str(self._next_version())
        self._put_serving(replace(before, forced_profile=profile, resource_version=version))

    def delete_serving(
        self, name: str, namespace: str = NAMESPACE, *, held_back: bool = False
    ) -> None:
        """Delete a serving; one that is held back by a stranger's finalizer stays, marked."""
        serving = self.serving(name, namespace)
        if held_back:
            version = str(self._next_version())
            self._put_serving(replace(serving, deleting=True, resource_version=version))
            return
        del self._servings[namespace, name]
        for stream in self._streams:
            stream.tell_gone(Kind.SERVING, self.now, (namespace, name), serving.uid)

    def create_deployment(
        self,
        name: str,
        *,
        containers: tuple[Container, ...],
        replicas: int,
        pace: Pace | None = None,
        shape: TargetShape | None = None,
        namespace: str = NAMESPACE,
        manager: str = "helm",
    ) -> None:
        """Create a Deployment whose Pods have been up since now."""
        self._made += 1
        workload = Workload(
            namespace=namespace,
            name=name,
            uid=f"deployment-{self._made}",
            template=Template(containers=containers),
            replicas=replicas,
            pace=pace or Pace(),
            shape=shape or TargetShape(),
            next_version=self._next_version,
            version=self._next_version(),
            last_writer=manager,
        )
        workload.settle(self.now)
        self._workloads[namespace, name] = workload
        self._tell(workload, Changes(pods=list(workload.pods), status=True))

    def delete_deployment(self, name: str, namespace: str = NAMESPACE) -> None:
        """Delete a Deployment; its Pods stop after it."""
        workload = self._workload(name, namespace)
        del self._workloads[namespace, name]
        workload.deleting = True
        self._leaving.append(workload)
        for stream in self._streams:
            stream.tell_gone(Kind.DEPLOYMENT, self.now, (namespace, name), workload.uid)
        self._tell(workload, workload.stop_all(self.now))

    def scale(self, name: str, replicas: int, namespace: str = NAMESPACE) -> None:
        """Scale a Deployment as an autoscaler does: through the scale subresource."""
        workload = self._workload(name, namespace)
        if workload.replicas != replicas:
            workload.replicas = replicas
            # The writer of a subresource is not the writer of the spec.
            workload.touch(self.now, workload.last_writer)
            self._announce(workload)

    def crash_one(self, name: str, namespace: str = NAMESPACE) -> None:
        """Let the server in one Pod of a Deployment die and start anew."""
        workload = self._workload(name, namespace)
        self._tell(workload, workload.crash_one(self.now))

    def pause(self, name: str, paused: bool, namespace: str = NAMESPACE) -> None:
        """Pause or resume the rollout of a Deployment."""
        workload = self._workload(name, namespace)
        workload.paused = paused
        workload.owners[PAUSED_PATH] = {"kubectl-rollout"} if paused else set()
        workload.touch(self.now, "kubectl-rollout")
        self._announce(workload)

    def note(self, name: str, namespace: str = NAMESPACE) -> None:
        """Change something in a Deployment that is no part of its spec: its version grows."""
        workload = self._workload(name, namespace)
        workload.version = workload.next_version()
        self._announce(workload)

    def note_spec(self, name: str, namespace: str = NAMESPACE) -> None:
        """Change something in a Deployment's spec that no Pod sees: its generation grows."""
        workload = self._workload(name, namespace)
        workload.touch(self.now, "kubectl-edit")
        self._announce(workload)

    def let_go(self, name: str, namespace: str = NAMESPACE) -> None:
        """Let every other manager give up the env item and leave its value as it is."""
        workload = self._workload(name, namespace)
        workload.owners.clear()
        self.note(name, namespace)

    def set_containers(
        self,
        name: str,
        containers: tuple[Container, ...],
        *,
        manager: str,
        namespace: str = NAMESPACE,
    ) -> None:
        """Replace the containers of a Deployment's template; the label stays."""
        workload = self._workload(name, namespace)
        template = replace(workload.template, containers=containers)
        if template != workload.template:
            workload.template = template
            workload.touch(self.now, manager)
            self._announce(workload)

    def set_config(
        self, name: str, text: str | None, *, manager: str, namespace: str = NAMESPACE
    ) -> None:
        """Force the env item that carries the profile to a text, or remove it (`None`).

        Whoever sets it owns it from then on; whoever removes it leaves it without an owner.
        """
        workload = self._workload(name, namespace)
        first, *others = workload.template.containers
        env = tuple(item for item in first.env if item.name != PROFILE_ENV)
        if text is not None:
            env = (*env, EnvItem(name=PROFILE_ENV, value=text))
        path = env_path(first.name)
        workload.owners[path] = set() if text is None else {manager}
        self.set_containers(
            name, (replace(first, env=env), *others), manager=manager, namespace=namespace
        )

    # A look at it from outside

    def serving(self, name: str, namespace: str = NAMESPACE) -> ServingObject:
        """Return a serving as the API server has it."""
        found = self._servings.get((namespace, name))
        if found is None:
            raise NotFoundError(f'speculativeservings.ridgeline.dev "{name}" not found')
        return found

    def deployment(self, name: str, namespace: str = NAMESPACE) -> DeploymentObject:
        """Return a Deployment as the API server has it."""
        return self._workload(name, namespace).told()

    def pods_of(self, name: str, namespace: str = NAMESPACE) -> tuple[SimulatedPod, ...]:
        """Return the Pods of a Deployment, also of one that is gone."""
        return tuple(
            pod
            for each in self._all_workloads()
            if (each.namespace, each.name) == (namespace, name)
            for pod in each.pods
        )

    def list_into(self, store: WatchStore) -> None:
        """Lay a listing of every kind over a store."""
        store.lay_over_servings(store.servings.listing_started(), self._servings.values())
        deployments = [each.told() for each in self._workloads.values()]
        store.lay_over_deployments(store.deployments.listing_started(), deployments)
        pods = [each.pod_told(pod) for each in self._all_workloads() for pod in each.pods]
        store.lay_over_pods(store.pods_listing_started(), pods)

    # Inside

    def _workload(self, name: str, namespace: str) -> Workload:
        found = self._workloads.get((namespace, name))
        if found is None:
            raise NotFoundError(f'deployments.apps "{name}" not found')
        return found

    def _all_workloads(self) -> Iterator[Workload]:
        yield from self._workloads.values()
        yield from self._leaving

    def _next_version(self) -> int:
        self._version += 1
        return self._version

    def _put_serving(self, serving: ServingObject) -> None:
        self._servings[serving.namespace, serving.name] = serving
        for stream in self._streams:
            stream.tell_serving(self.now, serving)

    def _announce(self, workload: Workload) -> None:
        self._tell(workload, Changes(status=True))

    def _tell(self, workload: Workload, changes: Changes) -> None:
        for stream in self._streams:
            for pod in changes.pods:
                stream.tell_pod(self.now, workload.pod_told(pod))
            for pod in changes.gone:
                stream.tell_gone(Kind.POD, self.now, (workload.namespace, pod.name), pod.uid)
            if changes.status and not workload.deleting:
                stream.tell_deployment(self.now, workload.told())
