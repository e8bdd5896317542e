"""What the load was: read once at start, so that a new process need not learn it anew.

Two resolutions, each one small number of range queries for all Pods at once:

- *long*: means over five minutes, up to seven days back, summed over the Pods of each workload by
  the endpoint itself. Pods come and go with every roll, so by Pod it would be many times as much.
- *recent*: every 15 s over the last minutes, by Pod.

A workload is what a Pod's name tells of it: `llama-7c9f8d6b5-x2z4q` belongs to `llama`. Whether it
is the target of a serving is for the caller to say (`of_target`).
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import TelemetryError, TooLargeError
from ridgeline.telemetry.history_names import owned_by, workload_pattern
from ridgeline.telemetry.history_ranges import Grid, Pieces, RangeDownload, Ranges, RangeSeries
from ridgeline.telemetry.parse import number
from ridgeline.telemetry.queries import REGISTRY, query_context

LONG_STEP_SECONDS: Final = 300
LONG_SECONDS: Final = 7 * 86400
RECENT_STEP_SECONDS: Final = 15

WORKLOAD_LABEL: Final = "ridgeline_workload"

Owner = tuple[str, str]
"""Namespace and name of a workload, or of a Pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """Load of one Pod or workload at one time; only what was measured is a point.

    Attributes:
        at: Epoch seconds, the end of the mean.
        tokens_per_second: Output tokens per second of all engines.
        concurrency: Requests in decode over all engines; per engine it is this ÷ `engines`.
        engines: Engines behind the numbers.
    """

    at: float
    tokens_per_second: float
    concurrency: float
    engines: int


Load = tuple[LoadPoint, ...]
"""Points from the oldest to the newest; times without a point were not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What an endpoint knows of the load.

    Attributes:
        read_at: Epoch seconds up to which it was read.
        long: By workload, means over five minutes.
        recent: By Pod, means over the rate window at every 15 s.
        error: Why there is less than was asked for; `None` when it is all there.
    """

    read_at: float
    long: Mapping[Owner, Load] = field(default_factory=dict)
    recent: Mapping[Owner, Load] = field(default_factory=dict)
    error: str | None = None


async def read_history(
    endpoint: Endpoint,
    now: float,
    *,
    window_seconds: float = 120.0,
    long_seconds: int = LONG_SECONDS,
    recent_seconds: int | None = None,
) -> History:
    """Read how the load of all workloads behind an endpoint was.

    It never raises because of the endpoint: what could be read is told, and why not the rest. It
    does not hold up the event loop.

    Args:
        endpoint: What to ask; its `timeout_seconds` is for each query.
        now: Epoch seconds; nothing later is read.
        window_seconds: Rate window of the recent points.
        long_seconds: How far back the long points go.
        recent_seconds: How far back the recent points go; one rate window if not told.
    """
    return await asyncio.to_thread(
        _read,
        endpoint,
        now,
        window_seconds=window_seconds,
        long_seconds=long_seconds,
        recent_seconds=round(window_seconds) if recent_seconds is None else recent_seconds,
    )


def of_target(loads: Mapping[Owner, Load], namespace: str, deployment: str) -> Load:
    """Return the load of a Deployment: its workload and its Pods, summed time by time.

    A time at which only some of the Pods were measured counts what was measured; `engines` tells.
    """
    mine = (
        load
        for (where, name), load in loads.items()
        if where == namespace and owned_by(name, deployment)
    )
    return summed(mine)


def summed(loads: Iterable[Load]) -> Load:
    """Return the sum of loads, time by time."""
    at: dict[float, LoadPoint] = {}
    for load in loads:
        for point in load:
            before = at.get(point.at)
            at[point.at] = point if before is None else _sum(before, point)
    return tuple(at[time] for time in sorted(at))


def _sum(a: LoadPoint, b: LoadPoint) -> LoadPoint:
    return LoadPoint(
        at=a.at,
        tokens_per_second=a.tokens_per_second + b.tokens_per_second,
        concurrency=a.concurrency + b.concurrency,
        engines=a.engines + b.engines,
    )


def _read(
    endpoint: Endpoint,
    now: float,
    *,
    window_seconds: float,
    long_seconds: int,
    recent_seconds: int,
) -> History:
    recent: Mapping[Owner, Load] = {}
    try:
        ranges = RangeDownload(endpoint)
        recent = load_of(
            ranges,
            recent_queries(endpoint, window_seconds),
            _grid(now, recent_seconds, RECENT_STEP_SECONDS),
            (endpoint.namespace_label, endpoint.pod_label),
        )
        long = load_of(
            ranges,
            long_queries(endpoint),
            _grid(now, long_seconds, LONG_STEP_SECONDS),
            (endpoint.namespace_label, WORKLOAD_LABEL),
        )
    except TelemetryError as error:
        told = f"endpoint {endpoint.name!r}: {error}"
        return History(read_at=now, recent=recent, error=told)
    return History(read_at=now, long=long, recent=recent)


