"""From a serving's status and the fleet's numbers to a frame; the same for both kinds of demo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.demo.frame import Frame, Replica
from tests.demo.scenario import Scenario

Document = Mapping[str, Any]
Metric = Callable[[str], float | None]
"""Gives a metric of the serving, by its name in the operator's own metrics."""


def frame_of(
    scenario: Scenario,
    status: Document,
    metric: Metric,
    replicas: tuple[Replica, ...],
    elapsed_s: float,
) -> Frame:
    """Return what one look shows."""
    tpot = metric("ridgeline_serving_tpot_seconds")
    decision = status.get("lastDecision") or {}
    rollout = status.get("rollout") or {}
    return Frame(
        elapsed_s=elapsed_s,
        phase=scenario.title,
        users=scenario.users,
        active=status.get("activeProfile"),
        desired=status.get("desiredProfile"),
        rollout=_rollout(rollout),
        rolling=rollout.get("state") in ("Intended", "Rolling"),
        cutoff=_cutoff(status),
        reason=decision.get("reason", "-"),
        message=decision.get("message", ""),
        concurrency=metric("ridgeline_serving_concurrency"),
        tokens_per_s=metric("ridgeline_serving_tokens_per_second"),
        tpot_ms=None if tpot is None else 1000.0 * tpot,
        finished=tuple(
            each["to"] for each in status.get("switchHistory") or () if "finishTime" in each
        ),
        replicas=replicas,
    )


def _cutoff(status: Document) -> str:
    rows = status.get("cutoffTable") or ()
    row = next((each for each in rows if "upToConcurrency" in each), None)
    if row is None:
        return "-"
    band = f" ({row['bandLow']}–{row.get('bandHigh', '…')})" if "bandLow" in row else ""
    return f"{row['upToConcurrency']}{band}"


def _rollout(rollout: Document) -> str:
    if not rollout:
        return ""
    return (
        f"{rollout.get('from', '?')} → {rollout['to']} {rollout['state']}, "
        f"{rollout['updatedReplicas']}/{rollout['replicas']} updated, "
        f"{rollout['availableReplicas']} available"
    )
