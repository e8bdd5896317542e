"""The operator's own metrics: what a dashboard and an alert need, by serving and by endpoint."""

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ridgeline import __version__
from ridgeline.controller.api_metrics import ApiMetrics
from ridgeline.controller.roll_metrics import RollMetrics
from ridgeline.controller.serving_gauge import ServingGauge
from ridgeline.controller.status_metrics import StatusMetrics
from ridgeline.controller.time_metrics import TimeMetrics
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.decision import Decision, Estimates, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

_SERVING: Final = ("namespace", "serving")

_ESTIMATES: Final = (
    ("ridgeline_serving_concurrency", "Mean requests in decode per engine."),
    ("ridgeline_serving_tokens_per_second", "Output tokens per second of all replicas."),
    ("ridgeline_serving_tpot_seconds", "Mean time per output token."),
    ("ridgeline_serving_acceptance_length", "Mean tokens per request-step."),
    ("ridgeline_serving_replicas_joined", "Ready replicas with complete, fresh samples."),
    ("ridgeline_serving_replicas_expected", "Ready replicas older than the rate window."),
)
"""Gauges of what a decision rests on, in the order of `_observe_estimates`."""

_ROLES: Final = ("active", "recommended", "desired")

_SIGNALS: Final = {
    Reason.ACCEPTANCE_DRIFTED: "acceptance",
    Reason.STEP_TIME_DRIFTED: "step_time",
}


