"""Reports what a pass found: one status write if the document changed, one Event per edge."""

import logging
from collections.abc import Mapping
from typing import Any

from ridgeline.cluster.errors import ClusterError, NotFoundError, RefusedError
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.reporting import EventNote, EventType
from ridgeline.cluster.store import WatchStore
from ridgeline.controller.basis import strategy_of
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.ports import Leader, Reports
from ridgeline.controller.pruned import Pruned
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.time_metrics import Phase
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision
from ridgeline.policy.edges import edges
from ridgeline.policy.facts import Problem
from ridgeline.policy.roll_status import roll_of
from ridgeline.policy.situation import observe
from ridgeline.policy.status import Report, slow_memory_of, status_document
from ridgeline.terms.reasons import Reason

log = logging.getLogger(__name__)


class NotLeaderError(ClusterError):
    """This process was about to write and is not the leader any more."""


class Reporter:
    """Writes statuses and Events; silent while this process is not the leader."""

    def __init__(
        self, store: WatchStore, reports: Reports, leader: Leader, metrics: OperatorMetrics
    ) -> None:
        self._store = store
        self._reports = reports
        self._leader = leader
        self._metrics = metrics
        self._pruned = Pruned()

    async def report_invalid(self, serving: ServingObject, message: str, now: float) -> None:
        """Report a serving whose spec cannot be read.

        Raises:
            ClusterError: The status could not be written.
        """
        report = Report(
            generation=serving.generation,
            now=now,
            situation=None,
            decision=None,
            problem=Problem(reason=Reason.SPEC_INVALID, message=message),
            roll=roll_of(serving.status),
            memory=slow_memory_of(serving.status),
        )
        self._metrics.observe_rejected(serving.namespace, serving.name)
        with self._metrics.time.phase(Phase.REPORT):
            await self._write(serving, status_document(report, serving.status), now)

    async def report(
        self,
        view: View,
        decision: Decision,
        problem: Problem | None = None,
        *,
        obliged: bool = False,
    ) -> ServingObject:
        """Report a pass; return the serving as it is then.

        Args:
            view: What was seen and is remembered.
            decision: What was decided.
            problem: What keeps the serving from working, beyond what the decision tells.
            obliged: Fail when it cannot be written, because the serving or the Lease is gone,
                instead of leaving it at that.

        Raises:
            ClusterError: The status could not be written.
        """
        with self._metrics.time.phase(Phase.REPORT):
            document = _document_of(view, decision, problem)
            return await self._write(view.serving, document, view.now, obliged=obliged)

    async def _write(
        self,
        serving: ServingObject,
        document: Mapping[str, Any],
        now: float,
        *,
        obliged: bool = False,
    ) -> ServingObject:
        """Write a status if it changed, then tell its edges; return the serving as it is then.

        Args:
            serving: The serving as it was read.
            document: Its new status.
            now: Epoch seconds.
            obliged: Fail when it cannot be written, even because the serving or the Lease is gone.
        """
        self._metrics.observe_status(serving.namespace, serving.name, document)
        if obliged and not self._leader.held:
            raise NotLeaderError("the Lease was lost before the roll was announced")
        if not self._leader.held or self._pruned.stands(serving, document):
            return serving
        try:
            written = await self._reports.apply_status(serving, document)
        except NotFoundError:
            if obliged:
                raise
            return serving
        self._pruned.written(document, written)
        self._metrics.writes.labels("status").inc()
        self._store.put_serving(written)
        if obliged and roll_of(written.status) != roll_of(document):
            raise RefusedError("the CRDs have no place for the record of a roll; apply crds/")
        for edge in edges(serving.status, document):
            note = EventNote(
                type=EventType.WARNING if edge.warning else EventType.NORMAL,
                reason=edge.reason,
                action=edge.action,
                note=edge.note,
            )
            log.info("%s: %s", edge.reason.value, edge.note, extra=reference(serving))
            try:
                await self._reports.send_event(serving, note, now)
            except ClusterError as error:
                log.warning("event not sent: %s", error, extra=reference(serving))
            else:
                self._metrics.writes.labels("event").inc()
        return written


def _document_of(view: View, decision: Decision, problem: Problem | None) -> Mapping[str, Any]:
    """Return the status that tells of a pass."""
    resolved = view.target if isinstance(view.target, ResolvedTarget) else None
    report = Report(
        generation=view.serving.generation,
        now=view.now,
        situation=observe(view.facts, view.settings, view.memory, view.now, view.seen),
        decision=decision,
        problem=problem,
        roll=view.roll,
        memory=view.memory.slow,
        target_uid=resolved.facts.uid if resolved else None,
        container=resolved.container.name if resolved else None,
        strategy=strategy_of(view.basis),
        accelerator=view.basis.accelerator_report(),
        policy=view.basis.policy,
        law=view.memory.law.slow if view.settings.prediction is not None else None,
        drift=view.drift if view.settings.prediction is not None else None,
    )
    return status_document(report, view.serving.status)


def reference(serving: ServingObject) -> dict[str, str]:
    """Return what a log record says of the serving that it is about."""
    return {"namespace": serving.namespace, "serving": serving.name}
