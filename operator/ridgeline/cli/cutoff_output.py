"""Where cut-offs go: a page, JSON, and a file with the plot."""

from pathlib import Path
from typing import Annotated, Final

import typer

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.output import Output, dump, show
from ridgeline.render.cutoff import cutoff_page
from ridgeline.render.cutoff_chart import html_page, speedup_chart
from ridgeline.render.cutoff_document import cutoff_document
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.plots import png, svg

AsJson = Annotated[bool, typer.Option("--json", help="As -o json: one object with everything.")]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Also draw the speed-up by concurrency into this file: .png, .svg or .html. "
        "Needs the extra plot.",
    ),
]

_FORMS: Final = (".png", ".svg", ".html")


def check_plot(file: Path | None) -> None:
    """Refuse a plot that could not be written, before anything is worked out.

    Raises:
        FlagError: Its name does not end as a form of plots does.
    """
    if file is not None and file.suffix not in _FORMS:
        raise FlagError(f"--plot {file}: its name tells the form: end it in .png, .svg or .html")


def put_out(report: CutoffReport, output: Output, *, plot: Path | None) -> None:
    """Print a report, and draw it.

    Raises:
        FlagError: There is nothing to draw, or the file cannot be written.
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    if plot is not None:
        _draw(report, plot)
    if output.is_document:
        dump(cutoff_document(report), output)
    else:
        show(cutoff_page(report), output)


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
