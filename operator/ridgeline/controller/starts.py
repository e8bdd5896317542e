"""How the Pods of a target start, from what is kept of them."""

from ridgeline.cluster.objects import PodObject
from ridgeline.policy.pod_start import PodStart


def pod_starts(pods: tuple[PodObject, ...], now: float) -> tuple[PodStart, ...]:
    """Return the Pods that are not well, and not on their way out."""
    return tuple(
        PodStart(
            name=pod.name,
            profile=pod.profile,
            age_seconds=max(0.0, now - pod.unwell.made_at),
            bound=pod.node is not None,
            unschedulable=pod.unwell.unschedulable,
            waiting_reason=pod.unwell.waiting_reason,
            waiting_message=pod.unwell.waiting_message,
            restarts=pod.unwell.restarts,
            last_exit=pod.unwell.last_exit,
        )
        for pod in pods
        if pod.unwell is not None and not pod.deleting
    )
