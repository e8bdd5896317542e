"""An operator's own exposition on which everything moves: each metric has series."""

from __future__ import annotations

import threading

from ridgeline.controller.endpoints import OwnEndpoints
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.time_metrics import Phase
from ridgeline.policy.decision import Decision, Diagnostics, Estimates, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.policy.memory import Memory
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

NAMESPACE, SERVING = "inference", "llama"
PERIOD_SECONDS = 0.2

ESTIMATES = Estimates(
    concurrency=12.0,
    joined_replicas=2,
    expected_replicas=3,
    tokens_per_second=900.0,
    tpot_seconds=0.02,
    acceptance_length=2.4,
)
STATUS = {
    "desiredProfile": "eagle",
    "conditions": [{"type": "Stalled", "status": "True", "reason": "FieldConflict"}],
    "cutoffTable": [{"profile": "eagle", "actAtConcurrency": 16}, {"profile": "none"}],
    "rollout": {"to": "eagle", "way": "Canary", "state": "Rolling"},
    "quarantine": [{"profile": "draft", "reason": "PodsCrash"}],
    "proofs": [{"profile": "eagle", "gainPercent": 20, "promisedPercent": 25}],
}


class ObservedOperator:
    """Serves `/metrics` as the operator does, and lives through passes until it is left."""

    def __init__(self) -> None:
        self._metrics = OperatorMetrics()
        self._endpoints = OwnEndpoints(
            self._metrics.registry, port=0, alive=lambda: None, ready=lambda: None
        )
        self._over = threading.Event()
        self._life = threading.Thread(target=self._live, daemon=True)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._endpoints.port}"

    def __enter__(self) -> ObservedOperator:
        self._endpoints.start()
        self._life.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._life.join()
        self._endpoints.stop()

    def _live(self) -> None:
        number = 0
        while not self._over.wait(PERIOD_SECONDS):
            self._pass(number)
            number += 1

    def _pass(self, number: int) -> None:
        metrics, key = self._metrics, (NAMESPACE, SERVING)
        metrics.leader.set(1)
        metrics.servings.set(1)
        metrics.recording.set(1)
        snapshot = TelemetrySnapshot(
            endpoint="default", taken_at=10.0, answered_at=4.0, window_seconds=120.0
        )
        metrics.observe_snapshot(snapshot, {"drafts": 0.02, "running": 0.01})
        metrics.pass_seconds.observe(0.003)
        metrics.observe_decision(*key, _decision())
        metrics.set_cutoffs(*key, {"eagle": 20.0})
        drift = Problem(reason=Reason.ACCEPTANCE_DRIFTED, message="drifted")
        metrics.set_drift(*key, drift, predicts=True)
        metrics.observe_status(*key, STATUS)
        metrics.observe_rejected(*key)
        with metrics.time.phase(Phase.READ):
            pass
        metrics.time.tick_ended()
        metrics.time.lagged(0.002)
        metrics.api.called("list", "pods", "200")
        metrics.api.called("watch", "pods", "none")
        metrics.api.heard("pods", "*")
        metrics.failures.labels(*key).inc()
        metrics.rolls.labels(*key, "eagle").inc()
        metrics.roll.undone.labels(*key, "draft", "PodsCrash").inc()
        metrics.writes.labels(("profile", "status", "event")[number % 3]).inc()
        metrics.record_dropped.inc()


def _decision() -> Decision:
    return Decision(
        outcome=Outcome.HOLD,
        profile="none",
        recommended="eagle",
        reason=Reason.DWELLING,
        message="it waits",
        memory=Memory(),
        diagnostics=Diagnostics(decided_by="dwell", passed=(), comparisons=(), estimates=ESTIMATES),
    )
