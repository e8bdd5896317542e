"""Reads one telemetry endpoint for all servings at once, tick by tick.

A read asks the fast queries together, at one evaluation time and under one deadline, and the slow
ones at every few reads. What a decision needs comes whole or not at all: one failed fast query
makes the read an error. A failed slow query costs only its own signal, once its last values are too
old.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ridgeline.telemetry.assemble import assemble
from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.client import Credentials, PrometheusClient
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import MalformedError, TelemetryError
from ridgeline.telemetry.finish_reasons import Finished
from ridgeline.telemetry.labels import EngineKey, LabelBook
from ridgeline.telemetry.parse import (
    Answer,
    SignalTable,
    finished_table,
    position_tables,
    signal_table,
)
from ridgeline.telemetry.queries import (
    FAST,
    POSITION_LABEL,
    REASON_LABEL,
    REGISTRY,
    SLOW,
    query_context,
)
from ridgeline.telemetry.slow import SlowTables, SlowView, slow_view
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.telemetry.sparse import sparse_remarks

CONCURRENT_QUERIES: Final = 5
"""Queries under way at once; Prometheus evaluates 20 at once by default, for all its users."""

MAX_WARNINGS: Final = 20
_WARNING_LENGTH: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """How one query went: its table, or why there is none."""

    seconds: float
    table: SignalTable | None = None
    positions: Mapping[int, SignalTable] = field(default_factory=dict)
    finished: Mapping[EngineKey, Finished] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    error: str | None = None


class TelemetryReader:
    """Keeps the little that reading needs from tick to tick: slow values, back-off, connections.

    Not for concurrent reads: one tick reads at a time.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        window_seconds: float = 120.0,
        slow_every: int = 5,
        slow_max_age_seconds: float = 180.0,
        backoff: Backoff | None = None,
        client: PrometheusClient | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            endpoint: What to ask.
            window_seconds: Rate window; at least four scrape intervals, or single missed scrapes
                leave gaps.
            slow_every: Slow queries are asked at every n-th answered read.
            slow_max_age_seconds: Slow values older than this are dropped.
            backoff: Waits after failures; the default begins at one tick of 15 s.
            client: Asks the endpoint; another one than usual answers from what was downloaded.

        Raises:
            ValueError: A number is out of range.
        """
        if slow_every < 1 or not 0 < slow_max_age_seconds < float("inf"):
            raise ValueError(
                f"slow_every {slow_every!r} must be at least 1 and slow_max_age_seconds "
                f"{slow_max_age_seconds!r} finite and above 0"
            )
        self.endpoint: Final = endpoint
        self.window_seconds: Final = window_seconds
        context = query_context(endpoint, window_seconds)
        self.promql: Final[Mapping[str, str]] = MappingProxyType(
            {name: query.render(context) for name, query in REGISTRY.items()}
        )
        self._slow_every: Final = slow_every
        self._slow_max_age: Final = slow_max_age_seconds
        self._client: Final = client or PrometheusClient(endpoint)
        self._book: Final = LabelBook(
            namespace_label=endpoint.namespace_label, pod_label=endpoint.pod_label
        )
        self._backoff = backoff or Backoff()
        self._slow: dict[str, SlowTables] = {}
        self._slow_view: SlowView | None = None
        self._slow_asked_at: float | None = None
        self._reads_since_slow = 0
        self._error: str | None = None
        self._answered_at: float | None = None

    async def close(self) -> None:
        """Give back what a read that was cancelled may have left open; reading again is allowed."""
        await self._client.close()

    async def read(self, now: float) -> TelemetrySnapshot:
        """Read everything as of `now` (epoch seconds).

        Never raises because of the endpoint: what went wrong is in the snapshot. While a failing
        endpoint is left alone nothing is sent, and the last error is repeated.
        """
        if not self._backoff.allows(now):
            return self._failure(now, self._error or "", asked=False)
        try:
            return await self._read(now)
        finally:
            # Connections are for one read: one that idles from tick to tick may be closed by a
            # proxy at the very moment of the next request, which would look like an outage.
            await self._client.close()

    async def _read(self, now: float) -> TelemetrySnapshot:
        deadline = asyncio.get_running_loop().time() + self.endpoint.timeout_seconds
        try:
            credentials = self._client.credentials()
        except TelemetryError as error:
            return self._failed(now, str(error), {})
        fast = await self._ask(FAST, now, deadline, credentials)
        broken = next(((name, a.error) for name, a in fast.items() if a.error is not None), None)
        if broken is not None:
            message = f"endpoint {self.endpoint.name!r}: query {broken[0]} failed: {broken[1]}"
            return self._failed(now, message, fast)
        tables = {name: asked.table for name, asked in fast.items() if asked.table is not None}
        slow = await self._read_slow(now, deadline, credentials, tables["request_steps"])
        self._backoff = self._backoff.succeeded()
        self._error, self._answered_at = None, now
        return self._snapshot(now, tables, {**fast, **slow})

    async def _read_slow(
        self, now: float, deadline: float, credentials: Credentials, request_steps: SignalTable
    ) -> dict[str, _Asked]:
        """Ask the slow queries when it is their turn, and keep what they answered."""
        self._reads_since_slow += 1
        if not self._slow_due(now):
            return {}
        self._slow_asked_at, self._reads_since_slow = now, 0
        self._book.turn()
        asked = await self._ask(SLOW, now, deadline, credentials)
        for name, outcome in asked.items():
            if outcome.table is not None:
                self._slow[name] = SlowTables(
                    taken_at=now,
                    table=outcome.table,
                    request_steps=request_steps,
                    positions=outcome.positions,
                    finished=outcome.finished,
                )
        self._slow_view = None
        return asked

    def _slow_due(self, now: float) -> bool:
        if self._slow_asked_at is None or self._reads_since_slow >= self._slow_every:
            return True
        # After a long outage nothing usable is left: do not wait for the turn.
        return abs(now - self._slow_asked_at) > self._slow_max_age

    async def _ask(
        self, names: Iterable[str], now: float, deadline: float, credentials: Credentials
    ) -> dict[str, _Asked]:
        """Ask queries together; the result keeps the order of the names."""
        gate = asyncio.Semaphore(CONCURRENT_QUERIES)

        async def ask(name: str) -> _Asked:
            async with gate:
                return await self._ask_one(name, now, deadline, credentials)

        wanted = tuple(names)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(name)) for name in wanted]
        return {name: task.result() for name, task in zip(wanted, tasks, strict=True)}

    async def _ask_one(
        self, name: str, now: float, deadline: float, credentials: Credentials
    ) -> _Asked:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            answer = await self._client.query(
                self.promql[name], time=now, deadline=deadline, credentials=credentials
            )
            table, positions, finished = self._tables(name, answer)
        except TelemetryError as error:
            return _Asked(seconds=loop.time() - started, error=str(error))
        return _Asked(
            seconds=loop.time() - started,
            table=table,
            positions=positions,
            finished=finished,
            warnings=answer.warnings,
            partial=answer.partial,
        )

    def _tables(
        self, name: str, answer: Answer
    ) -> tuple[SignalTable, Mapping[int, SignalTable], Mapping[EngineKey, Finished]]:
        """Order an answer by engine, and by position or finish reason where it has them.

        Raises:
            MalformedError: Its labels cannot be used.
        """
        labels = REGISTRY[name].labels
        try:
            if REASON_LABEL in labels:
                table, finished = finished_table(answer, self._book)
                return table, {}, finished
            if POSITION_LABEL not in labels:
                return signal_table(answer, self._book), {}, {}
            positions = position_tables(answer, self._book)
        except MalformedError as error:
            raise MalformedError(
                f"malformed answer: {error}; is a Prometheus at the endpoint's url?"
            ) from None
        # Engines that any position calls not finite, so that a later position's NaN is not missed.
        broken = frozenset[EngineKey]().union(*(each.not_finite for each in positions.values()))
        first = positions.get(0, SignalTable(values={}))
        return replace(first, not_finite=broken, series=len(answer.labels)), positions, {}

    def _usable_slow(self, now: float) -> SlowView:
        """What slow tables within their age limit tell; the rest is forgotten."""
        usable = {
            name: tables
            for name, tables in self._slow.items()
            if abs(now - tables.taken_at) <= self._slow_max_age
        }
        # Kept from read to read: it changes only when a table comes or goes.
        if self._slow_view is None or len(usable) != len(self._slow):
            self._slow_view = slow_view(usable)
        self._slow = usable
        return self._slow_view

    def _failed(self, now: float, message: str, asked: Mapping[str, _Asked]) -> TelemetrySnapshot:
        """Note a failure and tell it."""
        self._backoff = self._backoff.failed(
            now, retry_after_seconds=self._client.retry_after_seconds
        )
        self._error = message
        return self._failure(now, message, asked=True, queries=asked)

    def _failure(
        self,
        now: float,
        message: str,
        *,
        asked: bool,
        queries: Mapping[str, _Asked] = MappingProxyType({}),
    ) -> TelemetrySnapshot:
        return TelemetrySnapshot(
            endpoint=self.endpoint.name,
            taken_at=now,
            window_seconds=self.window_seconds,
            error=message,
            answered_at=self._answered_at,
            next_attempt_at=self._backoff.next_attempt_at,
            asked=asked,
            query_seconds={name: outcome.seconds for name, outcome in queries.items()},
        )

    def _snapshot(
        self, now: float, fast: Mapping[str, SignalTable], asked: Mapping[str, _Asked]
    ) -> TelemetrySnapshot:
        slow = self._usable_slow(now)
        assembled = assemble(fast, slow, window_seconds=self.window_seconds)
        failed = {name: a.error for name, a in asked.items() if a.error is not None}
        remarks = [*assembled.remarks, *sparse_remarks(fast, self.window_seconds)]
        remarks += [f"query {name} failed: {reason}" for name, reason in failed.items()]
        remarks += _about_series({n: a.table.remarks for n, a in asked.items() if a.table})
        remarks += [w for outcome in asked.values() for w in (*outcome.warnings, *outcome.partial)]
        return TelemetrySnapshot(
            endpoint=self.endpoint.name,
            taken_at=now,
            window_seconds=self.window_seconds,
            answered_at=now,
            warnings=_bounded(remarks),
            partial=_bounded(remark for outcome in asked.values() for remark in outcome.partial),
            failed=MappingProxyType(failed),
            engines=assembled.engines,
            gpus=slow.gpus,
            ambiguous=assembled.ambiguous,
            query_seconds=MappingProxyType({n: a.seconds for n, a in asked.items()}),
            series=MappingProxyType({n: a.table.series for n, a in asked.items() if a.table}),
            slow_age_seconds=MappingProxyType(
                {name: abs(now - tables.taken_at) for name, tables in self._slow.items()}
            ),
        )


def _about_series(remarks: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What is wrong with series, once for all queries that found it: most find the same."""
    queries: dict[str, list[str]] = {}
    for name, texts in remarks.items():
        for text in texts:
            queries.setdefault(text, []).append(name)
    return [
        f"query {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {text}"
        for text, names in queries.items()
    ]


def _bounded(warnings: Iterable[str]) -> tuple[str, ...]:
    """Each warning once, not too many and not too long: they end up in a status."""
    unique = list(dict.fromkeys(warning[:_WARNING_LENGTH] for warning in warnings))
    if len(unique) > MAX_WARNINGS:
        more = len(unique) - MAX_WARNINGS + 1
        unique = [*unique[: MAX_WARNINGS - 1], f"and {more} more warnings"]
    return tuple(unique)
