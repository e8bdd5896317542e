"""One operator process's connection to the simulated API server, with calls that can go wrong."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.reporting import EventNote
from ridgeline.cluster.target import ProfileWrite

if TYPE_CHECKING:
    from ridgeline.sim.fleet import SimulatedCluster

T = TypeVar("T")


class CallKind(StrEnum):
    """What is asked of the API server."""

    READ = "read"
    REHEARSAL = "rehearsal"
    PROFILE = "profile"
    STATUS = "status"
    EVENT = "event"


class Moment(StrEnum):
    """When a fault strikes: before the call has its effect, or after it."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call.

    Attributes:
        number: Counted from 0 over the whole session.
        kind: What is asked.
        name: Name of the serving or Deployment that it is about.
    """

    number: int
    kind: CallKind
    name: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a call: the error it ends with, before or after its effect."""

    moment: Moment
    error: BaseException


class ProcessLostError(BaseException):
    """The process is killed: nothing in it may catch this, and none of its calls get through."""


Faults = Callable[[Call], Fault | None]


class SimulatedSession:
    """Implements the ports for targets and reports on a `SimulatedCluster`.

    Attributes:
        faults: Decides which calls go wrong; `None` for none.
        calls: Every call that was made, in order.
    """

    def __init__(self, cluster: "SimulatedCluster", who: str, faults: Faults | None = None) -> None:
        self._cluster = cluster
        self._who = who
        self._lost: ProcessLostError | None = None
        self.faults = faults
        self.calls: list[Call] = []

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment as it is now.

        Raises:
            NotFoundError: It does not exist.
        """
        return await self._call(CallKind.READ, name, lambda: self._cluster.read(namespace, name))

    async def apply(self, write: ProfileWrite, *, dry_run: bool = False) -> DeploymentObject:
        """Apply a profile and return the Deployment as it is then.

        Raises:
            ClusterError: As `SimulatedCluster.apply_profile`.
        """
        return await self._call(
            CallKind.REHEARSAL if dry_run else CallKind.PROFILE,
            write.deployment,
            lambda: self._cluster.apply_profile(write, self._who, dry_run=dry_run),
        )

    async def release(
        self, deployment: DeploymentObject, *, exact: bool = False
    ) -> DeploymentObject:
        """Give up everything that the operator owns in a Deployment.

        Raises:
            ClusterError: As `SimulatedCluster.release`.
        """
        return await self._call(
            CallKind.PROFILE,
            deployment.name,
            lambda: self._cluster.release(deployment, self._who, exact=exact),
        )

    async def apply_status(
        self, serving: ServingObject, status: Mapping[str, Any]
    ) -> ServingObject:
        """Replace the status of a serving.

        Raises:
            ClusterError: As `SimulatedCluster.apply_status`.
        """
        return await self._call(
            CallKind.STATUS,
            serving.name,
            lambda: self._cluster.apply_status(serving, status, self._who),
        )

    async def send_event(self, serving: ServingObject, event: EventNote, now: float) -> None:
        """Send one Event about a serving.

        Raises:
            ClusterError: As `SimulatedCluster.record_event`.
        """
        await self._call(
            CallKind.EVENT,
            serving.name,
            lambda: self._cluster.record_event(serving, event, self._who, now),
        )

    async def _call(self, kind: CallKind, name: str, effect: Callable[[], T]) -> T:
        await asyncio.sleep(0)  # other passes go on while this one waits for the API server
        if self._lost is not None:
            raise self._lost
        call = Call(number=len(self.calls), kind=kind, name=name)
        self.calls.append(call)
        fault = self.faults(call) if self.faults is not None else None
        if fault is not None and isinstance(fault.error, ProcessLostError):
            self._lost = fault.error
        if fault is not None and fault.moment is Moment.BEFORE:
            raise fault.error
        answer = effect()
        if fault is not None:
            raise fault.error
        return answer
