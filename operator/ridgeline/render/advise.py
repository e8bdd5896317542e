"""Advice on a terminal: the verdict, and then the tables."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.advise_section import Section
from ridgeline.render.advise_sections import sections
from ridgeline.render.serving import lines_table
from ridgeline.terms.verdict import Verdict

_STYLES: Final = {Verdict.YES: "green", Verdict.NO: "red", Verdict.UNDECIDED: "yellow"}


def advice_page(report: AdviceReport, *, wide: bool) -> RenderableType:
    """Return the whole page.

    Args:
        report: What is shown.
        wide: Whether every concurrency and every reason stands there.
    """
    parts: list[RenderableType] = [Text(f"Advice for {report.cutoff.subject}", style="bold")]
    parts.append(Text(report.advice.headline, style=_STYLES[report.advice.answer]))
    parts += (Text(f"  missing: {each}") for each in report.advice.missing)
    for section in sections(report, wide=wide):
        parts.append(Text())
        parts.extend(_shown(section))
    return Group(*parts)


def _shown(section: Section) -> Iterator[RenderableType]:
    if section.columns:
        yield lines_table(section.title, section.columns, section.rows)
    else:
        yield Text(section.title, style="bold")
    for line in section.lines:
        # A line that holds a command is copied: no breaks within it.
        command = "'{" in line
        yield Text(line, no_wrap=command, overflow="ignore" if command else "fold")
