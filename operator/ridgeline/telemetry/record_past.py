"""Records the past: the tick's own queries, asked over a range, read by the tick's own reader.

At each step the reader gets exactly what an instant query would have answered then, so a number of
the past means what it means live. What only the Kubernetes API knew is not known any more: the
target, its template, which Pods were Ready and since when. `RecordedTick.unknown` names it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from ridgeline import __version__
from ridgeline.policy.facts import Facts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.telemetry.client import Credentials, PrometheusClient
from ridgeline.telemetry.endpoint import Endpoint, Matcher
from ridgeline.telemetry.errors import (
    BadQueryError,
    TelemetryError,
    TooLargeError,
    UnavailableError,
)
from ridgeline.telemetry.history_names import pods_pattern, workload_of
from ridgeline.telemetry.history_ranges import Grid, Pieces, Ranges, RangeSeries
from ridgeline.telemetry.parse import Answer, parse_answer
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.record import (
    PAST,
    RecordedTick,
    RecordError,
    RecordHeader,
    recorded_endpoints,
)
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

STALE_AFTER_SECONDS: Final = 60.0

UNKNOWN: Final = (
    "target",
    "replicas.ready_seconds",
    "replicas.profile",
    "replicas.expected_engines",
    "plan",
)
"""What no Prometheus tells. `ready_seconds` holds how long the Pod's series had been seen."""

_NO_TARGET: Final = Problem(
    reason=Reason.TARGET_NOT_FOUND,
    message="recorded from the past: Prometheus does not tell what the Deployment was",
)

Progress = Callable[[int, int], None]
"""Is told how many steps are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPlan:
    """What is to be recorded.

    Attributes:
        endpoint: What to ask.
        namespace: Namespace of the Pods.
        target: Deployment whose Pods are wanted; `None` when `pods` tells.
        pods: Regular expression of the names of the Pods; `None` when `target` tells.
        grid: Times to evaluate.
        window_seconds: Rate window.
    """

    endpoint: Endpoint
    namespace: str
    target: str | None
    pods: str | None
    grid: Grid
    window_seconds: float

    def narrowed(self) -> Endpoint:
        """Return the endpoint with matchers for the wanted Pods alone."""
        pattern = pods_pattern(self.target) if self.target is not None else self.pods or ".+"
        return replace(
            self.endpoint,
            matchers=(
                *self.endpoint.matchers,
                Matcher(label=self.endpoint.namespace_label, value=self.namespace),
                Matcher(label=self.endpoint.pod_label, value=pattern, operator="=~"),
            ),
        )

    def header(self) -> RecordHeader:
        """Return the header of the record."""
        return RecordHeader(
            ridgeline=__version__,
            source=PAST,
            window_seconds=self.window_seconds,
            endpoints=recorded_endpoints({self.endpoint.name: self.endpoint}),
            step_seconds=float(self.grid.step),
        )


def past_ticks(plan: PastPlan, ranges: Ranges, progress: Progress) -> Iterator[RecordedTick]:
    """Return a tick for each step and workload that had samples then.

    Args:
        plan: What is wanted.
        ranges: Where the answers come from, narrowed or not.
        progress: Is told after each piece.

    Raises:
        RecordError: A query that decisions need cannot be had; the message says what to do.
    """
    client = _PastClient(plan.narrowed())
    reader = TelemetryReader(
        client.endpoint,
        window_seconds=plan.window_seconds,
        slow_every=1,
        slow_max_age_seconds=plan.grid.step * 1.5,
        client=client,
    )
    seen = _Seen(plan)
    pieces, done = Pieces(), 0
    with asyncio.Runner() as runner:
        while done < plan.grid.count:
            piece = plan.grid.piece(done, pieces.points)
            try:
                most = client.load(reader.promql, ranges, piece)
            except TooLargeError as error:
                _halve(pieces, error)
                continue
            for number in range(piece.count):
                at = float(piece.start + number * piece.step)
                yield from seen.ticks(runner.run(reader.read(at)))
            done += piece.count
            pieces.answered(most)
            progress(done, plan.grid.count)
        runner.run(reader.close())


def _halve(pieces: Pieces, error: TooLargeError) -> None:
    try:
        pieces.refused(error)
    except TelemetryError as final:
        raise RecordError(str(final)) from final


class _PastClient(PrometheusClient):
    """Answers instant queries from ranges that were downloaded before."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._at: dict[str, dict[float, list[dict[str, object]]]] = {}
        self._refused: dict[str, TelemetryError] = {}

    def load(self, promql: Mapping[str, str], ranges: Ranges, piece: Grid) -> int:
        """Download a piece of every query; return the largest number of series in an answer.

        Raises:
            TooLargeError: A smaller piece may be had.
            RecordError: A query that decisions need cannot be had at all.
        """
        self._at.clear()
        self._refused.clear()
        most = 0
        for name, query in promql.items():
            try:
                answer = ranges.fetch(query, piece)
            except TooLargeError:
                raise
            except TelemetryError as error:
                if isinstance(error, UnavailableError) and error.status is None:
                    # It lies with the endpoint and not with this query.
                    raise RecordError(str(error)) from error
                if name in FAST or not isinstance(error, BadQueryError):
                    raise RecordError(f"query {name} failed: {error}") from error
                # As live: a slow query that is refused costs its own signal alone.
                self._refused[query] = error
                continue
            most = max(most, len(answer))
            self._at[query] = _by_time(answer)
        return most

    def credentials(self) -> Credentials:
        """Return none: nothing is sent."""
        return Credentials(headers={}, secrets=())

    async def query(
        self,
        promql: str,
        *,
        time: float,
        deadline: float,  # noqa: ARG002 (there is nothing to wait for)
        credentials: Credentials,  # noqa: ARG002
    ) -> Answer:
        """Return what the query would have answered at that time."""
        if promql in self._refused:
            raise self._refused[promql]
        if promql not in self._at:
            raise UnavailableError("this query was not downloaded")
        data = {"resultType": "vector", "result": self._at[promql].get(time, [])}
        body = msgspec.json.encode({"status": "success", "data": data})
        return parse_answer(body, max_series=self.endpoint.max_series)


