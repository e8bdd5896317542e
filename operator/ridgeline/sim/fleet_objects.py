"""The objects of a simulated cluster, and how they change in time."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.cluster.errors import NotFoundError
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.shape import TargetShape
from ridgeline.cluster.store import Key, Kind, WatchStore
from ridgeline.cluster.surroundings import BoundPod, NodeObject, Surroundings
from ridgeline.engine.container import Container
from ridgeline.policy.placement import Node
from ridgeline.sim.bodies import deployment_body, pod_body
from ridgeline.sim.nodes import Bound, SimulatedNodes
from ridgeline.sim.pace import Pace
from ridgeline.sim.pod import SimulatedPod
from ridgeline.sim.template import Template
from ridgeline.sim.watch import WatchStream
from ridgeline.sim.workload import Changes, Workload

NAMESPACE: Final = "default"


@dataclass(slots=True)
class _Routine:
    every: float
    due_at: float
    act: Callable[[float], None]


class SimulatedObjects:
    """Deployments with their Pods and servings, in virtual time.

    The Deployment controller, the scheduler and the kubelets act while time passes; who else
    changes an object stands in `fleet_writers`.

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
        self._nodes = SimulatedNodes()
        self._around: list[Surroundings] = []
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
            self._schedule()
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

    # How objects come and go

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
            place=lambda shape, of: self._place(shape, (namespace, of)),
            created_at=self.now,
            version=self._next_version(),
            writers={manager: self.now},
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

    def add_node(self, node: Node, strangers: Mapping[str, int] | None = None) -> None:
        """Add a node, or change it; from the first one on Pods need one that has room for them.

        Args:
            node: The node.
            strangers: Extended resources that Pods of others have on it.
        """
        self._nodes.nodes[node.name] = node
        self._nodes.strangers[node.name] = dict(strangers or {})
        for around in self._around:
            self._tell_node(around, node)
        self._schedule()

    def surround(self, around: Surroundings) -> None:
        """Keep what an operator process knows of nodes and the GPUs in use up to date."""
        around.nodes.lay_over(around.nodes.listing_started(), ())
        around.lay_over_bound(around.bound.listing_started(), ())
        self._around.append(around)
        for node in self._nodes.nodes.values():
            self._tell_node(around, node)
        for workload in self._all_workloads():
            for pod in workload.pods:
                self._tell_bound(around, workload, pod)

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

    def deployment_body(self, name: str, namespace: str = NAMESPACE) -> dict[str, Any]:
        """Return a Deployment as the API server sends it."""
        return deployment_body(self._workload(name, namespace))

    def pod_body(self, deployment: str, name: str, namespace: str = NAMESPACE) -> dict[str, Any]:
        """Return a Pod of a Deployment as the API server sends it.

        Raises:
            NotFoundError: There is no such Pod.
        """
        workload = self._workload(deployment, namespace)
        for pod in workload.pods:
            if pod.name == name:
                return pod_body(workload, pod)
        raise NotFoundError(f'pods "{name}" not found')

    def list_into(self, store: WatchStore) -> None:
        """Lay a listing of every kind over a store."""
        store.lay_over_servings(store.servings.listing_started(), self._servings.values())
        deployments = [each.told() for each in self._workloads.values()]
        store.lay_over_deployments(store.deployments.listing_started(), deployments)
        pods = [each.pod_told(pod) for each in self._all_workloads() for pod in each.pods]
        store.lay_over_pods(store.pods_listing_started(), pods)

    # Inside

    def _place(self, shape: TargetShape, target: Key) -> tuple[str, str]:
        bound = (
            Bound(
                node=pod.node,
                target=(each.namespace, each.name),
                requests=dict(each.shape.needs.requests),
            )
            for each in self._all_workloads()
            for pod in each.pods
            if pod.node
        )
        return self._nodes.place(shape, target, bound)

    def _schedule(self) -> None:
        if not self._nodes.nodes:
            return
        for workload in list(self._all_workloads()):
            if any(pod.unschedulable for pod in workload.pods):
                self._tell(workload, workload.schedule(self.now))

    def _tell_node(self, around: Surroundings, node: Node) -> None:
        version = str(self._next_version())
        uid = f"node-{node.name}"
        around.nodes.put(NodeObject(name=node.name, uid=uid, resource_version=version, node=node))
        around.put_bound(
            BoundPod(
                namespace="strangers",
                name=f"on-{node.name}",
                uid=f"on-{node.name}",
                resource_version=version,
                node=node.name,
                requests=self._nodes.strangers[node.name],
            )
        )

    def _tell_bound(self, around: Surroundings, workload: Workload, pod: SimulatedPod) -> None:
        requests = workload.shape.needs.requests
        if pod.node and requests:
            around.put_bound(
                BoundPod(
                    namespace=workload.namespace,
                    name=pod.name,
                    uid=pod.uid,
                    resource_version=str(pod.version),
                    node=pod.node,
                    requests=requests,
                )
            )

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
        for around in self._around:
            for pod in changes.pods:
                self._tell_bound(around, workload, pod)
            for pod in changes.gone:
                around.drop_bound((workload.namespace, pod.name), pod.uid)
        for stream in self._streams:
            for pod in changes.pods:
                stream.tell_pod(self.now, workload.pod_told(pod))
            for pod in changes.gone:
                stream.tell_gone(Kind.POD, self.now, (workload.namespace, pod.name), pod.uid)
            if changes.status and not workload.deleting:
                stream.tell_deployment(self.now, workload.told())
