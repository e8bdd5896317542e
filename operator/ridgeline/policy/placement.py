"""Where one more Pod of a target could go: nodes, what they have left, and who may go there.

It follows the scheduler's filters as far as they decide for GPU servers: readiness, cordons, node
selector, required node affinity, taints, one-per-node anti-affinity and extended resources
(GPUs). CPU, memory and volumes are left to the scheduler: GPUs are what runs out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

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
class PodNeeds:
    """What the Pods of a target ask of a node.

    Attributes:
        node_selector: Labels that the node must have.
        affinity_terms: Required node affinity: one of the terms must hold, each of its
            requirements; empty for none.
        tolerations: Taints that the Pods may ignore.
        requests: Extended resources of one Pod.
        alone_on_node: Whether a required anti-affinity keeps two of them off one node.
        claims: Whether they claim devices (Dynamic Resource Allocation), which nobody counts here.
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity_terms: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    alone_on_node: bool = False
    claims: bool = False

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
    """

    pods: int | None
    why: str


def room_for(
    needs: PodNeeds,
    nodes: Iterable[Node],
    used: Mapping[str, Mapping[str, int]],
    occupied: frozenset[str],
) -> Room:
    """Count how many more Pods with these needs fit.

    Args:
        needs: What one Pod asks.
        nodes: All nodes.
        used: Extended resources that bound Pods have on each node.
        occupied: Nodes on which a Pod of the same target is already.
    """
    if needs.claims:
        return Room(pods=None, why="the Pods claim devices (DRA), which are not counted")
    if not needs.requests:
        return Room(pods=None, why="the Pods ask for no GPU, so none is counted")
    suitable = [node for node in nodes if needs.allows(node)]
    pods = 0
    for node in suitable:
        if needs.alone_on_node and node.name in occupied:
            continue
        here = min(
            (node.allocatable.get(name, 0) - used.get(node.name, {}).get(name, 0)) // count
            for name, count in needs.requests.items()
        )
        pods += min(max(here, 0), 1) if needs.alone_on_node else max(here, 0)
    asked = ", ".join(f"{count} × {name}" for name, count in sorted(needs.requests.items()))
    return Room(
        pods=pods,
        why=f"{len(suitable)} suitable nodes have room for {pods} more Pods ({asked} each)",
    )


def _compares(value: str | None, operator: str, values: tuple[str, ...]) -> bool:
    try:
        left, right = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
