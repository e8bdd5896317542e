"""A comparison as a report."""

from collections.abc import Iterator

import numpy as np

from ridgeline import __version__
from ridgeline.costmodel.curve import Curve
from ridgeline.policy.decision import Outcome as Done
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
from ridgeline.render.report_scale import tell, tell_x
from ridgeline.render.simulation import COLUMNS, cells, facts
from ridgeline.render.simulation_words import cautions, drowns, lasting, summary
from ridgeline.sim.compare.play import Kind, Outcome
from ridgeline.sim.compare.scores import Simulated, rolls_of
from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.simulate import Result
from ridgeline.sim.requests.traffic import TICK_SECONDS

STEP_SECONDS = 300.0
"""Time lines show means of so long."""

MOST_DECISIONS = 500

SAME_WITHIN = 0.04
"""Curves that differ by less everywhere are drawn as one."""


def simulation_report(simulated: Simulated) -> Report:
    """Return the report."""
    subject = simulated.case.subject
    return Report(
        title=f"Would ridgeline pay for {subject}?",
        subtitle=f"{lasting(simulated.prepared.traffic.seconds)} simulated, "
        f"{simulated.options.replicas} replicas, strategies side by side on the same traffic",
        summary=summary(simulated),
        cautions=cautions(simulated),
        sections=(
            _comparison(simulated),
            _timeline(simulated),
            _cutoffs(simulated),
            _decisions(simulated),
        ),
        footer=f"Made by ridgeline {__version__} simulate, seed {simulated.options.seed}: the same "
        "command gives the same numbers.",
    )


def _comparison(simulated: Simulated) -> Section:
    operator = simulated.operator
    strong = tuple(index for index, each in enumerate(simulated.scores) if each == operator)
    return Section(
        title="Strategies side by side",
        paragraphs=(
            "Mean latency is the time from a request's arrival to its last token, waiting "
            "included. Regret is what a strategy cost its users beyond the best that rolls could "
            "have done: one request-hour is one request that takes an hour longer. Of the gain of "
            "that best over the best fixed choice, the table says how much a strategy has.",
        ),
        blocks=(
            Table(
                title="Strategies",
                columns=COLUMNS,
                rows=tuple(cells(each, simulated) for each in simulated.scores),
                numeric=tuple(range(1, len(COLUMNS))),
                strong=strong,
            ),
            Facts(
                title="What each does",
                rows=tuple((each.name, each.about) for each in simulated.scores if each.about),
            ),
            Facts(title="What is simulated", rows=facts(simulated)),
        ),
    )


def _timeline(simulated: Simulated) -> Section:
    return Section(
        title="Through the time",
        blocks=(
            _load_chart(simulated),
            _lanes(simulated),
            *_latency_chart(simulated),
            *_regret_chart(simulated),
        ),
    )


def _times(count: int) -> tuple[float, ...]:
    return tuple((index + 0.5) * STEP_SECONDS for index in range(count))


def _means(values: Floats) -> Floats:
    each = int(STEP_SECONDS / TICK_SECONDS)
    whole = len(values) // each * each
    found: Floats = values[:whole].reshape(-1, each).mean(axis=1)
    return found


def _load_chart(simulated: Simulated) -> Chart:
    prepared, output = simulated.prepared, simulated.case.sizes.output
    asked = prepared.traffic.flow.means(STEP_SECONDS) / output
    cutoff = prepared.cutoff_demand / output
    line = np.full(len(asked), cutoff)
    most = float(asked.max(initial=0.0))
    return Chart(
        title="Load",
        summary=f"Requests per second over time: {tell(float(asked.min(initial=0.0)))} to "
        f"{tell(most)}; the believed cut-off lies at {tell(cutoff)}.",
        x_label="time",
        y_label="requests per second",
        axis=Axis.ELAPSED,
        lines=(
            Line(name="asked for", x=_times(len(asked)), y=tuple(asked.tolist())),
            Line(
                name="cut-off, as believed",
                x=_times(len(line)),
                y=tuple(line.tolist()),
                colour=7,
                dashed=True,
            ),
        ),
    )


def _colours(simulated: Simulated) -> dict[str, int]:
    return {each.name: index for index, each in enumerate(simulated.case.truth.profiles)}


