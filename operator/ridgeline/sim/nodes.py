"""The nodes of a simulated cluster: which of them has room for one more Pod.

Only what decides for GPU servers is looked at: selectors, taints, readiness, one-per-node
anti-affinity and extended resources. A cluster without any node is one where nodes do not matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ridgeline.cluster.shape import TargetShape
from ridgeline.policy.placement import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a Pod has on its node, until it is gone.

    Attributes:
        node: Name of the node.
        target: Namespace and name of its Deployment; empty for a stranger's Pod.
        requests: Extended resources.
    """

    node: str
    target: tuple[str, str]
    requests: dict[str, int]


@dataclass(slots=True)
class SimulatedNodes:
    """Nodes, and what others than the simulated Deployments have on them.

    Attributes:
        nodes: By name.
        strangers: Extended resources in use on each node by Pods that are not simulated.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    strangers: dict[str, dict[str, int]] = field(default_factory=dict)

    def place(
        self, shape: TargetShape, target: tuple[str, str], bound: Iterable[Bound]
    ) -> tuple[str, str]:
        """Find a node for one more Pod of a target.

        Returns:
            The node's name and an empty text, or an empty name and what the scheduler says.
        """
        if not self.nodes:
            return "", ""
        used = {name: dict(mine) for name, mine in self.strangers.items()}
        occupied = set()
        for each in bound:
            total = used.setdefault(each.node, {})
            for name, count in each.requests.items():
                total[name] = total.get(name, 0) + count
            if each.target == target:
                occupied.add(each.node)
        reasons: dict[str, int] = {}
        for node in self.nodes.values():
            reason = _refusal(shape, node, used.get(node.name, {}), node.name in occupied)
            if not reason:
                return node.name, ""
            reasons[reason] = reasons.get(reason, 0) + 1
        counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        return "", f"0/{len(self.nodes)} nodes are available: {counted}."


def _refusal(shape: TargetShape, node: Node, used: dict[str, int], occupied: bool) -> str:
    """Return why a Pod cannot go to a node; empty when it can."""
    needs = shape.needs
    if not needs.allows(node):
        return "node(s) didn't match Pod's node affinity/selector"
    if needs.alone_on_node and occupied:
        return "node(s) didn't match pod anti-affinity rules"
    for name, count in needs.requests.items():
        if node.allocatable.get(name, 0) - used.get(name, 0) < count:
            return f"Insufficient {name}"
    return ""
