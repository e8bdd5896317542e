"""How a roll of a target would go: from the target, its Pods and what surrounds them."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from ridgeline.cluster.objects import PodObject
from ridgeline.cluster.parents import adapter_of, why_not
from ridgeline.cluster.protection import own_protection
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.engine.flags import shutdown_timeout_seconds
from ridgeline.engine.version import version_of_image
from ridgeline.policy.placement import Room
from ridgeline.policy.quota import quota_room
from ridgeline.policy.roll_neighbours import ProtectedPod
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.terms.parents import ParentKind

LONGEST_START_SECONDS: Final = 3600.0
"""A Pod that became Ready later than this after its start had lost its readiness meanwhile."""

FIRST_TO_DRAIN: Final = (0, 18)
"""The first vLLM release with `--shutdown-timeout` (vllm-project/vllm PR 34730)."""


def roll_plan(
    target: ResolvedTarget,
    pods: tuple[PodObject, ...],
    around: Surroundings | None,
    *,
    learned_starts: Mapping[str, float] | None = None,
    longest_answer_seconds: float | None = None,
    parents: Collection[ParentKind] = (),
) -> RollPlan:
    """Return what decides how a roll of a target goes.

    Args:
        target: The target.
        pods: Its Pods.
        around: What surrounds it, as far as it can be read.
        learned_starts: Seconds that a start took, by profile.
        longest_answer_seconds: How long its longest answers take; `None` when not known.
        parents: Kinds of parents that are written instead of the Deployments that they made.
    """
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
        drain_seconds=pre_stop + _shutdown_seconds(target.container.words),
        start_seconds_by_profile=learned_starts or {},
        drains=_drains(target.container.image),
        longest_answer_seconds=longest_answer_seconds,
        quota=_quota(target, around),
        autoscaler=around.autoscaler_of(deployment.namespace, deployment.name) if around else None,
        gang=around.gang_told(deployment.namespace, shape.gang) if around else shape.gang,
        protected=_protected(pods, shape.protected_by),
        owner=shape.owner,
        through_owner=adapter_of(shape.parent, deployment.name, parents) is not None,
        owner_note=why_not(shape.parent, deployment.name, parents),
        unread=_unread(around),
    )


def _room(target: ResolvedTarget, pods: tuple[PodObject, ...], around: Surroundings | None) -> Room:
    deployment, needs = target.deployment, target.deployment.shape.needs
    unknown = Room(
        pods=None, why="free GPUs cannot be counted without the right to read nodes and all Pods"
    )
    if around is None or not around.nodes_readable:
        return unknown
    occupied = frozenset(pod.node for pod in pods if pod.node is not None)
    if not around.sees_all_pods:
        return around.no_node_left(needs, occupied) or unknown
    return around.room(needs, occupied, deployment.namespace)


def _quota(target: ResolvedTarget, around: Surroundings | None) -> Room:
    quotas = around.quotas_in(target.deployment.namespace) if around is not None else None
    if quotas is None:
        return Room(pods=None, why="not known: ResourceQuotas cannot be read")
    deployment, cost = target.deployment, target.deployment.shape.cost
    if around is not None and deployment.shape.needs.claims:
        cost = cost.with_claims(
            len(deployment.shape.needs.claims),
            around.devices.asked(deployment.namespace, deployment.shape.needs),
        )
    return quota_room(quotas, cost)


def _protected(pods: tuple[PodObject, ...], by_template: str | None) -> tuple[ProtectedPod, ...]:
    """Return the live Pods that somebody asks not to disrupt, beyond what their template says."""
    found = (
        (pod.name, own_protection(pod.protected_by, by_template))
        for pod in pods
        if pod.protected_by is not None and not pod.deleting
    )
    return tuple(ProtectedPod(name=name, by=by) for name, by in found if by is not None)


def _unread(around: Surroundings | None) -> tuple[str, ...]:
    shelves = {
        "PodDisruptionBudgets": around is not None and around.budgets.primed,
        "ResourceQuotas": around is not None and around.quotas.primed,
        "HorizontalPodAutoscalers": around is not None and around.autoscalers.primed,
    }
    return tuple(kind for kind, readable in shelves.items() if not readable)


@lru_cache(maxsize=4096)
def _shutdown_seconds(words: tuple[str, ...]) -> float:
    return shutdown_timeout_seconds(words)


@lru_cache(maxsize=4096)
def _drains(image: str) -> bool | None:
    version = version_of_image(image)
    if version is None:
        return None
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) >= FIRST_TO_DRAIN


def _start_seconds(pods: tuple[PodObject, ...]) -> float | None:
    """Return the shortest start seen: one that lost its readiness once looks slower than it was."""
    starts = [
        pod.ready_since - pod.started_at
        for pod in pods
        if pod.ready_since is not None and pod.started_at is not None and not pod.deleting
    ]
    return min((each for each in starts if 0 <= each <= LONGEST_START_SECONDS), default=None)
