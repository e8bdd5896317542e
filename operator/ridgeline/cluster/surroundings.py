"""What surrounds the targets: nodes, GPUs in use, budgets, quotas, autoscalers, policies.

Each kind may be out of reach (a Role gives no right to read nodes; an older installation has no
CRD for policies): then its shelf stays unprimed, and what would follow from it is unknown, not
zero.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from ridgeline.cluster.devices import Devices
from ridgeline.cluster.gangs import POD_GROUP_VERSIONS, PodGroupObject
from ridgeline.cluster.grouped import GroupedShelf
from ridgeline.cluster.neighbours import AutoscalerObject, QuotaObject
from ridgeline.cluster.objects import Json
from ridgeline.cluster.rooms import Rooms
from ridgeline.cluster.shape import extended_resources, requests_of, requirements_of
from ridgeline.cluster.shared import shared_amounts
from ridgeline.cluster.store import Key, Shelf
from ridgeline.policy.placement import Node, PodNeeds, Requirement, Room, Taint, room_for
from ridgeline.policy.quota import Quota
from ridgeline.policy.roll_neighbours import Autoscaler, Gang


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObject:
    """A node; `namespace` is empty, as for everything that belongs to the cluster."""

    name: str
    uid: str
    resource_version: str
    node: Node
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPod:
    """Any Pod that is bound to a node and has GPUs (or other extended resources) there."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    node: str
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetObject:
    """A PodDisruptionBudget.

    Attributes:
        labels: `matchLabels` of its selector.
        expressions: `matchExpressions` of its selector.
        allowed: Pods that it would let go now.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str]
    expressions: tuple[Requirement, ...]
    allowed: int

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Tell whether Pods with these labels are under it."""
        return all(labels.get(key) == value for key, value in self.labels.items()) and all(
            each.met_by(labels) for each in self.expressions
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecObject:
    """A policy or an accelerator profile: its spec, unparsed."""

    name: str
    uid: str
    resource_version: str
    generation: int
    spec: Json
    namespace: str = ""


@dataclass(slots=True)
class Surroundings:
    """Objects around the targets; a shelf that is not primed holds a kind out of reach.

    Attributes:
        devices: What Pods claim; read only while a target claims any.
        pod_groups: PodGroups by their API group; read only while a target is in one.
        sees_all_pods: Whether the Pods of every namespace are seen, so that GPUs can be counted.
    """

    nodes: Shelf[NodeObject] = field(default_factory=Shelf)
    budgets: GroupedShelf[BudgetObject] = field(
        default_factory=lambda: GroupedShelf(group_of=lambda each: (each.namespace, ""))
    )
    policies: Shelf[SpecObject] = field(default_factory=Shelf)
    accelerators: Shelf[SpecObject] = field(default_factory=Shelf)
    bound: Shelf[BoundPod] = field(default_factory=Shelf)
    quotas: GroupedShelf[QuotaObject] = field(
        default_factory=lambda: GroupedShelf(group_of=lambda each: (each.namespace, ""))
    )
    autoscalers: GroupedShelf[AutoscalerObject] = field(
        default_factory=lambda: GroupedShelf(group_of=lambda each: (each.namespace, each.target))
    )
    devices: Devices = field(default_factory=Devices)
    pod_groups: dict[str, Shelf[PodGroupObject]] = field(
        default_factory=lambda: {group: Shelf() for group in POD_GROUP_VERSIONS}
    )
    sees_all_pods: bool = True
    _pods_on: dict[str, dict[Key, Mapping[str, int]]] = field(default_factory=dict)
    _rooms: Rooms = field(default_factory=Rooms)
    _nodes_taken_over: int = 0
    _policy_listeners: list[Callable[[str, str], None]] = field(default_factory=list)

    @property
    def nodes_readable(self) -> bool:
        """Whether nodes could be listed."""
        return self.nodes.primed

    def listen_to_policies(self, listener: Callable[[str, str], None]) -> None:
        """Call `listener` with namespace and name of every policy that changes."""
        self._policy_listeners.append(listener)

    def put_policy(self, item: SpecObject) -> None:
        """Keep a policy."""
        if self.policies.put(item):
            self._tell(item.namespace, item.name)

    def drop_policy(self, key: Key, uid: str) -> None:
        """Forget a policy."""
        if self.policies.drop(key, uid) is not None:
            self._tell(*key)

    def lay_over_policies(self, mark: int, listed: Iterable[SpecObject]) -> None:
        """Lay a listing of policies over what is known."""
        for namespace, name in self.policies.lay_over(mark, listed):
            self._tell(namespace, name)

    def put_bound(self, item: BoundPod) -> None:
        """Keep a Pod that has GPUs."""
        before = self.bound.get((item.namespace, item.name))
        if self.bound.put(item):
            self._account(before, item)

    def drop_bound(self, key: Key, uid: str) -> None:
        """Forget a Pod that had GPUs; one that had none is not known and stays so."""
        if self.bound.get(key) is not None:
            self._account(self.bound.drop(key, uid), None)

    def lay_over_bound(self, mark: int, listed: Iterable[BoundPod]) -> None:
        """Lay a listing of Pods with GPUs over what is known."""
        before = {(each.namespace, each.name): each for each in self.bound.all()}
        for key in self.bound.lay_over(mark, listed):
            self._account(before.get(key), self.bound.get(key))

    def used(self) -> dict[str, Mapping[str, int]]:
        """Return the extended resources that bound Pods have on each node."""
        return self._rooms.used()

    @property
    def nodes_version(self) -> int:
        """A number that rises when a node is another than before, and not with its heartbeats."""
        return self._rooms_now().version

    def room(self, needs: PodNeeds, occupied: frozenset[str], namespace: str) -> Room:
        """Count how many more Pods with these needs fit; see `room_for`.

        Args:
            needs: What one Pod asks.
            occupied: Nodes on which a Pod of the same target is already.
            namespace: Where the target lies.
        """
        rooms = self._rooms_now()
        if not needs.claims:
            return rooms.room(needs, occupied)
        nodes = (each.node for each in self.nodes.all())
        return room_for(needs, nodes, rooms.used(), occupied, self.devices.count(namespace, needs))

    def no_node_left(self, needs: PodNeeds, occupied: frozenset[str]) -> Room | None:
        """Return that there is no room when anti-affinity alone leaves none, else `None`."""
        return self._rooms_now().full(needs, occupied)

    def budget_over(self, namespace: str, labels: Mapping[str, str]) -> BudgetObject | None:
        """Return the tightest disruption budget over Pods with these labels, if there is one."""
        covering = [each for each in self.budgets.group((namespace, "")) if each.covers(labels)]
        return min(covering, key=lambda each: (each.allowed, each.name), default=None)

    def quotas_in(self, namespace: str) -> tuple[Quota, ...] | None:
        """Return the quotas of a namespace; `None` when they cannot be read."""
        if not self.quotas.primed:
            return None
        return tuple(each.quota for each in self.quotas.group((namespace, "")))

    def autoscaler_of(self, namespace: str, deployment: str) -> Autoscaler | None:
        """Return the autoscaler of a Deployment, the one that is scaling first; `None` without."""
        found = (each.autoscaler for each in self.autoscalers.group((namespace, deployment)))
        return min(found, key=lambda each: (not each.scaling, each.name), default=None)

    @property
    def looked_into(self) -> frozenset[str]:
        """The kinds that are read only while a target needs them, and are read now."""
        found = {group for group, shelf in self.pod_groups.items() if shelf.primed}
        if self.devices.readable:
            found.add(self.devices.group_version)
        return frozenset(found)

    def gang_told(self, namespace: str, gang: Gang | None) -> Gang | None:
        """Return a gang with the number that its PodGroup tells, as far as that can be read."""
        if gang is None or not gang.group:
            return gang
        found = self.pod_groups[gang.group].get((namespace, gang.name))
        if found is None or found.least is None:
            return gang
        return replace(gang, least=found.least)

    def _account(self, before: BoundPod | None, after: BoundPod | None) -> None:
        if before is not None:
            pods = self._pods_on.get(before.node, {})
            pods.pop((before.namespace, before.name), None)
            if not pods:
                self._pods_on.pop(before.node, None)
        if after is not None:
            pods = self._pods_on.setdefault(after.node, {})
            pods[(after.namespace, after.name)] = after.requests
        for node in {each.node for each in (before, after) if each is not None}:
            self._rooms.see_used(node, _total(self._pods_on.get(node, {}).values()))

    def _rooms_now(self) -> Rooms:
        if self._nodes_taken_over != self.nodes.changes:
            self._rooms.see_nodes(each.node for each in self.nodes.all())
            self._nodes_taken_over = self.nodes.changes
        return self._rooms

    def _tell(self, namespace: str, name: str) -> None:
        for listener in self._policy_listeners:
            listener(namespace, name)


def _total(requests: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in requests:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def trim_node(body: Json) -> NodeObject:
    """Trim a node."""
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    ready = any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    return NodeObject(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        node=Node(
            name=metadata["name"],
            labels=dict(metadata.get("labels") or {}),
            taints=tuple(
                Taint(key=each["key"], value=each.get("value", ""), effect=each["effect"])
                for each in spec.get("taints") or ()
            ),
            usable=ready and not spec.get("unschedulable", False),
            allocatable=extended_resources(status.get("allocatable") or {}),
        ),
    )


def trim_bound(body: Json) -> BoundPod | None:
    """Trim a Pod to the GPUs that it keeps; `None` when it keeps none.

    A Pod that is being deleted keeps its GPUs until its containers are gone.
    """
    metadata, spec = body["metadata"], body.get("spec") or {}
    node, requests = spec.get("nodeName"), requests_of(spec)
    ended = (body.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if not node or not requests or ended:
        return None
    return BoundPod(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        node=intern(node),
        requests=shared_amounts(requests),
    )


def trim_budget(body: Json) -> BudgetObject:
    """Trim a PodDisruptionBudget."""
    metadata, selector = body["metadata"], (body.get("spec") or {}).get("selector") or {}
    return BudgetObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        labels=dict(selector.get("matchLabels") or {}),
        expressions=requirements_of(selector.get("matchExpressions")),
        allowed=int((body.get("status") or {}).get("disruptionsAllowed") or 0),
    )


def trim_spec(body: Mapping[str, Any]) -> SpecObject:
    """Trim a policy or an accelerator profile."""
    metadata = body["metadata"]
    return SpecObject(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=metadata.get("generation", 0),
        spec=dict(body.get("spec") or {}),
    )