def _lanes(simulated: Simulated) -> Lanes:
    colours = _colours(simulated)
    known = [each for each in simulated.outcomes if each.result is not None]
    lanes = tuple(
        Lane(name=each.strategy.name, spans=tuple(_spans(each.strategy.first, result, colours)))
        for each in known
        if (result := each.result) is not None
    )
    rolls = "; ".join(
        f"{each.strategy.name}: {len(each.result.switches)} rolls" for each in known if each.result
    )
    return Lanes(
        title="Profile of the fleet, hatched while it rolls",
        summary=f"Which profile each strategy had the fleet on over time. {rolls}.",
        lanes=lanes,
        begins=0.0,
        ends=simulated.prepared.traffic.seconds,
        axis=Axis.ELAPSED,
    )


def _spans(first: str, result: Result, colours: dict[str, int]) -> Iterator[Span]:
    profile, since = first, 0.0
    for roll in rolls_of(result):
        if roll.begins > since:
            yield Span(begins=since, ends=roll.begins, label=profile, colour=colours[profile])
        label = f"rolling to {roll.profile}"
        yield Span(begins=roll.begins, ends=roll.ends, label=label, colour=None)
        profile, since = roll.profile, roll.ends
    if result.seconds > since:
        yield Span(begins=since, ends=result.seconds, label=profile, colour=colours[profile])


def _shown(simulated: Simulated) -> list[tuple[str, Result, bool]]:
    """Return what the charts show: what runs today, the best fixed choice, ridgeline, hindsight."""
    wanted = (simulated.today, simulated.better_static, simulated.operator, simulated.hindsight)
    names = [each.name for each in wanted if each is not None]
    found = []
    for name in dict.fromkeys(names):
        outcome = next(each for each in simulated.outcomes if each.strategy.name == name)
        if outcome.result is not None:
            dashed = outcome.strategy.kind is not Kind.OPERATOR
            found.append((name, outcome.result, dashed))
    return found


def _latency_chart(simulated: Simulated) -> Iterator[Chart]:
    output = simulated.case.sizes.output
    lines: list[Line] = []
    tops: list[float] = []
    for colour, (name, result, dashed) in enumerate(_shown(simulated)):
        inside, served = _means(result.in_system), _means(result.tokens_per_second)
        busy = served > 0.02 * max(1e-9, float(served.max(initial=0.0)))
        latency = np.where(busy, inside * output / np.where(busy, served, 1.0), np.nan)
        values = [each if np.isfinite(each) else None for each in latency.tolist()]
        lines.append(
            Line(name=name, x=_times(len(values)), y=tuple(values), colour=colour, dashed=dashed)
        )
        score = next(each for each in simulated.scores if each.name == name)
        if np.isfinite(latency).any() and not drowns(score, simulated):
            tops.append(float(np.nanmax(latency)))
    if not lines:
        return
    top = max(tops, default=None)
    yield Chart(
        title="Time that a request takes",
        summary="Mean time from arrival to the last token over time, by strategy."
        + ("" if top is None else f" The highest mean of five minutes shown is {tell(top)} s."),
        x_label="time",
        y_label="seconds, mean of five minutes",
        axis=Axis.ELAPSED,
        lines=tuple(lines),
        top=top,
    )


def _regret_chart(simulated: Simulated) -> Iterator[Chart]:
    best = simulated.outcome(Kind.HINDSIGHT)
    if best is None or best.result is None:
        return
    lines: list[Line] = []
    ends: list[float] = []
    for colour, (name, result, dashed) in enumerate(_shown(simulated)):
        more = (_means(result.in_system) - _means(best.result.in_system)) * STEP_SECONDS / 3600.0
        total = np.cumsum(more)
        lines.append(
            Line(
                name=name,
                x=_times(len(total)),
                y=tuple(max(0.0, each) for each in total.tolist()),
                colour=colour,
                dashed=dashed,
            )
        )
        score = next(each for each in simulated.scores if each.name == name)
        if len(total) and not drowns(score, simulated):
            ends.append(float(total.max()))
    yield Chart(
        title="Regret: what it cost beyond the best in hindsight",
        summary="Request-hours beyond the best in hindsight, added up over time, by strategy.",
        x_label="time",
        y_label="request-hours, added up",
        axis=Axis.ELAPSED,
        lines=tuple(lines),
        top=max([1.0, *ends]),
    )


