"""Leader election by a Lease: only its holder acts and reports.

The election is the Kubernetes client's own; this file adds what it leaves out: a network failure
counts as a failed renewal (not as the end of the election), the clock is UTC, and a clean stop
gives the Lease back, so that a successor starts at once.
"""

import asyncio
import contextlib
import logging
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import ClusterError

log = logging.getLogger(__name__)

_NETWORK: Final = (aiohttp.ClientError, TimeoutError, OSError)


class _PatientLock(LeaseLock):  # type: ignore[misc]
    """The client's Lease lock, with network failures told like refusals and times in UTC."""

    async def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        try:
            return await super().get(name, namespace)  # type: ignore[no-any-return]
        except _NETWORK as error:
            return False, ApiException(status=0, reason=f"no answer: {error}")

    async def create(
        self, name: str, namespace: str, election_record: LeaderElectionRecord
    ) -> bool:
        with contextlib.suppress(*_NETWORK):
            return bool(await super().create(name, namespace, election_record))
        return False

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        with contextlib.suppress(*_NETWORK):
            return bool(await super().update(name, namespace, updated_record))
        return False

    def election_record(self, lease: Any) -> LeaderElectionRecord:
        """Keep the time zone of the times that the API server tells."""
        record = super().election_record(lease)
        if lease.spec is not None:
            record.acquire_time = str(lease.spec.acquire_time or "") or None
            record.renew_time = str(lease.spec.renew_time or "") or None
        return record

    def time_str_to_iso(self, str_time: str) -> str:
        """Read the election's local time and write UTC, whatever the process's time zone."""
        local = datetime.fromisoformat(str_time)
        aware = local if local.tzinfo is not None else local.astimezone()
        return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Leadership:
    """Holds a Lease for as long as it can.

    `held` tells whether this process may write now; `run` never returns until cancelled.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        name: str,
        identity: str,
        duration_seconds: int = 15,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._duration_seconds = duration_seconds
        self._held = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether this process is the leader."""
        return self._held.is_set()

    async def wait(self) -> None:
        """Wait until this process is the leader."""
        await self._held.wait()

    async def run(self) -> None:
        """Take part in the election until cancelled; give the Lease back then."""
        try:
            while True:
                await self._one_term()
        finally:
            was_held = self.held
            self._held.clear()
            if was_held:
                await self._release()

    async def _one_term(self) -> None:
        lock = _PatientLock(
            self._name, self._namespace, self._identity, api_client=self._api.client
        )
        election = LeaderElection(
            Config(
                lock=lock,
                lease_duration=self._duration_seconds,
                renew_deadline=max(2, self._duration_seconds * 2 // 3),
                retry_period=max(1, self._duration_seconds // 8),
                onstarted_leading=self._started,
                onstopped_leading=None,
            )
        )
        try:
            await election.run()
        finally:
            if self.held:
                log.warning("leadership lost", extra={"lease": self._name})
            if not _being_cancelled():
                self._held.clear()

    async def _started(self) -> None:
        log.info("leadership won", extra={"lease": self._name, "identity": self._identity})
        self._held.set()

    async def _release(self) -> None:
        path = path_of("coordination.k8s.io/v1", "leases", self._namespace, self._name)
        try:
            lease = await self._api.request("GET", path)
            if lease["spec"].get("holderIdentity") != self._identity:
                return
            lease["spec"].pop("holderIdentity")
            await self._api.request("PUT", path, body=lease)
        except ClusterError as error:
            log.info("the lease could not be given back: %s", error)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
