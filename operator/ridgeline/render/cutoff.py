"""A serving's cut-offs on a terminal: ranges, verdict, speed-ups, memory, lookahead."""

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.memory import GIB
from ridgeline.costmodel.table import CutoffTable, upper_edge
from ridgeline.render.cutoff_report import CutoffReport, Point, Predicted, ProfileReport
from ridgeline.render.serving import lines_table
from ridgeline.terms.verdict import Verdict

NOT_MEASURED: Final = "predicted, not measured here"
"""What stands in place of a time that was not calibrated."""

_STYLES: Final = {Verdict.YES: "green", Verdict.NO: "red", Verdict.UNDECIDED: "yellow"}


def cutoff_page(report: CutoffReport) -> RenderableType:
    """Return the whole page."""
    parts: list[RenderableType] = [
        lines_table(f"Cut-offs of {report.subject}", ("what", "value"), report.facts),
        Text(),
    ]
    if isinstance(report.table, str):
        parts.append(Text(f"No cut-offs: {report.table}", style="red"))
    else:
        parts += _cutoffs(report.table, report.way_out)
    parts.append(Text())
    if isinstance(report.predicted, str):
        parts.append(Text(f"No predictions: {report.predicted}", style="red"))
    else:
        parts += _predictions(report.predicted)
    return Group(*parts)


def range_rows(table: CutoffTable) -> list[tuple[str, str, str, str]]:
    """Return the ranges: from, up to, profile, and the band of the border above."""
    rows, start = [], "0"
    for row in table.rows:
        up_to = "and above" if row.up_to is None else tell(row.up_to)
        band = ""
        if row.band is not None:
            high = upper_edge(row.band.high, table.admitted, tell)
            band = f"{tell(row.band.low)} to {high}"
        elif row.return_below is not None:
            band = f"back below {tell(row.return_below)}"
        rows.append((start, up_to, row.profile, band))
        start = up_to
    return rows


def tell(value: float) -> str:
    """Return a concurrency as people read it: whole from ten on."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _cutoffs(table: CutoffTable, way_out: str) -> list[RenderableType]:
    verdict = Text("Speculation pays somewhere here: ", style="bold")
    verdict.append(table.verdict.value, style=_STYLES[table.verdict])
    parts: list[RenderableType] = [
        lines_table(
            "Requests in decode per engine",
            ("from", "up to", "profile", "band of the border"),
            range_rows(table),
        ),
        Text(),
        verdict,
    ]
    parts += [Text(f"  because {each}") for each in table.reasons]
    if way_out:
        parts.append(Text(f"  way out: {way_out}"))
    return parts


def _predictions(told: Predicted) -> list[RenderableType]:
    speculating = [each for each in told.profiles if each.arm.method.speculates]
    compared = [each for each in speculating if each.points]
    parts: list[RenderableType] = []
    if told.baseline is not None and compared:
        parts += [_speedups(told.baseline, compared), Text(), _times(told.profiles), Text()]
    parts += [_memory(told), Text()]
    if any(each.tiers for each in speculating):
        parts += [_lookaheads(speculating), Text()]
    parts += [Text(f"not predicted: {each.trouble}") for each in told.profiles if each.trouble]
    return parts


def _speedups(baseline: str, profiles: Sequence[ProfileReport]) -> RenderableType:
    counts = [f"B = {each.concurrency:.0f}" for each in profiles[0].points]
    return lines_table(
        f"Speed-up over {baseline} by concurrency B, with one standard deviation",
        ("profile", "E[L]", *counts),
        [(each.arm.name, _length(each), *map(_speedup, each.points)) for each in profiles],
    )


def _length(profile: ProfileReport) -> str:
    acceptance = profile.arm.acceptance
    if acceptance is None:
        return "not known"
    return f"{acceptance.length:.2f} ({acceptance.origin.value.lower()})"


def _speedup(point: Point) -> str:
    told = f"{point.speedup:.2f} ({point.low:.2f} to {point.high:.2f})"
    return told if point.admitted else f"{told}, full"


def _times(profiles: Sequence[ProfileReport]) -> RenderableType:
    if not any(each.calibrated for each in profiles):
        return Text(f"Time per output token: {NOT_MEASURED}")
    known = [each for each in profiles if each.points]
    counts = [f"B = {each.concurrency:.0f}" for each in known[0].points]
    rows = []
    for each in known:
        told = [_milliseconds(point) for point in each.points]
        cells = told if each.calibrated else [NOT_MEASURED, *([""] * (len(counts) - 1))]
        rows.append((each.arm.name, *cells))
    return lines_table("Time per output token", ("profile", *counts), rows)


def _milliseconds(point: Point) -> str:
    return NOT_MEASURED if point.tpot_seconds is None else f"{point.tpot_seconds * 1e3:.1f} ms"


def _memory(told: Predicted) -> RenderableType:
    flag = told.deployment.max_num_seqs
    limit = "--max-num-seqs"
    if flag is None:
        limit += f", which is not known and taken for {CONSTANTS.unknown_max_seqs:.0f}"
    rows = []
    for each in told.profiles:
        if each.room is None:
            continue
        rows.append(
            (
                each.arm.name,
                tell(each.room.max_concurrency),
                "KV memory" if each.room.by_memory else limit,
                f"{each.room.draft_bytes / GIB:.2f} GiB",
                f"{each.room.kv_bytes / GIB * 1024:.0f} MiB",
            )
        )
    return lines_table(
        f"Memory, at contexts of {told.workload.context_tokens:.0f} tokens",
        ("profile", "most requests", "set by", "the draft's weights", "caches of one request"),
        rows,
    )


def _lookaheads(profiles: Sequence[ProfileReport]) -> RenderableType:
    return lines_table(
        "Best lookahead K",
        ("profile", "requests in a step: K"),
        [
            (
                each.arm.name,
                ", ".join(f"{tier.first}-{tier.last}: {tier.lookahead}" for tier in each.tiers),
            )
            for each in profiles
            if each.tiers
        ],
    )
