"""How a roll of a target would go: from the target, its Pods and what surrounds them."""

from typing import Final

from ridgeline.cluster.objects import PodObject
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.engine.flags import shutdown_timeout_seconds
from ridgeline.policy.placement import Room, room_for
from ridgeline.policy.roll_plan import RollPlan

LONGEST_START_SECONDS: Final = 3600.0
"""A Pod that became Ready later than this after its start had lost its readiness meanwhile."""


def roll_plan(
    target: ResolvedTarget, pods: tuple[PodObject, ...], around: Surroundings | None
) -> RollPlan:
    """Return what decides how a roll of a target goes."""
    deployment, shape = target.deployment, target.deployment.shape
    timing = shape.timing.get(target.container.name)
    budget = None
    if around is not None:
        budget = around.budget_over(deployment.namespace, shape.labels)
    pre_stop = timing.pre_stop if timing else 0.0
    return RollPlan(
        replicas=deployment.replicas,
        recreate=shape.recreate,
        max_surge=shape.max_surge,
        max_unavailable=shape.max_unavailable,
        room=_room(target, pods, around),
        disruptions_allowed=budget.allowed if budget else None,
        budget_name=budget.name if budget else "",
        startup_budget_seconds=timing.start_budget if timing else None,
        progress_deadline_seconds=shape.progress_deadline,
        start_seconds=_start_seconds(pods),
        grace_seconds=shape.grace,
        drain_seconds=pre_stop + shutdown_timeout_seconds(target.container.words),
    )


def _room(target: ResolvedTarget, pods: tuple[PodObject, ...], around: Surroundings | None) -> Room:
    if around is None or not around.nodes_readable or not around.sees_all_pods:
        return Room(
            pods=None,
            why="free GPUs cannot be counted without the right to read nodes and all Pods",
        )
    return room_for(
        target.deployment.shape.needs,
        (each.node for each in around.nodes.all()),
        around.used(),
        frozenset(pod.node for pod in pods if pod.node is not None),
    )


def _start_seconds(pods: tuple[PodObject, ...]) -> float | None:
    """Return the shortest start seen: one that lost its readiness once looks slower than it was."""
    starts = [
        pod.ready_since - pod.started_at
        for pod in pods
        if pod.ready_since is not None and pod.started_at is not None and not pod.deleting
    ]
    return min((each for each in starts if 0 <= each <= LONGEST_START_SECONDS), default=None)
