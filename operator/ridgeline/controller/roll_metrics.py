"""Metrics of rolls: where each stands, what was undone, what is quarantined, what was gained."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge

_SERVING: Final = ("namespace", "serving")

Document = Mapping[str, Any]


class RollMetrics:
    """Told anew from every status, so that they never differ from it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._state = Gauge(
            "ridgeline_serving_roll",
            "1 for the state of the latest roll.",
            [*_SERVING, "to_profile", "way", "state"],
            registry=registry,
        )
        self._quarantined = Gauge(
            "ridgeline_serving_profile_quarantined",
            "1 for each profile that is not chosen for a while, since a roll to it failed.",
            [*_SERVING, "profile", "reason"],
            registry=registry,
        )
        self._gain = Gauge(
            "ridgeline_serving_profile_gain_ratio",
            "How much less time per token was measured with a profile than without it.",
            [*_SERVING, "profile"],
            registry=registry,
        )
        self._promised = Gauge(
            "ridgeline_serving_profile_promised_ratio",
            "How much less time per token was promised of a profile when it was rolled out.",
            [*_SERVING, "profile"],
            registry=registry,
        )
        self.undone = Counter(
            "ridgeline_rolls_undone_total",
            "Rolls that the operator took back, by reason.",
            [*_SERVING, "to_profile", "reason"],
            registry=registry,
        )

        self._told: dict[tuple[str, str], tuple[object, ...]] = {}
        self._series: dict[tuple[str, str], list[tuple[Gauge, tuple[str, ...]]]] = {}

    def observe(self, namespace: str, serving: str, status: Document) -> None:
        """Record what a status tells of rolls, if it tells anything new."""
        told = tuple(status.get(key) for key in ("rollout", "quarantine", "proofs"))
        if self._told.get((namespace, serving)) == told:
            return
        self._forget_levels(namespace, serving)
        self._told[namespace, serving] = told
        for gauge, labels, value in self._levels(status):
            gauge.labels(namespace, serving, *labels).set(value)
            self._series.setdefault((namespace, serving), []).append((gauge, labels))

    def _levels(self, status: Document) -> Iterator[tuple[Gauge, tuple[str, ...], float]]:
        """Give gauge, labels beyond the serving's name and value of each series."""
        roll = status.get("rollout")
        if roll:
            where = (roll["to"], roll.get("way", "Whole"), roll["state"])
            yield self._state, where, 1.0
        for each in status.get("quarantine") or ():
            yield self._quarantined, (each["profile"], each["reason"]), 1.0
        for each in status.get("proofs") or ():
            for key, gauge in (("gainPercent", self._gain), ("promisedPercent", self._promised)):
                if each.get(key) is not None:
                    yield gauge, (each["profile"],), each[key] / 100.0

    def forget(self, namespace: str, serving: str) -> None:
        """Drop every series of a serving that is gone."""
        self._told.pop((namespace, serving), None)
        self._forget_levels(namespace, serving)
        self.undone.remove_by_labels({"namespace": namespace, "serving": serving})

    def _forget_levels(self, namespace: str, serving: str) -> None:
        for gauge, labels in self._series.pop((namespace, serving), ()):
            gauge.remove(namespace, serving, *labels)
