"""Where cut-offs go: a page, JSON, and a file with the plot."""

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.output import Form
from ridgeline.render.cutoff import cutoff_page
from ridgeline.render.cutoff_chart import html_page, speedup_chart
from ridgeline.render.cutoff_document import cutoff_document
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.plots import png, svg

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object with everything instead.")
]
Output = Annotated[
    Form, typer.Option("--output", "-o", help="A table, or one JSON object, as --json.")
]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Also draw the speed-up by concurrency into this file: .png, .svg or .html. "
        "Needs the extra plot.",
    ),
]

_FORMS: Final = (".png", ".svg", ".html")
_WIDTH: Final = 160
"""Columns where nobody tells: piped output is not folded at 80."""


def check_plot(file: Path | None) -> None:
    """Refuse a plot that could not be written, before anything is worked out.

    Raises:
        FlagError: Its name does not end as a form of plots does.
    """
    if file is not None and file.suffix not in _FORMS:
        raise FlagError(f"--plot {file}: its name tells the form: end it in .png, .svg or .html")


def put_out(report: CutoffReport, *, as_json: bool, plot: Path | None) -> None:
    """Print a report, and draw it.

    Raises:
        FlagError: There is nothing to draw, or the file cannot be written.
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    if plot is not None:
        _draw(report, plot)
    if as_json:
        typer.echo(json.dumps(cutoff_document(report), indent=2, allow_nan=False))
        return
    width = None if sys.stdout.isatty() else _WIDTH
    Console(width=width).print(cutoff_page(report))


def _draw(report: CutoffReport, file: Path) -> None:
    told = report.predicted
    if isinstance(told, str):
        raise FlagError(f"--plot {file}: nothing can be drawn: {told}")
    if not any(each.curve for each in told.profiles if each.arm.method.speculates):
        why = "; ".join(each.trouble for each in told.profiles if each.trouble)
        raise FlagError(f"--plot {file}: no profile can be compared with none: {why}")
    if file.suffix == ".png":
        content = png(speedup_chart(report, told))
    elif file.suffix == ".svg":
        content = svg(speedup_chart(report, told)).encode()
    else:
        content = html_page(report, told).encode()
    try:
        file.write_bytes(content)
    except OSError as error:
        raise FlagError(f"--plot {file} cannot be written: {error.strerror}") from error
