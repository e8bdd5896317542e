"""A replay as a report."""

from collections.abc import Iterator

from ridgeline import __version__
from ridgeline.policy.decision import Decision
from ridgeline.render.replay import Replays, decision_rows, difference_rows, words
from ridgeline.render.report import (
    Axis,
    Block,
    Chart,
    Lane,
    Lanes,
    Line,
    Mark,
    Report,
    Section,
    Span,
    Table,
)
from ridgeline.render.report_scale import tell
from ridgeline.sim.replayed import Replay, Said, active_profile, runs_of

MOST_ROWS = 500
MOST_MARKS = 10


def replay_report(replays: Replays) -> Report:
    """Return the report."""
    ways = [each for each in (replays.one, replays.other) if each is not None]
    return Report(
        title=f"What would have been decided for {replays.serving}?",
        subtitle="Recorded telemetry, decided again by " + " and by ".join(e.name for e in ways),
        summary=words(replays),
        cautions=replays.cautions,
        sections=(
            Section(
                title="Through the time",
                blocks=(_lanes(replays, ways), *_charts(ways)),
            ),
            *_difference_section(replays),
            *(_decision_section(each) for each in ways),
        ),
        footer=f"Made by ridgeline {__version__} replay.",
    )


def _lanes(replays: Replays, ways: list[Replay]) -> Lanes:
    ticks = replays.one.ticks
    rows = [("what ran", [active_profile(each) for each in ticks])]
    rows += [
        (each.name, [_wanted(said) for said in each.said])
        for each in (replays.recorded, *ways)
        if any(said is not None for said in each.said)
    ]
    names = sorted({word for _, words in rows for word in words if word is not None})
    lanes = tuple(
        Lane(
            name=name,
            spans=tuple(
                Span(begins=begins, ends=ends, label=word, colour=names.index(word))
                for word, begins, ends in runs_of(ticks, words)
                if word is not None
            ),
        )
        for name, words in rows
    )
    return Lanes(
        title="Profile that ran, and profile that was wanted",
        summary="Which profile ran, and which each way of deciding wanted, over time: "
        + "; ".join(f"{each.name}, {len(each.switches)} rolls" for each in ways),
        lanes=lanes,
        begins=ticks[0].at,
        ends=max(ticks[-1].at, ticks[0].at + 1.0),
        axis=Axis.UTC,
    )


def _charts(ways: list[Replay]) -> Iterator[Chart]:
    seen = ways[0]
    times = tuple(each.at for each in seen.ticks)
    concurrency = tuple(each.diagnostics.estimates.concurrency for each in seen.decisions)
    known = [each for each in concurrency if each is not None]
    lines = [Line(name="requests in decode per engine", x=times, y=concurrency)]
    for colour, each in enumerate(ways, start=1):
        borders = each.borders
        if any(border is not None for border in borders):
            name = f"cut-off, {each.name}"
            lines.append(Line(name=name, x=times, y=borders, colour=colour, dashed=True))
    yield Chart(
        title="Concurrency, and where the cut-offs lie",
        summary="Requests in decode per engine over time"
        + (f", {tell(min(known))} to {tell(max(known))}." if known else ": nothing was seen."),
        x_label="time, UTC",
        y_label="requests in decode per engine",
        axis=Axis.UTC,
        lines=tuple(lines),
        marks=tuple(_roll_marks(ways)),
    )
    demand = tuple(_demand(each) for each in seen.decisions)
    if any(each is not None for each in demand):
        yield Chart(
            title="Demand, as the control law reckons it",
            summary="Tokens per second asked of the fleet over time.",
            x_label="time, UTC",
            y_label="tokens per second",
            axis=Axis.UTC,
            lines=(Line(name="demand", x=times, y=demand),),
        )


def _wanted(said: Said | None) -> str | None:
    return None if said is None else said.recommended or said.profile


def _demand(decision: Decision) -> float | None:
    law = decision.diagnostics.law
    return law.demand if law is not None else None


def _roll_marks(ways: list[Replay]) -> Iterator[Mark]:
    for colour, each in enumerate(ways, start=1):
        for switch in each.switches[:MOST_MARKS]:
            label = f"to {switch.said.profile}, {each.name}"
            yield Mark(x=switch.begins, label=label, colour=colour)


def _difference_section(replays: Replays) -> Iterator[Section]:
    found = replays.differences
    if not found:
        return
    one, other = replays.compared
    yield Section(
        title="Where they differ",
        blocks=(
            Table(
                title=f"{one.name} against {other.name}",
                columns=("from", "to", one.name, other.name, "in words"),
                rows=tuple(difference_rows(found[:MOST_ROWS])),
            ),
        ),
    )


def _decision_section(replay: Replay) -> Section:
    block: Block = Table(
        title="Decisions",
        columns=("from", "moments", "does", "profile", "why", "in words"),
        rows=tuple(decision_rows(replay)[:MOST_ROWS]),
        numeric=(1,),
    )
    return Section(title=f"What {replay.name} decides", blocks=(block,))
