"""Advice as titled tables and lines, which the terminal and the HTML page show alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel import positions
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import GIB
from ridgeline.costmodel.profile_advice import ProfileAdvice
from ridgeline.costmodel.table import CutoffTable
from ridgeline.render.advise_load import capacity_section, load_section
from ridgeline.render.advise_ranges import without_range
from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.advise_section import Section
from ridgeline.render.cutoff import range_rows, tell
from ridgeline.render.cutoff_report import Point, Predicted, ProfileReport

FEW: Final = (1.0, 8.0, 32.0, 128.0)
"""Concurrencies that fit a terminal of 120 columns."""


@dataclass(frozen=True, slots=True)
class _Context:
    """Predictions at one length of context, and whether it is that of the mean request."""

    told: Predicted
    mean: bool


def sections(report: AdviceReport, *, wide: bool) -> tuple[Section, ...]:
    """Return everything below the verdict, in the order in which people ask.

    Args:
        report: What is shown.
        wide: Whether every concurrency and every reason stands there.
    """
    found = (
        _facts(report),
        _cutoffs(report, wide=wide),
        _speedups(report, wide=wide),
        _lookaheads(report),
        _in_engine(report),
        _memory(report),
        _first_tokens(report),
        _starts(report),
        capacity_section(report),
        load_section(report),
        _checks(report),
        _not_predicted(report),
        _notes(report),
    )
    return tuple(each for each in found if each is not None)


def _facts(report: AdviceReport) -> Section:
    return Section(
        title="What it rests on", columns=("what", "value"), rows=tuple(report.cutoff.facts)
    )


def _cutoffs(report: AdviceReport, *, wide: bool) -> Section:
    table = report.cutoff.table
    title = "Cut-offs, in requests in decode per engine"
    if not isinstance(table, CutoffTable):
        return Section(title=title, lines=(f"none: {table}",))
    return Section(
        title=title,
        columns=("from", "up to", "profile", "band of the border"),
        rows=tuple(range_rows(table)),
        lines=(*_without_range(report, table), *_because(table, wide=wide)),
    )


def _without_range(report: AdviceReport, table: CutoffTable) -> tuple[str, ...]:
    told = report.cutoff.predicted
    return () if isinstance(told, str) else without_range(table, told)


def _because(table: CutoffTable, *, wide: bool) -> tuple[str, ...]:
    return tuple(f"because {each}" for each in table.reasons if wide)


def _speedups(report: AdviceReport, *, wide: bool) -> Section | None:
    predicted = report.cutoff.predicted
    if isinstance(predicted, str):
        return Section(title="Speed-up", lines=(f"none: {predicted}",))
    contexts = [_Context(predicted, True), *(_Context(each, False) for each in report.contexts)]
    rows = [row for each in contexts for row in _speedup_rows(each, wide=wide)]
    if not rows:
        return None
    shown = [point for point in _compared(predicted)[0].points if _is_shown(point, wide=wide)]
    return Section(
        title=f"Speed-up over {predicted.baseline} by concurrency B and context, with one standard "
        "deviation",
        columns=(
            "context",
            "profile",
            "E[L]",
            *(f"B = {point.concurrency:.0f}" for point in shown),
        ),
        rows=tuple(rows),
    )


def _compared(told: Predicted) -> list[ProfileReport]:
    return [each for each in told.profiles if each.arm.method.speculates and each.points]


def _is_shown(point: Point, *, wide: bool) -> bool:
    return wide or point.concurrency in FEW


def _speedup_rows(context: _Context, *, wide: bool) -> Iterator[tuple[str, ...]]:
    tokens = f"{context.told.workload.context_tokens:.0f}" + (" (mean)" if context.mean else "")
    for each in _compared(context.told):
        yield (
            tokens,
            each.arm.name,
            _length(each),
            *(_speedup(point) for point in each.points if _is_shown(point, wide=wide)),
        )


def _length(profile: ProfileReport) -> str:
    acceptance = profile.arm.acceptance
    if acceptance is None:
        return "not known"
    return f"{acceptance.length:.2f} ({acceptance.origin.value.lower()})"


def _speedup(point: Point) -> str:
    if not point.admitted:
        return "full"
    return f"{point.speedup:.2f} ({point.low:.2f} to {point.high:.2f})"


def _lookaheads(report: AdviceReport) -> Section | None:
    predicted = report.cutoff.predicted
    if isinstance(predicted, str):
        return None
    advised = {each.model.arm.name: each for each in report.profiles}
    rows = tuple(
        (
            each.arm.name,
            str(each.arm.lookahead),
            ", ".join(f"{tier.first}-{tier.last}: {tier.lookahead}" for tier in each.tiers),
            positions.told(advised[each.arm.name].positions),
        )
        for each in predicted.profiles
        if each.tiers
    )
    columns = ("profile", "K", "best K by requests in a step", "draft positions pay up to so many")
    return Section(title="Best lookahead K", columns=columns, rows=rows) if rows else None


def _in_engine(report: AdviceReport) -> Section | None:
    lines = []
    for each in report.in_engine:
        if each.config is None:
            lines.append(f"{each.profile}: none; {each.why}")
        else:
            lines.append(f"{each.profile}: --speculative-config '{each.config}'")
            lines.append(f"  {each.why}")
    return Section(title="In-engine schedule", lines=tuple(lines)) if lines else None


def _memory(report: AdviceReport) -> Section | None:
    rows = []
    for each in report.profiles:
        room, taken = each.model.room, each.memory
        held = "not limited by memory" if taken is None else tell(taken.requests)
        share = "-" if taken is None else f"{max(taken.share, 0.0):.1%}"
        limit = "KV memory" if room.by_memory else "--max-num-seqs"
        rows.append(
            (
                each.model.arm.name,
                f"{room.draft_bytes / GIB:.2f} GiB",
                f"{room.kv_bytes / GIB * 1024:.0f} MiB",
                held,
                share,
                f"{tell(room.max_concurrency)} ({limit})",
            )
        )
    columns = (
        *("profile", "draft's weights", "caches of a request", "requests that memory holds"),
        *("taken from the KV cache", "most requests"),
    )
    title = "Memory, at the mean context"
    return Section(title=title, columns=columns, rows=tuple(rows)) if rows else None


def _first_tokens(report: AdviceReport) -> Section | None:
    base = _first_of_none(report.profiles)
    rows = [(each.model.arm.name, *_first_token(each, base)) for each in report.profiles]
    if not rows:
        return None
    return Section(
        title="Time to first token",
        columns=("profile", "predicted", "against none"),
        rows=tuple(rows),
        lines=(
            f"at {report.asked.concurrency:g} requests per engine, for a prompt of "
            f"{report.asked.prompt_tokens:.0f} tokens, without queueing",
        ),
    )


def _first_of_none(profiles: Sequence[ProfileAdvice]) -> float | None:
    for each in profiles:
        if not each.model.arm.method.speculates and not isinstance(each.first_token, CannotSay):
            return each.first_token
    return None


def _first_token(profile: ProfileAdvice, base: float | None) -> tuple[str, str]:
    seconds = profile.first_token
    if isinstance(seconds, CannotSay):
        return f"cannot say: {seconds}", ""
    low, high = seconds / profile.factor, seconds * profile.factor
    told = f"{seconds * 1e3:.0f} ms ({low * 1e3:.0f} to {high * 1e3:.0f})"
    if base is None or not profile.model.arm.method.speculates:
        return told, ""
    return told, f"{seconds / base - 1.0:+.0%}"


def _starts(report: AdviceReport) -> Section | None:
    rows = []
    for each in report.profiles:
        start = each.start_up
        rows.append(
            (
                each.model.arm.name,
                f"{(start.target_bytes + start.draft_bytes) / GIB:.1f} GiB",
                f"+{start.more:.1%}" if start.draft_bytes else "",
            )
        )
    roll = report.roll
    if isinstance(roll, CannotSay):
        line = f"a roll: cannot say; {roll} (--startup-seconds)"
    else:
        price = "" if roll.price is None else f", {roll.price:.2f} at your price"
        line = f"a roll of all replicas: {roll.gpu_hours:.2f} GPU-hours that serve nothing{price}"
    columns = ("profile", "weights to load per replica", "because of the draft")
    if not rows:
        return None
    return Section(title="Start-up", columns=columns, rows=tuple(rows), lines=(line,))


def _checks(report: AdviceReport) -> Section | None:
    rows = [
        (each.model.arm.name, check.name, check.answer.value, check.why)
        for each in report.profiles
        if each.model.arm.method.speculates
        for check in each.checks
    ]
    if not rows:
        return None
    return Section(
        title=f"Checks, at {report.asked.concurrency:g} requests in decode per engine",
        columns=("profile", "check", "answer", "why"),
        rows=tuple(rows),
    )


def _not_predicted(report: AdviceReport) -> Section | None:
    predicted = report.cutoff.predicted
    if isinstance(predicted, str):
        return None
    lines = tuple(f"cannot say: {each.trouble}" for each in predicted.profiles if each.trouble)
    return Section(title="Not predicted", lines=lines) if lines else None


def _notes(report: AdviceReport) -> Section | None:
    return Section(title="Also to know", lines=report.notes) if report.notes else None
