"""A cluster in one process and in virtual time: what the controller's ports and watch streams see.

    cluster = SimulatedCluster(now=0.0)
    cluster.create_deployment("llama", containers=(…,), replicas=4)
    cluster.create_serving("llama", spec)
    session, stream = cluster.connect("operator-a", store)
    cluster.list_into(store)
    …                                       # the real controller, over `session` and `store`
    cluster.advance(15.0)                   # Pods start and stop, streams deliver

It keeps what the API server promises: a resourceVersion that grows with every change and only then,
a generation that grows with the spec, preconditions on uid and resourceVersion, owners of fields.
Everybody else (a person, a chart, an autoscaler) acts through the methods that name a `manager`.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.cluster.errors import (
    AnotherObjectError,
    NotFoundError,
    StaleVersionError,
    UnavailableError,
)
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.reporting import EventNote
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.target import ProfileWrite
from ridgeline.sim import server_side_apply
from ridgeline.sim.fleet_writers import SimulatedWriters
from ridgeline.sim.session import CallKind, Faults, SimulatedSession
from ridgeline.sim.watch import WatchStream

NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One request to change something, as an audit log has it.

    Attributes:
        at: Epoch seconds.
        who: Session that made it.
        kind: What was written; a `REHEARSAL` never changes anything.
        name: Serving or Deployment.
        what: Profile, condition summary or Event reason, for a person.
        refused: The error it was answered with, empty when it was accepted.
        changed: Whether the object is another one by it.
    """

    at: float
    who: str
    kind: CallKind
    name: str
    what: str
    refused: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvent:
    """An Event as it was recorded."""

    at: float
    serving: str
    note: EventNote


class SimulatedCluster(SimulatedWriters):
    """The API server on top of the objects: what operator processes may ask and write.

    Attributes:
        writes: Every request to change something that reached the API server.
        events: Every Event that was recorded.
        api_down: While true, the API server answers nobody.
        admission: Says why a profile is refused, `None` when it is admitted.
    """

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.writes: list[Write] = []
        self.events: list[SentEvent] = []
        self.api_down = False
        self.admission: Callable[[ProfileWrite], str | None] = lambda _: None

    def connect(
        self, who: str, store: WatchStore, faults: Faults | None = None
    ) -> tuple[SimulatedSession, WatchStream]:
        """Open a process's session and its watch streams; `list_into` primes its store.

        Args:
            who: Name of the process in the write log.
            store: Its watch store.
            faults: Which of its calls go wrong.
        """
        stream = WatchStream(store)
        self._streams.append(stream)
        return SimulatedSession(self, who, faults), stream

    def disconnect(self, stream: WatchStream) -> None:
        """End the streams of a process that is gone."""
        self._streams.remove(stream)

    # What the ports call

    def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment.

        Raises:
            NotFoundError: It does not exist.
            UnavailableError: The API server is down.
        """
        self._answer()
        return self._workload(name, namespace).told()

    def apply_profile(self, write: ProfileWrite, who: str, *, dry_run: bool) -> DeploymentObject:
        """Server-side apply a profile, without force.

        Raises:
            UnavailableError: The API server is down.
            AnotherObjectError: The Deployment is gone or another one than was read.
            StaleVersionError: It has changed since it was read.
            FieldConflictError: Another manager owns a field that would change.
            RefusedError: Admission or validation refuses it.
        """
        self._answer()
        workload = self._workloads.get((write.namespace, write.deployment))
        kind = CallKind.REHEARSAL if dry_run else CallKind.PROFILE
        error = server_side_apply.objection(write, workload, self.admission)
        if error is not None or workload is None:
            self._log(who, kind, write.deployment, write.profile or "", refused=str(error))
            raise error or NotFoundError(write.deployment)
        template = server_side_apply.template_with(write, workload.template)
        changed = template != workload.template
        self._log(who, kind, write.deployment, write.profile or "", changed=changed and not dry_run)
        if dry_run:
            told = workload.told()
            return replace(
                told,
                containers=template.containers,
                template_profile=template.profile,
                generation=told.generation + changed,
            )
        if server_side_apply.take(write, workload, template, self.now):
            self._announce(workload)
        return workload.told()

    def release(self, deployment: DeploymentObject, who: str, *, exact: bool) -> DeploymentObject:
        """Server-side apply nothing: everything that the operator owns is given up.

        Raises:
            UnavailableError: The API server is down.
            AnotherObjectError: The Deployment is gone or another one than was read.
            StaleVersionError: It has changed since it was read (`exact`).
        """
        self._answer()
        workload = self._workloads.get((deployment.namespace, deployment.name))
        if workload is None or workload.uid != deployment.uid:
            raise AnotherObjectError(f'deployments.apps "{deployment.name}": another uid')
        if exact and deployment.resource_version != str(workload.version):
            raise StaleVersionError(f'deployments.apps "{deployment.name}": it has been modified')
        changed = server_side_apply.give_up_all(workload, self.now)
        self._log(who, CallKind.PROFILE, deployment.name, "", changed=changed)
        if changed:
            self._announce(workload)
        return workload.told()

    def apply_status(
        self, serving: ServingObject, status: Mapping[str, Any], who: str
    ) -> ServingObject:
        """Replace a serving's status; the same status again changes nothing.

        Raises:
            UnavailableError: The API server is down.
            NotFoundError: The serving is gone.
            AnotherObjectError: It was created anew.
            RefusedError: The status holds a number that JSON has no word for.
        """
        self._answer()
        current = self._servings.get((serving.namespace, serving.name))
        error = server_side_apply.status_objection(serving, current, status)
        if error is not None or current is None:
            self._log(who, CallKind.STATUS, serving.name, "", refused=str(error))
            raise error or NotFoundError(serving.name)
        body = json.loads(json.dumps(status))
        changed = body != current.status
        what = str((body.get("lastDecision") or {}).get("reason", ""))
        self._log(who, CallKind.STATUS, serving.name, what, changed=changed)
        if changed:
            current = replace(current, status=body, resource_version=str(self._next_version()))
            self._put_serving(current)
        return current

    def record_event(self, serving: ServingObject, note: EventNote, who: str, at: float) -> None:
        """Record an Event.

        Raises:
            UnavailableError: The API server is down.
        """
        self._answer()
        self._log(who, CallKind.EVENT, serving.name, note.reason.value, changed=True)
        self.events.append(SentEvent(at=at, serving=serving.name, note=note))

    def changes(self, *kinds: CallKind, since: float = -math.inf) -> list[Write]:
        """Return the writes of some kinds (all when none is named) that changed something."""
        return [
            each
            for each in self.writes
            if each.changed and each.at >= since and (not kinds or each.kind in kinds)
        ]

    def _answer(self) -> None:
        if self.api_down:
            raise UnavailableError("the Kubernetes API did not answer: connection refused")

    def _log(
        self,
        who: str,
        kind: CallKind,
        name: str,
        what: str,
        *,
        refused: str = "",
        changed: bool = False,
    ) -> None:
        self.writes.append(
            Write(
                at=self.now,
                who=who,
                kind=kind,
                name=name,
                what=what,
                refused=refused,
                changed=changed,
            )
        )