def _by_time(answer: list[RangeSeries]) -> dict[float, list[dict[str, object]]]:
    found: dict[float, list[dict[str, object]]] = {}
    for series in answer:
        for at, text in series.points:
            found.setdefault(at, []).append({"metric": series.labels, "value": [at, text]})
    return found


class _Seen:
    """Turns snapshots into ticks, and remembers since when each Pod has been seen."""

    def __init__(self, plan: PastPlan) -> None:
        self._plan = plan
        self._since: dict[str, float] = {}

    def ticks(self, snapshot: TelemetrySnapshot) -> list[RecordedTick]:
        """Return a tick for each workload of the snapshot.

        Raises:
            RecordError: The snapshot has no numbers at all.
        """
        if snapshot.error is not None:
            raise RecordError(snapshot.error)
        replicas: dict[str, list[ReplicaFacts]] = {}
        for (namespace, pod), engines in snapshot.engines.items():
            # A Pod whose samples ended is gone, as far as the past can tell.
            alive = min((each.age_seconds for each in engines), default=STALE_AFTER_SECONDS)
            if namespace != self._plan.namespace or alive > STALE_AFTER_SECONDS:
                self._since.pop(pod, None)
                continue
            since = self._since.setdefault(pod, snapshot.taken_at)
            workload = self._plan.target or workload_of(pod)
            replicas.setdefault(workload, []).append(
                ReplicaFacts(
                    name=pod,
                    ready_seconds=snapshot.taken_at - since,
                    profile=None,
                    engines=engines,
                    expected_engines=len(engines),
                )
            )
        return [self._tick(snapshot, name, found) for name, found in sorted(replicas.items())]

    def _tick(
        self, snapshot: TelemetrySnapshot, workload: str, replicas: list[ReplicaFacts]
    ) -> RecordedTick:
        telemetry = TelemetryFacts(
            endpoint=snapshot.endpoint,
            window_seconds=snapshot.window_seconds,
            stale_after_seconds=STALE_AFTER_SECONDS,
            answered_at=snapshot.answered_at,
            warnings=snapshot.warnings,
            partial=snapshot.partial,
        )
        return RecordedTick(
            at=snapshot.taken_at,
            namespace=self._plan.namespace,
            serving=workload,
            facts=Facts(target=_NO_TARGET, replicas=tuple(replicas), telemetry=telemetry),
            unknown=UNKNOWN,
        )