def _cutoffs(simulated: Simulated) -> Section:
    case = simulated.case
    colours = _colours(simulated)
    believed = {each.profile: each for each in case.table.curves}
    lines: list[Line] = []
    for profile in case.profiles:
        curve, true = believed.get(profile), case.sizes.curve(case.truth, profile)
        colour = colours[profile]
        if curve is None or not _alike(curve, true):
            if curve is not None:
                lines.append(_curve_line(f"{profile}, believed", curve, colour, dashed=True))
            lines.append(_curve_line(f"{profile}, true", true, colour, dashed=False))
        else:
            lines.append(_curve_line(profile, true, colour, dashed=False))
    marks = tuple(_cutoff_marks(simulated))
    told = "; ".join(f"{each.label}" for each in marks)
    return Section(
        title="Where the cut-off lies",
        paragraphs=(
            "Tokens per second of one replica, by how many requests it has in decode. To the left "
            "of the cut-off speculation is faster, to the right it is slower. ridgeline leaves a "
            "profile before that point (it acts at a lower load), because a roll that begins at "
            "the cut-off finds the fleet full.",
        ),
        blocks=(
            Chart(
                title="Throughput of one replica",
                summary=f"Tokens per second by requests in decode. {told}.",
                x_label="requests in decode per engine",
                y_label="tokens per second",
                lines=tuple(lines),
                marks=marks,
            ),
        ),
    )


def _alike(one: Curve, other: Curve) -> bool:
    """Tell whether two curves can hardly be told apart."""
    pairs = ((one.tokens_at(each), other.tokens_at(each)) for each in other.concurrency)
    return all(abs(a / b - 1.0) < SAME_WITHIN for a, b in pairs)


def _curve_line(name: str, curve: Curve, colour: int, *, dashed: bool) -> Line:
    return Line(
        name=name,
        x=curve.concurrency,
        y=curve.tokens_per_second,
        colour=colour,
        dashed=dashed,
    )


def _cutoff_marks(simulated: Simulated) -> Iterator[Mark]:
    table = simulated.case.table
    for row in table.rows:
        if row.up_to is None:
            continue
        if row.band is not None and row.band.high is not None:
            yield Mark(x=row.band.low, until=row.band.high, label="", colour=7)
        yield Mark(x=row.up_to, label=f"cut-off of {row.profile}: {row.up_to:.0f}", colour=7)
    operator = simulated.outcome(Kind.OPERATOR)
    acts = operator.acts_at if operator is not None else None
    if acts is not None and acts.off_concurrency is not None:
        at = acts.off_concurrency
        yield Mark(x=at, label=f"leaves {acts.quieter} at {at:.0f}", colour=1)
    if acts is not None:
        at = acts.on_concurrency
        yield Mark(x=at, label=f"back to {acts.quieter} below {at:.0f}", colour=2)
    if operator is not None and operator.concurrency is not None:
        at = operator.concurrency
        yield Mark(x=at, label=f"at the end: {at:.0f}", colour=3)


def _decisions(simulated: Simulated) -> Section:
    operator = simulated.outcome(Kind.OPERATOR)
    if operator is None:
        return Section(title="What ridgeline did, and why")
    return Section(
        title="What ridgeline did, and why",
        paragraphs=("Every number is that of the moment of the decision.",),
        blocks=tuple(_decision_tables(operator)),
    )


def _decision_tables(operator: Outcome) -> Iterator[Block]:
    switches = [each for each in operator.notes if each.outcome is Done.SWITCH]
    spans = rolls_of(operator.result) if operator.result is not None else ()
    yield Table(
        title="Rolls",
        columns=("when", "took", "to", "why", "in words"),
        rows=tuple(
            (
                tell_x(Axis.ELAPSED, span.begins),
                f"{(span.ends - span.begins) / 60:.0f} min",
                span.profile,
                next((n.reason.value for n in switches if n.time == span.begins), ""),
                next((n.message for n in switches if n.time == span.begins), ""),
            )
            for span in spans
        ),
    )
    yield Table(
        title="Every change of mind",
        columns=("when", "does", "profile", "why", "in words"),
        rows=tuple(
            (
                tell_x(Axis.ELAPSED, each.time),
                each.outcome.value,
                each.profile or "",
                each.reason.value,
                each.message,
            )
            for each in operator.notes[:MOST_DECISIONS]
        ),
        folded=True,
    )