class OperatorMetrics:
    """All metrics of one operator process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        info = Gauge(
            "ridgeline_info", "Version of the operator.", ["version"], registry=self.registry
        )
        info.labels(__version__).set(1)
        self.leader = self._gauge("ridgeline_leader", "1 while this process may write.")
        self.servings = self._gauge("ridgeline_servings", "Servings that are known.")
        self._endpoint_age = self._gauge(
            "ridgeline_telemetry_data_age_seconds",
            "Time since a telemetry endpoint last answered in full.",
            "endpoint",
        )
        self._endpoint_up = self._gauge(
            "ridgeline_telemetry_up", "1 when the last read of an endpoint succeeded.", "endpoint"
        )
        self._query_seconds = Histogram(
            "ridgeline_telemetry_query_seconds",
            "Duration of telemetry queries.",
            ["endpoint", "query"],
            registry=self.registry,
        )
        self.pass_seconds = Histogram(
            "ridgeline_pass_seconds",
            "Duration of deciding one serving, writes included.",
            registry=self.registry,
        )
        self.failures = self._counter(
            "ridgeline_pass_failures_total",
            "Passes over a serving that ended in an error.",
            *_SERVING,
        )
        self.decisions = self._counter(
            "ridgeline_decisions_total", "Decisions by outcome and reason.", "outcome", "reason"
        )
        self.rolls = self._counter(
            "ridgeline_rolls_total", "Rolls that the operator began.", *_SERVING, "to_profile"
        )
        self.writes = self._counter(
            "ridgeline_writes_total", "Writes to the Kubernetes API by what was written.", "kind"
        )
        self.recording = self._gauge(
            "ridgeline_recording",
            "1 while passes are recorded; 0 where it is off or the disk failed.",
        )
        self.record_dropped = self._counter(
            "ridgeline_record_dropped_total", "Passes that the record lacks: the disk was too slow."
        )
        self._estimates = tuple(
            ServingGauge(name, description, self.registry) for name, description in _ESTIMATES
        )
        self._cutoff = self._gauge(
            "ridgeline_serving_cutoff_concurrency",
            "Cut-off above each profile's range of the table.",
            *_SERVING,
            "profile",
        )
        self._drifted = self._gauge(
            "ridgeline_serving_prediction_drifted",
            "1 while a signal of the active profile is not what it used to be.",
            *_SERVING,
            "signal",
        )
        self._profile = self._gauge(
            "ridgeline_serving_profile",
            "1 for the profile that is active, desired or recommended.",
            *_SERVING,
            "role",
            "profile",
        )
        self.roll = RollMetrics(self.registry)
        self.status = StatusMetrics(self.registry)
        self.time = TimeMetrics(self.registry)
        self.api = ApiMetrics(self.registry)
        self._profiles: dict[tuple[str, str, str], str] = {}
        self._cutoffs: dict[tuple[str, str], dict[str, float]] = {}
        self._drifts: dict[tuple[str, str], tuple[Reason | None, bool]] = {}
        self._counted: dict[tuple[Outcome, Reason], Counter] = {}
        self._known: dict[tuple[str, str], tuple[Profile, ...]] = {}

    def observe_snapshot(self, snapshot: TelemetrySnapshot, seconds: Mapping[str, float]) -> None:
        """Record how one read of an endpoint went."""
        name = snapshot.endpoint
        self._endpoint_up.labels(name).set(0 if snapshot.error else 1)
        if snapshot.data_age_seconds is not None:
            self._endpoint_age.labels(name).set(snapshot.data_age_seconds)
        for query, each in seconds.items():
            self._query_seconds.labels(name, query).observe(each)

    def observe_decision(
        self, namespace: str, serving: str, decision: Decision, profiles: tuple[Profile, ...] = ()
    ) -> None:
        """Record one decision, the numbers that it rests on, and the profiles there are."""
        self._know(namespace, serving, profiles)
        self._count(decision.outcome, decision.reason)
        self._observe_estimates(namespace, serving, decision.diagnostics.estimates)
        for role, profile in (("active", decision.profile), ("recommended", decision.recommended)):
            self._set_profile(namespace, serving, role, profile)

    def observe_status(self, namespace: str, serving: str, status: Mapping[str, Any]) -> None:
        """Record what a status tells, written or not: a standby tells it as well."""
        self._set_profile(namespace, serving, "desired", status.get("desiredProfile"))
        self.roll.observe(namespace, serving, status)
        self.status.observe(namespace, serving, status)

    def observe_rejected(self, namespace: str, serving: str) -> None:
        """Record a pass over a serving whose spec cannot be read: it holds, and decides nothing."""
        self.status.rejected.labels(namespace, serving).inc()
        self._count(Outcome.HOLD, Reason.SPEC_INVALID)

    def set_cutoffs(self, namespace: str, serving: str, cutoffs: Mapping[str, float]) -> None:
        """Record the cut-off above each profile's range, and drop those of other profiles."""
        key = (namespace, serving)
        before = self._cutoffs.get(key, {})
        if before == cutoffs:
            return
        for gone in before.keys() - cutoffs.keys():
            self._cutoff.remove(*key, gone)
        self._cutoffs[key] = dict(cutoffs)
        for profile, value in cutoffs.items():
            self._cutoff.labels(namespace, serving, profile).set(value)

    def set_drift(
        self, namespace: str, serving: str, drift: Problem | None, *, predicts: bool
    ) -> None:
        """Record which signal has drifted; nothing where no cost model predicts any."""
        told = (drift.reason if drift is not None else None, predicts)
        if self._drifts.get((namespace, serving)) == told:
            return
        self._drifts[namespace, serving] = told
        for reason, signal in _SIGNALS.items():
            if predicts:
                stands = drift is not None and drift.reason is reason
                self._drifted.labels(namespace, serving, signal).set(1 if stands else 0)
            else:
                self._drifted.remove(namespace, serving, signal)

    def forget(self, namespace: str, serving: str) -> None:
        """Drop every series of a serving that is gone."""
        labels = {"namespace": namespace, "serving": serving}
        for metric in (
            self._cutoff,
            self._drifted,
            self._profile,
            self.failures,
            self.rolls,
        ):
            metric.remove_by_labels(labels)
        for gauge in self._estimates:
            gauge.forget((namespace, serving))
        self.roll.forget(namespace, serving)
        self.status.forget(namespace, serving)
        self._cutoffs.pop((namespace, serving), None)
        self._drifts.pop((namespace, serving), None)
        self._known.pop((namespace, serving), None)
        for role in _ROLES:
            self._profiles.pop((namespace, serving, role), None)

    def _know(self, namespace: str, serving: str, profiles: tuple[Profile, ...]) -> None:
        """Begin the counters of rolls at 0: else the first roll to a profile is no increase.

        Those of profiles that are there no more end: who renames without end makes no series so.
        """
        before = self._known.get((namespace, serving), ())
        if before != profiles:
            self._known[namespace, serving] = profiles
            for each in profiles:
                self.rolls.labels(namespace, serving, each.name)
            for gone in {each.name for each in before} - {each.name for each in profiles}:
                self.rolls.remove(namespace, serving, gone)

    def _observe_estimates(self, namespace: str, serving: str, estimates: Estimates) -> None:
        values = (
            estimates.concurrency,
            estimates.tokens_per_second,
            estimates.tpot_seconds,
            estimates.acceptance_length,
            estimates.joined_replicas,
            estimates.expected_replicas,
        )
        for gauge, value in zip(self._estimates, values, strict=True):
            gauge.tell((namespace, serving), value)

    def _count(self, outcome: Outcome, reason: Reason) -> None:
        counter = self._counted.get((outcome, reason))
        if counter is None:
            counter = self.decisions.labels(outcome.value, reason.value)
            self._counted[outcome, reason] = counter
        counter.inc()

    def _set_profile(self, namespace: str, serving: str, role: str, profile: str | None) -> None:
        key = (namespace, serving, role)
        before = self._profiles.get(key)
        if before == profile:
            return
        if before is not None:
            del self._profiles[key]
            self._profile.remove(*key, before)
        if profile is not None:
            self._profile.labels(*key, profile).set(1)
            self._profiles[key] = profile

    def _gauge(self, name: str, description: str, *labels: str) -> Gauge:
        return Gauge(name, description, labels, registry=self.registry)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self.registry)
