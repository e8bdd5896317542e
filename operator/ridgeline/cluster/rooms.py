"""Free places on nodes for each kind of Pod, counted once and then brought up to date.

A count is over all nodes. Thousands of targets ask for one in every tick, while few nodes change;
so what changed is kept as a list, and a count that was made before goes through what came after it
alone:

    count ← count + Σ (places on the node after the change − places on it before)

It is the same number as a count from scratch (`policy.placement.room_for`).
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.policy.placement import (
    UNCOUNTED,
    Node,
    PodNeeds,
    Room,
    all_taken,
    counted_room,
    places_on,
)

MOST_KINDS: Final = 4096
"""Kinds of Pods that are counted for; beyond, all counts are made anew."""

MOST_CHANGES: Final = 4096
"""Changes that are kept; who has counted before them counts from scratch."""

_NOTHING: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class _State:
    """A node, `None` while it is not known, and what its Pods have of it."""

    node: Node | None
    used: Mapping[str, int]


@dataclass(slots=True)
class _Count:
    """Nodes that a kind of Pod may go to, and free places there, after so many changes."""

    suitable: int
    pods: int
    at: int


@dataclass(slots=True)
class Rooms:
    """Nodes as they are now, and counts as of some change."""

    version: int = 0
    _nodes: dict[str, Node] = field(default_factory=dict)
    _used: dict[str, Mapping[str, int]] = field(default_factory=dict)
    _changes: list[tuple[_State, _State]] = field(default_factory=list)
    _forgotten: int = 0
    _counts: dict[Hashable, _Count] = field(default_factory=dict)

    def see_nodes(self, nodes: Iterable[Node]) -> None:
        """Take over the nodes that there are; `version` rises when one is another than before."""
        seen = {node.name: node for node in nodes}
        for name in self._nodes.keys() - seen.keys():
            self._change_node(name, None)
        for name, node in seen.items():
            before = self._nodes.get(name)
            if before is not node and before != node:
                self._change_node(name, node)

    def see_used(self, name: str, used: Mapping[str, int]) -> None:
        """Take over what the Pods on a node have of it."""
        before = self._state(name)
        self._used[name] = used
        if not used:
            del self._used[name]
        self._note(before, self._state(name))

    def used(self) -> dict[str, Mapping[str, int]]:
        """Return the extended resources that Pods have, by node."""
        return dict(self._used)

    def full(self, needs: PodNeeds, occupied: frozenset[str]) -> Room | None:
        """Return that there is no room when anti-affinity alone leaves none, else `None`.

        Args:
            needs: What one Pod asks.
            occupied: Nodes on which a Pod of the same target is already.
        """
        if not needs.alone_on_node:
            return None
        count, taken = self._count(needs), self._taken(needs, occupied)
        return all_taken(count.suitable) if 0 < count.suitable == len(taken) else None

    def room(self, needs: PodNeeds, occupied: frozenset[str]) -> Room:
        """Count how many more Pods fit that claim no devices; see `room_for`.

        Args:
            needs: What one Pod asks.
            occupied: Nodes on which a Pod of the same target is already.
        """
        full = self.full(needs, occupied)
        if full is not None:
            return full
        if not needs.requests:
            return UNCOUNTED
        count = self._count(needs)
        pods = count.pods
        if needs.alone_on_node:
            pods -= sum(_places(needs, state)[1] for state in self._taken(needs, occupied))
        return counted_room(needs, count.suitable, pods)

    def _taken(self, needs: PodNeeds, occupied: frozenset[str]) -> list[_State]:
        """Return the suitable nodes among the occupied ones."""
        states = (self._state(name) for name in occupied)
        return [each for each in states if each.node is not None and needs.allows(each.node)]

    def _count(self, needs: PodNeeds) -> _Count:
        key, now = _kind_of(needs), self._forgotten + len(self._changes)
        count = self._counts.get(key)
        if count is None or count.at < self._forgotten:
            if len(self._counts) >= MOST_KINDS:
                self._counts.clear()
            places = [_places(needs, self._state(name)) for name in self._nodes]
            count = self._counts[key] = _Count(
                suitable=sum(suitable for suitable, _ in places),
                pods=sum(pods for _, pods in places),
                at=now,
            )
        for before, after in self._changes[count.at - self._forgotten :]:
            (nodes_before, pods_before), (nodes, pods) = (
                _places(needs, before),
                _places(needs, after),
            )
            count.suitable += nodes - nodes_before
            count.pods += pods - pods_before
        count.at = now
        return count

    def _change_node(self, name: str, node: Node | None) -> None:
        before = self._state(name)
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        self.version += 1
        self._note(before, self._state(name))

    def _state(self, name: str) -> _State:
        return _State(self._nodes.get(name), self._used.get(name, _NOTHING))

    def _note(self, before: _State, after: _State) -> None:
        if before == after:
            return
        if len(self._changes) >= MOST_CHANGES:
            self._forgotten += len(self._changes)
            self._changes.clear()
        self._changes.append((before, after))


def _places(needs: PodNeeds, state: _State) -> tuple[int, int]:
    """Return 1 for a suitable node and 0 for any other, and the free places there."""
    node = state.node
    if node is None or not needs.allows(node):
        return 0, 0
    return 1, places_on(node, needs, state.used) if needs.requests else 0


def _kind_of(needs: PodNeeds) -> Hashable:
    """Return what is the same for needs that count alike."""
    return (
        tuple(sorted(needs.node_selector.items())),
        needs.affinity_terms,
        needs.tolerations,
        tuple(sorted(needs.requests.items())),
        needs.alone_on_node,
    )
