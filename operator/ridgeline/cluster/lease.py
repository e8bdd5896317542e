"""Leader election by a Lease: only its holder acts and reports.

The election is the Kubernetes client's own; this file adds what it leaves out: a network failure
counts as a failed renewal (not as the end of the election), a call that hangs is given up, nobody
holds the Lease for longer than the others wait after its last renewal, no step of the wall clock
ends that wait or prolongs it, what is written is UTC, and a clean stop gives the Lease back, so
that a successor starts at once.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
from kubernetes.aio.client import V1Lease, V1ObjectMeta
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import ClusterError, StaleVersionError

log = logging.getLogger(__name__)

_NO_ANSWER: Final = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""No answer, or one that the client cannot read (its models raise `ValueError`)."""

_CATCH_UP_RETRY_SECONDS: Final = 1.0

_RELEASE_ATTEMPTS: Final = 3
"""Tries to give the Lease back: a renewal that was under way may land between read and write."""


class _TermOverError(Exception):
    """The Lease was lost in this term; it is taken again in the next one."""


class _PatientLock(LeaseLock):  # type: ignore[misc]
    """The client's Lease lock, with network failures told like refusals and times in UTC.

    Args:
        lease: Name and namespace of the Lease.
        identity: Who takes part.
        api: The API server.
        call_seconds: A call without an answer is given up after this; the client itself would
            wait for minutes, with the Lease long gone to somebody else.
        duration_seconds: For so long a holder that is silent keeps the Lease.
        renewed: Called with the monotonic time at which a successful write was begun.
        lost: Called when the Lease names another holder.
        may_take: Called before each write; raises where the Lease was lost in this term.
    """

    def __init__(
        self,
        lease: tuple[str, str],
        identity: str,
        api: KubernetesApi,
        *,
        call_seconds: float,
        duration_seconds: float,
        renewed: Callable[[float], None],
        lost: Callable[[], None],
        may_take: Callable[[], None],
    ) -> None:
        super().__init__(*lease, identity, api_client=api.client)
        self._call_seconds = call_seconds
        self._duration_seconds = duration_seconds
        self._seen: tuple[str | None, ...] = (None,)
        self._seen_at = time.monotonic()
        self._renewed = renewed
        self._lost = lost
        self._may_take = may_take

    async def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        try:
            async with asyncio.timeout(self._call_seconds):
                found, record = await super().get(name, namespace)
        except _NO_ANSWER as error:
            return False, ApiException(status=0, reason=f"no answer: {error!r}")
        if found:
            self._observe(record)
        return found, record

    def _observe(self, record: LeaderElectionRecord) -> None:
        """Note since when the Lease has been as it is; let one that has run out be nobody's.

        The election itself counts by the wall clock, which may be set.
        """
        seen = (record.holder_identity, record.acquire_time, record.renew_time)
        if seen != self._seen:
            self._seen, self._seen_at = seen, time.monotonic()
        if record.holder_identity in (None, self.identity):
            return
        self._lost()
        if not self._held_by_another:
            record.holder_identity = None

    @property
    def _held_by_another(self) -> bool:
        """Whether somebody else holds the Lease, and has not been silent for too long."""
        if self._seen[0] in (None, self.identity):
            return False
        return time.monotonic() - self._seen_at < self._duration_seconds

    async def create(
        self, name: str, namespace: str, election_record: LeaderElectionRecord
    ) -> bool:
        """Create the Lease; the client's own method sends a `pretty` that its own check refuses."""
        self._may_take()
        body = V1Lease(metadata=V1ObjectMeta(name=name), spec=self.update_lease(election_record))
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._call_seconds):
                await self.api_instance.create_namespaced_lease(namespace, body)
        except (ApiException, *_NO_ANSWER) as error:
            log.warning("the lease could not be created: %s", error)
            return False
        self._renewed(begun)
        return True

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        if self._held_by_another:
            return False
        self._may_take()
        begun = time.monotonic()
        with contextlib.suppress(*_NO_ANSWER):
            async with asyncio.timeout(self._call_seconds):
                if await super().update(name, namespace, updated_record):
                    self._renewed(begun)
                    return True
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

    Args:
        api: The API server.
        namespace: Namespace of the Lease.
        name: Name of the Lease.
        identity: Who takes part.
        duration_seconds: The others wait so long after a holder's last renewal.
        catch_up: What must have ended before the first write of a term. What the holder before
            wrote counts for its successor, and the watch streams may not have told it yet.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        name: str,
        identity: str,
        duration_seconds: int = 15,
        catch_up: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._api = api
        self._catch_up = catch_up
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._duration_seconds = duration_seconds
        self._won = False
        self._valid_until = 0.0
        self._took = False
        self._lost_it = False
        self._starting: asyncio.Task[None] | None = None

    @property
    def held(self) -> bool:
        """Whether this process is the leader: it won, and nobody can have won since."""
        return self.seconds_left > 0.0

    @property
    def seconds_left(self) -> float:
        """Seconds until somebody else may win the Lease, without a renewal; 0 when not held."""
        return max(0.0, self._valid_until - time.monotonic()) if self._won else 0.0

    async def run(self) -> None:
        """Take part in the election until cancelled; give the Lease back then."""
        # One election for all terms: it knows since when the Lease has been as it is. Who has lost
        # it need not wait for a whole duration anew when its next holder is silent.
        election = self._election()
        try:
            while True:
                await self._one_term(election)
        finally:
            self._won = False
            await self._release()

    def _election(self) -> LeaderElection:
        renew_deadline = max(2, self._duration_seconds * 2 // 3)
        lock = _PatientLock(
            (self._name, self._namespace),
            self._identity,
            self._api,
            call_seconds=renew_deadline / 2,
            duration_seconds=self._duration_seconds,
            renewed=self._renewed,
            lost=self._lost,
            may_take=self._may_take,
        )
        return LeaderElection(
            Config(
                lock=lock,
                lease_duration=self._duration_seconds,
                renew_deadline=renew_deadline,
                retry_period=max(1, self._duration_seconds // 8),
                onstarted_leading=self._started,
                onstopped_leading=None,
            )
        )

    async def _one_term(self, election: LeaderElection) -> None:
        try:
            with contextlib.suppress(_TermOverError):
                await election.run()
        finally:
            if self._starting is not None:
                self._starting.cancel()
            self._won = self._took = self._lost_it = False
        log.warning("leadership lost", extra={"lease": self._name})

    async def _started(self) -> None:
        """Begin to write; cancelled when the term ends meanwhile."""
        self._starting = asyncio.current_task()
        while self._catch_up is not None:
            try:
                await self._catch_up()
            except ClusterError as error:
                log.warning("the Lease is won, and nothing is written yet: %s", error)
                await asyncio.sleep(_CATCH_UP_RETRY_SECONDS)
            else:
                break
        log.info("leadership won", extra={"lease": self._name, "identity": self._identity})
        self._won = True

    def _renewed(self, at: float) -> None:
        self._valid_until = at + self._duration_seconds
        self._took = True

    def _lost(self) -> None:
        self._valid_until = 0.0
        self._lost_it = self._took

    def _may_take(self) -> None:
        """End a term in which the Lease was lost, instead of going on with it.

        Its holder meanwhile may have written, which is caught up with at the beginning of a term.
        """
        if self._lost_it:
            raise _TermOverError

    async def _release(self) -> None:
        for _ in range(_RELEASE_ATTEMPTS):
            try:
                await self._try_to_release()
            except StaleVersionError:
                continue
            except ClusterError as error:
                log.info("the lease could not be given back: %s", error)
            return

    async def _try_to_release(self) -> None:
        path = path_of("coordination.k8s.io/v1", "leases", self._namespace, self._name)
        lease = await self._api.request("GET", path)
        if lease["spec"].get("holderIdentity") != self._identity:
            return
        lease["spec"].pop("holderIdentity")
        await self._api.request("PUT", path, body=lease)
