"""Metrics of what a status says: why a serving is stalled, and where the law acts."""

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ridgeline.terms.conditions import ConditionType

_SERVING: Final = ("namespace", "serving")

Document = Mapping[str, Any]


class StatusMetrics:
    """Told anew from every status, so that they never differ from it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._stalled = Gauge(
            "ridgeline_serving_stalled",
            "1 while a serving waits for a person, by reason.",
            [*_SERVING, "reason"],
            registry=registry,
        )
        self._act_at = Gauge(
            "ridgeline_serving_act_at_concurrency",
            "Concurrency at which the law leaves each profile for the next busier one.",
            [*_SERVING, "profile"],
            registry=registry,
        )
        self.rejected = Counter(
            "ridgeline_specs_rejected_total",
            "Passes over a serving whose spec cannot be read.",
            _SERVING,
            registry=registry,
        )
        self._told: dict[tuple[str, str], tuple[str | None, dict[str, int]]] = {}

    def observe(self, namespace: str, serving: str, status: Document) -> None:
        """Record what a status tells, if it tells anything new."""
        told = (_stalled(status), _act_at(status))
        if self._told.get((namespace, serving)) == told:
            return
        self._forget_levels(namespace, serving)
        self._told[namespace, serving] = told
        reason, act_at = told
        if reason is not None:
            self._stalled.labels(namespace, serving, reason).set(1)
        for profile, concurrency in act_at.items():
            self._act_at.labels(namespace, serving, profile).set(concurrency)

    def forget(self, namespace: str, serving: str) -> None:
        """Drop every series of a serving that is gone."""
        self._forget_levels(namespace, serving)
        self.rejected.remove_by_labels({"namespace": namespace, "serving": serving})

    def _forget_levels(self, namespace: str, serving: str) -> None:
        reason, act_at = self._told.pop((namespace, serving), (None, {}))
        if reason is not None:
            self._stalled.remove(namespace, serving, reason)
        for profile in act_at:
            self._act_at.remove(namespace, serving, profile)


def _stalled(status: Document) -> str | None:
    for each in status.get("conditions") or ():
        if each["type"] == ConditionType.STALLED and each["status"] == "True":
            return str(each["reason"])
    return None


def _act_at(status: Document) -> dict[str, int]:
    rows = status.get("cutoffTable") or ()
    return {
        each["profile"]: each["actAtConcurrency"] for each in rows if "actAtConcurrency" in each
    }
