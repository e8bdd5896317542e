"""Where one more Pod of a target could go: nodes, what they have left, and who may go there.

It follows the scheduler's filters as far as they decide for GPU servers: readiness, cordons, node
selector, required node affinity, taints, one-per-node anti-affinity, extended resources (GPUs) and
claimed devices (`devices`). CPU, memory and volumes are left to the scheduler: GPUs are what runs
out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.policy.devices import DeviceCount

_BLOCKING: Final = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One expression of a label selector or a node affinity term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def met_by(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels satisfy it; an operator that is not known is never satisfied."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return _compares(value, self.operator, self.values)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration of a Pod; empty key and effect stand for all."""

    key: str
    operator: str
    value: str
    effect: str

    def covers(self, taint: Taint) -> bool:
        """Tell whether a Pod with it may ignore a taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or self.value == taint.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as the scheduler sees it.

    Attributes:
        name: Its name.
        labels: Its labels.
        taints: Its taints.
        usable: Whether it is Ready and not cordoned.
        allocatable: Extended resources (names with a `/`) that Pods can have.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    usable: bool = True
    allocatable: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaim:
    """A claim of devices in a Pod template.

    Attributes:
        template: ResourceClaimTemplate from which each Pod gets a claim of its own; empty for none.
        shared: ResourceClaim that all Pods share; empty for none.
    """

    template: str = ""
    shared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNeeds:
    """What the Pods of a target ask of a node.

    Attributes:
        node_selector: Labels that the node must have.
        affinity_terms: Required node affinity: one of the terms must hold, each of its
            requirements; empty for none.
        tolerations: Taints that the Pods may ignore.
        requests: Extended resources of one Pod.
        alone_on_node: Whether a required anti-affinity keeps two of them off one node.
        claims: What they claim of devices (Dynamic Resource Allocation).
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity_terms: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    alone_on_node: bool = False
    claims: tuple[PodClaim, ...] = ()

    def allows(self, node: Node) -> bool:
        """Tell whether the scheduler would consider a node at all."""
        return (
            node.usable
            and all(node.labels.get(key) == value for key, value in self.node_selector.items())
            and self._affine(node)
            and all(self._tolerates(taint) for taint in node.taints if taint.effect in _BLOCKING)
        )

    def fits(self, node: Node) -> bool:
        """Tell whether an empty node has what one Pod asks for."""
        return all(node.allocatable.get(name, 0) >= count for name, count in self.requests.items())

    def _affine(self, node: Node) -> bool:
        if not self.affinity_terms:
            return True
        return any(
            all(requirement.met_by(node.labels) for requirement in term)
            for term in self.affinity_terms
        )

    def _tolerates(self, taint: Taint) -> bool:
        return any(each.covers(taint) for each in self.tolerations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many more Pods of a target could be scheduled now.

    Attributes:
        pods: That many; `None` when it cannot be told.
        why: The count in words, or why there is none.
        gpu_helps: Whether GPUs that others free would make room.
    """

    pods: int | None
    why: str
    gpu_helps: bool = True


def no_node_left(needs: PodNeeds, nodes: Iterable[Node], occupied: frozenset[str]) -> Room | None:
    """Return that there is no room when anti-affinity alone leaves none, else `None`.

    It needs no count of GPUs or devices, and no look at the Pods of others.

    Args:
        needs: What one Pod asks.
        nodes: All nodes.
        occupied: Nodes on which a Pod of the same target is already.
    """
    if not needs.alone_on_node:
        return None
    suitable = [node.name for node in nodes if needs.allows(node)]
    if not (suitable and occupied.issuperset(suitable)):
        return None
    return all_taken(len(suitable))


def all_taken(suitable: int) -> Room:
    """Return that anti-affinity leaves none of so many suitable nodes."""
    return Room(
        pods=0,
        why=f"{suitable} suitable nodes have room for 0 more Pods (each has one already, and "
        "the Pods' required anti-affinity lets no two share a node)",
        gpu_helps=False,
    )


def room_for(
    needs: PodNeeds,
    nodes: Iterable[Node],
    used: Mapping[str, Mapping[str, int]],
    occupied: frozenset[str],
    devices: DeviceCount | None = None,
) -> Room:
    """Count how many more Pods with these needs fit.

    Args:
        needs: What one Pod asks.
        nodes: All nodes.
        used: Extended resources that bound Pods have on each node.
        occupied: Nodes on which a Pod of the same target is already.
        devices: How many Pods each node has claimed devices for; not looked at without claims.
    """
    nodes = tuple(nodes)
    full = no_node_left(needs, nodes, occupied)
    if full is not None:
        return full
    if needs.claims and (devices is None or devices.pods is None):
        why = devices.why if devices is not None else "nothing is known of them"
        return Room(pods=None, why=f"not known: the Pods claim devices (DRA), and {why}")
    if not needs.requests and not needs.claims:
        return UNCOUNTED
    claimed = devices if needs.claims else None
    suitable = [node for node in nodes if needs.allows(node)]
    pods = sum(
        places_on(node, needs, used.get(node.name, {}), claimed)
        for node in suitable
        if not (needs.alone_on_node and node.name in occupied)
    )
    return counted_room(needs, len(suitable), pods, claimed)


UNCOUNTED: Final = Room(pods=None, why="the Pods ask for no GPU, so none is counted")


def counted_room(
    needs: PodNeeds, suitable: int, pods: int, claimed: DeviceCount | None = None
) -> Room:
    """Return a count in words.

    Args:
        needs: What one Pod asks.
        suitable: Nodes that the scheduler would consider.
        pods: Pods that they have room for.
        claimed: The count of claimed devices that went into it.
    """
    asked = ", ".join(f"{count} × {name}" for name, count in sorted(needs.requests.items()))
    if claimed is not None:
        asked = f"{asked}, {claimed.why}" if asked else claimed.why
    return Room(
        pods=pods, why=f"{suitable} suitable nodes have room for {pods} more Pods ({asked} each)"
    )


def places_on(
    node: Node, needs: PodNeeds, used: Mapping[str, int], devices: DeviceCount | None = None
) -> int:
    """Return how many Pods more a suitable node takes that has none of the target yet.

    It is what the node has the GPUs and the claimed devices for, and one at most where no two
    share a node.
    """
    here = max(0, _fitting(node, needs, used, devices))
    return min(here, 1) if needs.alone_on_node else here


def _fitting(
    node: Node, needs: PodNeeds, used: Mapping[str, int], devices: DeviceCount | None
) -> int:
    counts = [
        (node.allocatable.get(name, 0) - used.get(name, 0)) // count
        for name, count in needs.requests.items()
    ]
    if devices is not None:
        counts.append((devices.pods or {}).get(node.name, 0))
    return min(counts)


def _compares(value: str | None, operator: str, values: tuple[str, ...]) -> bool:
    try:
        left, right = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
