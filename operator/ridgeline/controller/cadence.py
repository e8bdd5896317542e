"""The two cadences over one pass: the tick for all servings, the event pass for the one that woke.

One worker makes all passes, so that no serving is ever looked at twice at once; the tick only
reads telemetry and then asks the worker for everybody.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Mapping
from typing import Final

from ridgeline.cluster.errors import ClusterError
from ridgeline.cluster.store import Key, Kind, WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.clock import Clock, stopwatch
from ridgeline.controller.complaints import Complaints
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.reconciler import Reconciler
from ridgeline.controller.time_metrics import Phase
from ridgeline.controller.wish import Wish
from ridgeline.policy.facts import Problem
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

log = logging.getLogger(__name__)

PASSES_AT_ONCE: Final = 8
"""Servings that one batch works on at a time: their waits for the API server overlap."""

SHARE_OF_TICK_TO_READ: Final = 1 / 3
"""Share of a tick that it waits for its endpoints; what a slower one answers counts in the next, so
that it holds up nobody else's servings."""

_NO_SERVING: Final = ("", "")
"""Under this key a failure is counted that is no serving's."""

GATHER_SECONDS: Final = 0.2
"""Events of a rolling update come in bursts; one pass answers a burst."""


class Cadence:
    """Runs ticks and event passes until cancelled."""

    def __init__(
        self,
        *,
        store: WatchStore,
        sources: Mapping[str, TelemetrySource],
        reconciler: Reconciler,
        metrics: OperatorMetrics,
        clock: Clock,
        tick_seconds: float,
        window_seconds: float,
        around: Surroundings | None = None,
    ) -> None:
        self._store = store
        self._sources = sources
        self._reconciler = reconciler
        self._metrics = metrics
        self._clock = clock
        self._tick_seconds = tick_seconds
        self._window_seconds = window_seconds
        self._snapshots: dict[str, TelemetrySnapshot] = {}
        self._reading: dict[str, asyncio.Task[TelemetrySnapshot]] = {}
        self._waiting: set[Key] = set()
        self._complaints = Complaints()
        self._woken = asyncio.Event()
        self._last_progress = stopwatch()
        self._busy = asyncio.Lock()
        self._tick_over = False
        store.listen(self._changed)
        if around is not None:
            around.listen_to_policies(self._policy_changed)

    @property
    def idle_seconds(self) -> float:
        """Time since the worker last ended a pass, or had none to make, for the liveness probe.

        Not a batch: while the API server hangs, a batch of many servings takes as long as all of
        their calls, and a restart would not shorten it.
        """
        return stopwatch() - self._last_progress

    async def run(self, first: Awaitable[None] | None = None) -> None:
        """Tick and work until cancelled; no pass is made before telemetry was read once.

        Args:
            first: What else must have ended before the first pass; it must not fail.
        """
        try:
            await asyncio.gather(self.tick(patience_seconds=None), *([first] if first else []))
            async with asyncio.TaskGroup() as group:
                group.create_task(self._tick_for_ever())
                group.create_task(self._work_for_ever())
        finally:
            await self.stop_reading()

    async def stop_reading(self) -> None:
        """Give up the readings that no endpoint has answered yet."""
        for reading in self._reading.values():
            reading.cancel()
        await asyncio.gather(*self._reading.values(), return_exceptions=True)
        self._reading.clear()

    async def tick(self, patience_seconds: float | None = 5.0) -> None:
        """Read every endpoint and ask for a pass over every serving.

        Args:
            patience_seconds: How long to wait for the endpoints; `None` for as long as they take.
                What a slower one answers counts in a later tick.
        """
        now = self._clock()
        for name in self._sources.keys() - self._reading.keys():
            self._reading[name] = asyncio.create_task(self._read(name, now), name=f"read {name}")
        if self._reading:
            with self._metrics.time.phase(Phase.READ):
                await asyncio.wait(self._reading.values(), timeout=patience_seconds)
        for name, reading in list(self._reading.items()):
            if reading.done():
                self._snapshots[name] = self._reading.pop(name).result()
        servings = self._store.servings.all()
        self._metrics.servings.set(len(servings))
        self._tick_over = True
        self.wake(*((each.namespace, each.name) for each in servings))

    def wake(self, *keys: Key) -> None:
        """Ask for a pass over servings."""
        self._waiting.update(keys)
        if self._waiting or not keys:
            self._woken.set()

    async def work_off(self) -> None:
        """Make a pass over every serving that waits."""
        async with self._busy:
            batch, self._waiting = self._waiting, set()
            gate = asyncio.Semaphore(PASSES_AT_ONCE)
            found = await asyncio.gather(*(self._pass(key, gate) for key in sorted(batch)))
            # Who rolls is decided when all wishes are known: else the first name goes first.
            wishes = [wish for wish in found if wish is not None]
            wishes = self._reconciler.line_up(wishes, self._clock()) if wishes else []
            await asyncio.gather(*(self._settle(wish, gate) for wish in wishes))
            if self._tick_over:
                self._tick_over = False
                await self._guarded(_NO_SERVING, self._reconciler.see_off(self._clock()))
                self._metrics.time.tick_ended()
            self._last_progress = stopwatch()

    async def finish_batch(self, timeout_seconds: float = 10.0) -> None:
        """Wait until the batch under way has ended, and let no other begin."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._busy.acquire()

    async def _tick_for_ever(self) -> None:
        started = stopwatch()
        while True:
            await asyncio.sleep(max(0.0, self._tick_seconds - (stopwatch() - started)))
            started = stopwatch()
            await self.tick(self._tick_seconds * SHARE_OF_TICK_TO_READ)

    async def _work_for_ever(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._woken.clear()
            await self.work_off()

    async def _read(self, name: str, now: float) -> TelemetrySnapshot:
        try:
            snapshot = await self._sources[name].read(now)
        except Exception as error:
            told = self._complaints.is_new(name, error)
            log.log(
                logging.ERROR if told else logging.DEBUG,
                "reading a telemetry endpoint failed",
                extra={"endpoint": name},
                exc_info=told,
            )
            before = self._snapshots.get(name)
            snapshot = TelemetrySnapshot(
                endpoint=name,
                taken_at=now,
                window_seconds=self._window_seconds,
                error=f"reading it failed ({type(error).__name__}); see the operator's log",
                answered_at=before.answered_at if before is not None else None,
            )
        else:
            self._complaints.ended(name)
        self._metrics.observe_snapshot(snapshot, snapshot.query_seconds)
        return snapshot

    async def _pass(self, key: Key, gate: asyncio.Semaphore) -> Wish | None:
        async with gate:
            started = stopwatch()
            wish = await self._guarded(
                key, self._reconciler.reconcile(key, self._snapshot, self._clock())
            )
            self._metrics.pass_seconds.observe(self._last_progress - started)
            return wish

    async def _settle(self, wish: Wish, gate: asyncio.Semaphore) -> None:
        async with gate:
            await self._guarded(wish.key, self._reconciler.settle(wish))

    async def _guarded(self, key: Key, work: Awaitable[Wish | None]) -> Wish | None:
        """Do a part of a pass; whatever goes wrong in it stays within its serving."""
        wish = None
        try:
            wish = await work
        except Exception as error:  # noqa: BLE001 (the loop's boundary)
            self._metrics.failures.labels(*key).inc()
            self._complain(key, error)
        else:
            # A pass that leaves a wish has not ended yet: its roll may still fail.
            if wish is None and self._complaints.ended(key):
                log.info("passes succeed again", extra=_reference(key))
        self._last_progress = stopwatch()
        return wish

    def _complain(self, key: Key, error: Exception) -> None:
        """Log a failed pass: an error of the cluster in a line, a fault of ours with its trace."""
        level = logging.WARNING if isinstance(error, ClusterError) else logging.ERROR
        told = self._complaints.is_new(key, error)
        log.log(
            level if told else logging.DEBUG,
            "pass put off: %s",
            error,
            extra=_reference(key),
            exc_info=told and level == logging.ERROR,
        )

    def _snapshot(self, name: str) -> TelemetrySnapshot | Problem:
        if name not in self._sources:
            known = ", ".join(sorted(self._sources)) or "none"
            return Problem(
                reason=Reason.UNKNOWN_TELEMETRY_ENDPOINT,
                message=f"telemetry endpoint {name!r} is not defined in the operator's "
                f"configuration (defined: {known}); correct spec.telemetry",
            )
        return self._snapshots.get(name) or TelemetrySnapshot(
            endpoint=name,
            taken_at=self._clock(),
            window_seconds=self._window_seconds,
            error="it has not been read yet",
        )

    def _changed(self, kind: Kind, namespace: str, name: str) -> None:
        """Wake the servings that a change in the store concerns."""
        if kind is Kind.SERVING:
            self.wake((namespace, name))
        else:
            servings = self._store.servings_of(namespace, name)
            self.wake(*((each.namespace, each.name) for each in servings))

    def _policy_changed(self, namespace: str, name: str) -> None:
        """Wake the servings that refer to a policy."""
        self.wake(
            *(
                (each.namespace, each.name)
                for each in self._store.servings.all()
                if each.namespace == namespace
                and (each.spec.get("policyRef") or {}).get("name") == name
            )
        )


def _reference(key: Key) -> dict[str, str]:
    """Return what a log record says of the serving that it is about."""
    return {"namespace": key[0], "serving": key[1]}
