"""The load of a serving in the past, beside its cut-off and what was switched meanwhile."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.render.report import Axis, Chart, Line, Mark
from ridgeline.render.report_scale import tell
from ridgeline.terms.times import epoch_seconds

Document = Mapping[str, Any]

_GAP_STEPS: Final = 1.5
"""Steps without a point after which a line has a gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPoint:
    """The load at one time of the past.

    Attributes:
        at: Epoch seconds.
        concurrency: Requests in decode per engine.
        tokens_per_second: Output tokens per second of all engines.
    """

    at: float
    concurrency: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a Prometheus tells of the load before.

    Attributes:
        begins: Epoch seconds from which it was asked.
        ends: Epoch seconds up to which it was asked.
        points: From the oldest to the newest; times without a point were not measured.
        step: Seconds between two points.
        error: Why there is less than was asked for; `None` when it is all there.
    """

    begins: float
    ends: float
    points: tuple[PastPoint, ...]
    step: float
    error: str | None = None


def past_charts(past: Past, status: Document) -> Iterator[Chart]:
    """Yield the charts of concurrency and of tokens over time; none where nothing was measured.

    Args:
        past: The load.
        status: The serving's status, whose cut-off and switches are drawn in.
    """
    if not past.points:
        return
    marks = tuple(_switches(past, status))
    known = [each.concurrency for each in past.points]
    yield Chart(
        title="Concurrency over time, with the cut-off of now",
        summary=f"Requests in decode per engine, {tell(min(known))} to {tell(max(known))}; "
        f"{len(marks)} switches in this time.",
        x_label="time, UTC",
        y_label="requests in decode per engine",
        axis=Axis.UTC,
        lines=(
            _line(
                "requests in decode per engine", past, [each.concurrency for each in past.points]
            ),
            *_levels(past, status),
        ),
        marks=marks,
    )
    tokens = [each.tokens_per_second for each in past.points]
    yield Chart(
        title="Output over time",
        summary=f"Output tokens per second of all replicas, {tell(min(tokens))} to "
        f"{tell(max(tokens))}.",
        x_label="time, UTC",
        y_label="tokens per second",
        axis=Axis.UTC,
        lines=(_line("output tokens per second", past, tokens),),
        marks=marks,
    )


def _line(name: str, past: Past, values: Sequence[float]) -> Line:
    """Return a line with a gap wherever points are missing."""
    x: list[float] = []
    y: list[float | None] = []
    for point, value in zip(past.points, values, strict=True):
        if x and point.at - x[-1] > _GAP_STEPS * past.step:
            x.append(x[-1] + past.step)
            y.append(None)
        x.append(point.at)
        y.append(value)
    return Line(name=name, x=tuple(x), y=tuple(y))


def _levels(past: Past, status: Document) -> Iterator[Line]:
    ends = (past.begins, past.ends)
    for row in status.get("cutoffTable") or ():
        for key, what, colour in (
            ("upToConcurrency", "cut-off of", 7),
            ("actAtConcurrency", "acts at the end of", 1),
        ):
            at = row.get(key)
            if isinstance(at, int | float) and math.isfinite(at):
                name = f"{what} {row.get('profile')}"
                level = (float(at), float(at))
                yield Line(name=name, x=ends, y=level, colour=colour, dashed=True)


def _switches(past: Past, status: Document) -> Iterator[Mark]:
    for each in status.get("switchHistory") or ():
        begins, ends = _moment(each.get("startTime")), _moment(each.get("finishTime"))
        if begins is not None and past.begins <= begins <= past.ends:
            until = min(ends, past.ends) if ends is not None and ends > begins else None
            yield Mark(x=begins, until=until, label=f"to {each.get('to')}", colour=3)


def _moment(text: object) -> float | None:
    try:
        return epoch_seconds(text) if isinstance(text, str) else None
    except ValueError:
        return None
