"""Targets whose calls count as the phase `act` of a tick."""

from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.target import ProfileWrite
from ridgeline.controller.ports import Targets
from ridgeline.controller.time_metrics import Phase, TimeMetrics


class TimedTargets:
    """Passes every call on, and keeps how long it took."""

    def __init__(self, targets: Targets, time: TimeMetrics) -> None:
        self._targets = targets
        self._time = time

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        """Read a Deployment as it is now."""
        with self._time.phase(Phase.ACT):
            return await self._targets.read(namespace, name)

    async def apply(self, write: ProfileWrite, *, dry_run: bool = False) -> DeploymentObject:
        """Apply a profile and return the Deployment as it is then."""
        with self._time.phase(Phase.ACT):
            return await self._targets.apply(write, dry_run=dry_run)

    async def release(
        self, deployment: DeploymentObject, *, exact: bool = False
    ) -> DeploymentObject:
        """Give up everything that we own in a Deployment; return it as it is then."""
        with self._time.phase(Phase.ACT):
            return await self._targets.release(deployment, exact=exact)
