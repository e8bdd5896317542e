"""What the Deployment controller does to the ReplicaSets of a Deployment: sizes, nothing else.

The rules, as the controller documents them (kubernetes.io, Deployments; the controller's own
comments in `pkg/controller/deployment`):

- A ReplicaSet belongs to a template. A template that was there before finds its ReplicaSet, with
  the Pods that this still has; only its revision is new.
- Rolling: the newest grows up to replicas, as far as all together stay within replicas + maxSurge.
  Then the others shrink: first Pods that are not available, as far as the unavailable Pods of the
  newest leave room for it, then available ones, as long as replicas - maxUnavailable stay.
- Paused: no ReplicaSet is made, and nothing rolls. Scaling goes on.
- Scaled, while paused or in the middle of a roll: what is added or taken away (up to replicas +
  maxSurge in all) is shared between the ReplicaSets that have Pods, by their sizes; what rounding
  leaves goes to the largest. A single one just gets the replicas, without a surge.
- Recreate: the newest gets nothing before every Pod of the others is gone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.sim.template import Template


@dataclass(slots=True, kw_only=True)
class ReplicaSet:
    """The Pods of one template.

    Attributes:
        template: Its template.
        revision: Grows with each template that becomes the newest; order of creation too.
        size: Pods that it is to have (`spec.replicas`).
        available: Pods of it that are available.
        desired: The Deployment's replicas when its size was last looked at.
        most: The same with maxSurge: what shares are reckoned from.
        marker: The Deployment's own annotation when this was the newest.
    """

    template: Template
    revision: int
    size: int = 0
    available: int = 0
    desired: int = 0
    most: int = 0
    marker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a rolling update, in Pods."""

    replicas: int
    max_surge: int
    max_unavailable: int

    @property
    def most(self) -> int:
        """Pods that there may be at most."""
        return self.replicas + self.max_surge if self.replicas > 0 else 0

    @property
    def fewest(self) -> int:
        """Available Pods that there must be at least."""
        return self.replicas - self.max_unavailable


def is_scaled(sets: Sequence[ReplicaSet], replicas: int) -> bool:
    """Tell whether the replicas changed since the sizes were last looked at."""
    return any(each.size > 0 and each.desired != replicas for each in sets)


def scale(sets: Sequence[ReplicaSet], newest: ReplicaSet | None, limits: Limits) -> None:
    """Scale without rolling: when paused, or when the replicas changed."""
    active = [each for each in sets if each.size > 0]
    if len(active) <= 1:
        only = active[0] if active else newest or max(sets, key=lambda each: each.revision)
        only.size = limits.replicas
    elif newest is not None and newest.size == newest.available == limits.replicas:
        for each in active:
            each.size = limits.replicas if each is newest else 0
    else:
        _share(active, limits)
    for each in sets:
        if each.size > 0:
            each.desired, each.most = limits.replicas, limits.replicas + limits.max_surge


def _share(active: list[ReplicaSet], limits: Limits) -> None:
    """Share what is missing or too much between ReplicaSets, by their sizes."""
    missing = limits.most - sum(each.size for each in active)
    # Of equal ones the newer grows first, and the older shrinks first.
    newer_first = -1 if missing > 0 else 1
    active.sort(key=lambda each: (-each.size, newer_first * each.revision))
    given, parts = 0, []
    for each in active:
        part = _part(each, limits, missing - given, missing)
        parts.append(part)
        given += part
    parts[0] += missing - given
    for each, part in zip(active, parts, strict=True):
        each.size = max(0, each.size + part)


def _part(each: ReplicaSet, limits: Limits, left: int, missing: int) -> int:
    if limits.replicas == 0:
        part = -each.size
    elif each.most == 0:
        part = 0
    else:
        grown = each.size * (limits.replicas + limits.max_surge) / each.most
        part = math.floor(grown + 0.5) - each.size
    return min(part, left) if missing > 0 else max(part, left) if missing < 0 else 0


def grow_newest(sets: Sequence[ReplicaSet], newest: ReplicaSet, limits: Limits) -> bool:
    """Grow (or cut) the newest ReplicaSet as far as it may; tell whether its size changed."""
    before = newest.size
    if before > limits.replicas:
        newest.size = limits.replicas
    elif before < limits.replicas:
        room = limits.replicas + limits.max_surge - sum(each.size for each in sets)
        newest.size += max(0, min(room, limits.replicas - before))
    return newest.size != before


def shrink_others(sets: Sequence[ReplicaSet], newest: ReplicaSet, limits: Limits) -> bool:
    """Shrink the ReplicaSets that are not the newest; tell whether a size changed."""
    others = sorted(
        (each for each in sets if each is not newest and each.size > 0),
        key=lambda each: each.revision,
    )
    unavailable = newest.size - newest.available
    spare = sum(each.size for each in sets) - limits.fewest - unavailable
    if not others or spare <= 0:
        return False
    taken = 0
    for each in others:
        idle = min(spare - taken, max(0, each.size - each.available))
        each.size -= idle
        taken += idle
    # Sizes that were cut above lost Pods that were not available.
    available = sum(min(each.available, each.size) for each in sets)
    spare = available - limits.fewest
    for each in others:
        cut = min(each.size, max(0, spare))
        each.size -= cut
        spare -= cut
        taken += cut
    return taken > 0


def recreate(
    sets: Sequence[ReplicaSet], newest: ReplicaSet, limits: Limits, *, others_gone: bool
) -> bool:
    """Take every old Pod away, then make the new ones; tell whether a size changed."""
    others = [each for each in sets if each is not newest and each.size > 0]
    for each in others:
        each.size = 0
    if others:
        return True
    before = newest.size
    if others_gone:
        newest.size = limits.replicas
    return newest.size != before
