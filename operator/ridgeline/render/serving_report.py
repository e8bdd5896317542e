"""Servings of a cluster as a report: what they run and why, their cut-offs, what was switched."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline import __version__
from ridgeline.render.cutoff import range_rows
from ridgeline.render.cutoff_report import CutoffReport, Predicted
from ridgeline.render.report import (
    Axis,
    Block,
    Chart,
    Facts,
    Lane,
    Lanes,
    Line,
    Mark,
    Report,
    Section,
    Span,
    Table,
)
from ridgeline.render.serving_past import Past, past_charts
from ridgeline.terms.times import epoch_seconds

Document = Mapping[str, Any]

MOST_EVENTS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingReport:
    """What is known of one serving.

    Attributes:
        name: Namespace and name.
        status: Its status.
        events: Its Events, oldest first.
        cutoffs: Its cut-offs with what the cost model predicts, or why they cannot be told.
        concurrency: Requests in decode per engine now; `None` while nobody looked.
        decision: How a decision would come about now, line by line.
        past: The load of before; `None` where nobody asked for it.
    """

    name: str
    status: Document
    events: Sequence[Document] = ()
    cutoffs: CutoffReport | str
    concurrency: float | None = None
    decision: Sequence[str] = ()
    past: Past | None = None


def servings_report(servings: Sequence[ServingReport], where: str, now: str) -> Report:
    """Return the report.

    Args:
        servings: What is known of each.
        where: Which servings these are, such as `namespace inference`.
        now: The time of the look, as text.
    """
    return Report(
        title=f"Servings of {where}",
        subtitle=f"As they were at {now}",
        summary=tuple(_sentence(each) for each in servings) or ("There is no serving here.",),
        cautions=tuple(_trouble(servings)),
        sections=tuple(_section(each) for each in servings),
        footer=f"Made by kubectl ridgeline report, version {__version__}. Speed-ups are predicted; "
        "times are told only where they were measured.",
    )


def _sentence(serving: ServingReport) -> str:
    status = serving.status
    if not status:
        return f"{serving.name} has no status yet: is the operator running, and does it watch here?"
    active, wanted = status.get("activeProfile"), status.get("recommendedProfile")
    decision = status.get("lastDecision") or {}
    told = f"{serving.name} runs {active or 'a profile that is not known'}"
    if wanted and wanted != active:
        told += f", and {wanted} would be better"
    if not decision:
        return f"{told}."
    return f"{told} ({decision.get('reason')}): {decision.get('message')}."


def _trouble(servings: Sequence[ServingReport]) -> Iterator[str]:
    for each in servings:
        if each.past is not None and each.past.error is not None:
            yield f"{each.name}: the load of before is not all there: {each.past.error}"
        for one in each.status.get("conditions") or ():
            if one.get("type") == "Stalled" and one.get("status") == "True":
                yield f"{each.name} waits for a person ({one.get('reason')}): {one.get('message')}"


def _section(serving: ServingReport) -> Section:
    status = serving.status
    past = tuple(past_charts(serving.past, status)) if serving.past is not None else ()
    if not status:
        return Section(title=serving.name, paragraphs=(_sentence(serving),), blocks=past)
    return Section(
        title=serving.name,
        paragraphs=(_sentence(serving),),
        blocks=(
            _facts(serving),
            *_cutoffs(serving),
            *past,
            *_switches(status),
            _conditions(status),
            *_decision(serving),
            *_events(serving.events),
        ),
    )


def _facts(serving: ServingReport) -> Facts:
    status = serving.status
    decision = status.get("lastDecision") or {}
    at = serving.concurrency
    told = (
        ("active profile", status.get("activeProfile") or "not known"),
        ("wanted profile", status.get("desiredProfile") or "not known"),
        ("recommended profile", status.get("recommendedProfile") or "cannot tell"),
        ("accelerator", (status.get("accelerator") or {}).get("name") or "not known"),
        ("decided", f"{decision.get('reason', 'nothing yet')} since {decision.get('time', '–')}"),
        (
            "requests in decode per engine",
            "not looked at (--prometheus)" if at is None else f"{at:.3g}",
        ),
    )
    return Facts(title="Now", rows=tuple((name, str(value)) for name, value in told))


def _cutoffs(serving: ServingReport) -> Iterator[Block]:
    cutoffs = serving.cutoffs
    if isinstance(cutoffs, str):
        yield Facts(title="Cut-offs", rows=(("not known", cutoffs),))
        return
    if isinstance(cutoffs.table, str):
        yield Facts(title="Cut-offs", rows=(("none", cutoffs.table),))
    else:
        yield Table(
            title="Cut-offs, requests in decode per engine",
            columns=("from", "up to", "profile", "band of the border"),
            rows=tuple(range_rows(cutoffs.table)),
            numeric=(0, 1),
        )
    if isinstance(cutoffs.predicted, Predicted):
        yield from _curves(serving, cutoffs.predicted)


def _curves(serving: ServingReport, told: Predicted) -> Iterator[Chart]:
    shown = [each for each in told.profiles if each.arm.method.speculates and each.curve]
    if not shown:
        return
    lines = [
        Line(
            name=each.arm.name,
            x=tuple(point.concurrency for point in each.curve),
            y=tuple(point.speedup for point in each.curve),
            colour=index,
        )
        for index, each in enumerate(shown)
    ]
    ends = (lines[0].x[0], max(line.x[-1] for line in lines))
    even = Line(name=str(told.baseline), x=ends, y=(1.0, 1.0), colour=6, dashed=True)
    marks = tuple(_marks(serving))
    yield Chart(
        title="Speed-up by concurrency",
        summary=f"Tokens per second relative to {told.baseline}, by requests in decode per engine. "
        + "; ".join(each.label for each in marks),
        x_label="requests in decode per engine",
        y_label=f"tokens per second ÷ those of {told.baseline}",
        lines=(*lines, even),
        marks=marks,
    )


def _marks(serving: ServingReport) -> Iterator[Mark]:
    for row in serving.status.get("cutoffTable") or ():
        for key, what, colour in (
            ("upToConcurrency", "cut-off of", 7),
            ("actAtConcurrency", "acts at the end of", 1),
        ):
            at = row.get(key)
            if isinstance(at, int | float) and math.isfinite(at):
                label = f"{what} {row.get('profile')}: {at:g}"
                yield Mark(x=float(at), label=label, colour=colour)
    if serving.concurrency is not None:
        at = serving.concurrency
        yield Mark(x=at, label=f"now: {at:.3g}", colour=2)


def _switches(status: Document) -> Iterator[Block]:
    history = status.get("switchHistory") or ()
    if not history:
        return
    yield from _lanes(history)
    yield Table(
        title="Switches",
        columns=("decided", "ended", "from", "to", "why"),
        rows=tuple(
            (
                str(each.get("startTime", "–")),
                str(each.get("finishTime", "under way")),
                str(each.get("from", "not known")),
                str(each.get("to", "–")),
                str(each.get("reason", "–")),
            )
            for each in history
        ),
    )


def _lanes(history: Sequence[Document]) -> Iterator[Lanes]:
    moments = sorted(
        (
            begin,
            _moment(each.get("finishTime")) or begin,
            str(each.get("from")),
            str(each.get("to")),
        )
        for each in history
        if (begin := _moment(each.get("startTime"))) is not None
    )
    if len(moments) < 2:
        return
    names = sorted({name for _, _, *pair in moments for name in pair})
    spans = []
    for index, (begin, end, _, to) in enumerate(moments):
        following = moments[index + 1][0] if index + 1 < len(moments) else end
        spans.append(Span(begins=begin, ends=end, label=f"rolling to {to}", colour=None))
        if following > end:
            spans.append(Span(begins=end, ends=following, label=to, colour=names.index(to)))
    yield Lanes(
        title="Profile over time, hatched while it rolled",
        summary=f"The last {len(moments)} switches over time; the table beneath lists them.",
        lanes=(Lane(name="profile", spans=tuple(spans)),),
        begins=moments[0][0],
        ends=max(moments[-1][1], moments[0][0] + 60.0),
        axis=Axis.UTC,
    )


def _moment(text: object) -> float | None:
    try:
        return epoch_seconds(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _conditions(status: Document) -> Table:
    return Table(
        title="Conditions",
        columns=("type", "status", "reason", "since", "message"),
        rows=tuple(
            tuple(
                str(each.get(key, ""))
                for key in ("type", "status", "reason", "lastTransitionTime", "message")
            )
            for each in status.get("conditions") or ()
        ),
    )


def _decision(serving: ServingReport) -> Iterator[Table]:
    if serving.decision:
        yield Table(
            title="A decision now, step by step",
            columns=("step",),
            rows=tuple((line.strip(),) for line in serving.decision),
            folded=True,
        )


def _events(events: Sequence[Document]) -> Iterator[Table]:
    if events:
        yield Table(
            title="Events",
            columns=("time", "type", "reason", "note"),
            rows=tuple(
                (
                    str(each.get("eventTime", ""))[:19],
                    str(each.get("type", "")),
                    str(each.get("reason", "")),
                    str(each.get("note", "")),
                )
                for each in events[-MOST_EVENTS:]
            ),
            folded=True,
        )