def _grid(now: float, seconds: int, step: int) -> Grid:
    """Return times that are multiples of the step: two reads see the same points."""
    end = int(now) // step * step
    return Grid(start=end - max(0, seconds) // step * step, end=end, step=step)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadQueries:
    """The three questions behind a load point."""

    tokens: str
    concurrency: str
    engines: str


def recent_queries(endpoint: Endpoint, window_seconds: float) -> LoadQueries:
    """Return the queries by Pod."""
    by = f"{endpoint.namespace_label}, {endpoint.pod_label}"
    tokens, concurrency = _by_engine(endpoint, window_seconds)
    return _grouped(by, tokens, concurrency)


def long_queries(endpoint: Endpoint) -> LoadQueries:
    """Return the queries by workload."""
    by = f"{endpoint.namespace_label}, {WORKLOAD_LABEL}"
    pattern = workload_pattern()

    def named(promql: str) -> str:
        # First the Pod's own name, for Pods that are named otherwise; then what tells a workload.
        whole = f'label_replace({promql}, "{WORKLOAD_LABEL}", "$1", "{endpoint.pod_label}", "(.*)")'
        return (
            f'label_replace({whole}, "{WORKLOAD_LABEL}", "$1", "{endpoint.pod_label}", "{pattern}")'
        )

    tokens, concurrency = _by_engine(endpoint, LONG_STEP_SECONDS)
    return _grouped(by, named(tokens), named(concurrency))


def _by_engine(endpoint: Endpoint, window_seconds: float) -> tuple[str, str]:
    context = query_context(endpoint, window_seconds)
    return (
        REGISTRY["generated_tokens"].render(context),
        REGISTRY["decode_concurrency"].render(context),
    )


def _grouped(by: str, tokens: str, concurrency: str) -> LoadQueries:
    return LoadQueries(
        tokens=f"sum by ({by}) ({tokens})",
        concurrency=f"sum by ({by}) ({concurrency})",
        engines=f"count by ({by}) ({concurrency})",
    )


def load_of(
    ranges: Ranges, queries: LoadQueries, grid: Grid, labels: tuple[str, str]
) -> dict[Owner, Load]:
    """Ask the three questions over a grid, piece by piece.

    Raises:
        TelemetryError: A piece cannot be had, however small.
    """
    loads: dict[Owner, list[LoadPoint]] = {}
    pieces, done = Pieces(), 0
    while done < grid.count:
        piece = grid.piece(done, pieces.points)
        try:
            answers = [
                ranges.fetch(promql, piece)
                for promql in (queries.tokens, queries.concurrency, queries.engines)
            ]
        except TooLargeError as error:
            pieces.refused(error)
            continue
        for owner, points in _points(answers, labels).items():
            loads.setdefault(owner, []).extend(points)
        done += piece.count
        pieces.answered(max(map(len, answers)))
    return {owner: tuple(points) for owner, points in sorted(loads.items())}


def _points(
    answers: list[list[RangeSeries]], labels: tuple[str, str]
) -> dict[Owner, list[LoadPoint]]:
    tokens, concurrency, engines = (_by_owner(each, labels) for each in answers)
    found: dict[Owner, list[LoadPoint]] = {}
    for owner, values in tokens.items():
        others, counts = concurrency.get(owner, {}), engines.get(owner, {})
        points = [
            LoadPoint(
                at=at,
                tokens_per_second=value,
                concurrency=others[at],
                engines=round(counts[at]),
            )
            for at, value in values.items()
            if at in others and at in counts
        ]
        if points:
            found[owner] = points
    return found


def _by_owner(
    answer: list[RangeSeries], labels: tuple[str, str]
) -> dict[Owner, dict[float, float]]:
    """Finite numbers by owner and time; series without the two labels are nobody's."""
    found: dict[Owner, dict[float, float]] = {}
    for series in answer:
        owner = (series.labels.get(labels[0], ""), series.labels.get(labels[1], ""))
        if all(owner):
            numbers = ((at, number(text)) for at, text in series.points)
            found[owner] = {at: value for at, value in numbers if value is not None and value >= 0}
    return found
