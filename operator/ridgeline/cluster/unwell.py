"""What kubelet and scheduler tell of a Pod that does not serve, trimmed. Calls nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.times import epoch
from ridgeline.policy.pod_start import Exit

Json = Mapping[str, Any]

_TEXT_LIMIT: Final = 4096
"""The kubelet keeps no more of a container's last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwell:
    """What is known of a Pod that is not Ready, or has crashed since it was made.

    Attributes:
        made_at: Epoch seconds.
        unschedulable: The scheduler's message, `None` when it has none.
        waiting_reason: Why a container waits, in the kubelet's word.
        waiting_message: The same in its words.
        restarts: How often a container was started again.
        last_exit: How that one ended last.
    """

    made_at: float
    unschedulable: str | None = None
    waiting_reason: str | None = None
    waiting_message: str = ""
    restarts: int = 0
    last_exit: Exit | None = None


def trim_unwell(metadata: Json, status: Json) -> Unwell | None:
    """Trim what is known of a Pod that is not Ready or has crashed; `None` for one that is well."""
    containers = status.get("containerStatuses") or ()
    restarts = max((int(each.get("restartCount") or 0) for each in containers), default=0)
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    ready = (conditions.get("Ready") or {}).get("status") == "True"
    if (ready and restarts == 0) or "creationTimestamp" not in metadata:
        return None
    waiting = next((w for each in containers if (w := _waiting(each)) is not None), {})
    scheduled = conditions.get("PodScheduled") or {}
    return Unwell(
        made_at=epoch(metadata["creationTimestamp"]),
        unschedulable=_text(scheduled.get("message"))
        if scheduled.get("status") == "False"
        else None,
        waiting_reason=waiting.get("reason"),
        waiting_message=_text(waiting.get("message")),
        restarts=restarts,
        last_exit=next((e for each in containers if (e := _exit(each)) is not None), None),
    )


def _waiting(container: Json) -> Json | None:
    waiting: Json | None = (container.get("state") or {}).get("waiting")
    usual = (None, "ContainerCreating", "PodInitializing")
    return waiting if waiting and waiting.get("reason") not in usual else None


def _exit(container: Json) -> Exit | None:
    """Return how a container ended last: just now, or before it was started again."""
    states = (container.get("state") or {}, container.get("lastState") or {})
    ended = next((found for each in states if (found := each.get("terminated"))), None)
    if ended is None:
        return None
    started, finished = ended.get("startedAt"), ended.get("finishedAt")
    return Exit(
        code=int(ended.get("exitCode") or 0),
        reason=str(ended.get("reason") or ""),
        message=_text(ended.get("message")),
        ran_seconds=max(0.0, epoch(finished) - epoch(started)) if started and finished else None,
    )


def _text(value: object) -> str:
    return str(value or "")[:_TEXT_LIMIT]
