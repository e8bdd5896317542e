"""What the reconciler needs of the outside world, so that a simulation can stand in for it."""

from collections.abc import Mapping
from typing import Any, Protocol

from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.cluster.reporting import EventNote
from ridgeline.cluster.target import ProfileWrite
from ridgeline.telemetry.snapshot import TelemetrySnapshot


class Targets(Protocol):
    """Reads targets and applies profiles to them (`cluster.target.TargetApi`)."""

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment as it is now."""

    async def apply(self, write: ProfileWrite, *, dry_run: bool = False) -> DeploymentObject:
        """Apply a profile and return the Deployment as it is then."""

    async def release(
        self, deployment: DeploymentObject, *, exact: bool = False
    ) -> DeploymentObject:
        """Give up everything that we own in a Deployment; return it as it is then."""


class Reports(Protocol):
    """Writes statuses and Events (`cluster.reporting.ReportingApi`)."""

    async def apply_status(
        self, serving: ServingObject, status: Mapping[str, Any]
    ) -> ServingObject:
        """Replace the status of a serving."""

    async def send_event(self, serving: ServingObject, event: EventNote, now: float) -> None:
        """Send one Event about a serving."""


class TelemetrySource(Protocol):
    """Reads one telemetry endpoint (`telemetry.reader.TelemetryReader`)."""

    async def read(self, now: float) -> TelemetrySnapshot:
        """Read all servings' signals at once."""


class Leader(Protocol):
    """Tells whether this process may write (`cluster.lease.Leadership`)."""

    @property
    def held(self) -> bool:
        """Whether this process is the leader."""


class AlwaysLeader:
    """The leader where there is no election: a single process on a desk, a simulation."""

    held = True
