"""Where advice goes: a page, JSON, a serving in YAML, and a file with the plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.output import Output, dump, show
from ridgeline.render.advise import advice_page
from ridgeline.render.advise_chart import advice_charts
from ridgeline.render.advise_document import advice_document
from ridgeline.render.advise_html import advice_html
from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.plots import png, svg


def print_advice(report: AdviceReport, output: Output) -> None:
    """Print advice for a person or for a program; colour stands on a terminal alone."""
    if output.is_document:
        dump(advice_document(report), output)
    else:
        show(advice_page(report, wide=output is Output.WIDE), output)


def print_serving(body: dict[str, Any], report: AdviceReport, more: Sequence[str]) -> None:
    """Print a serving as YAML, with the verdict and what is left to do as comments.

    Args:
        body: The serving.
        report: The advice.
        more: What the serving has no field for, and how to repeat the advice with it.
    """
    name = body["spec"]["targetRef"]["name"]
    lines = [
        f"Advice for {report.cutoff.subject}.",
        report.advice.headline,
        *(f"missing: {each}" for each in report.advice.missing),
        f"targetRef names the Deployment {name}: put yours there. RecommendOnly shows and changes "
        "nothing; Automatic acts.",
        *more,
    ]
    typer.echo("\n".join(f"# {each}" for each in lines))
    typer.echo(yaml.safe_dump(body, sort_keys=False, allow_unicode=True), nl=False)


def draw_advice(report: AdviceReport, file: Path) -> None:
    """Draw advice into a file: one chart, or in HTML all of them with the tables.

    Raises:
        FlagError: There is nothing to draw, or the file cannot be written.
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    told = report.cutoff.predicted
    if isinstance(told, str):
        raise FlagError(f"--plot {file}: nothing can be drawn: {told}")
    if not any(each.curve for each in told.profiles if each.arm.method.speculates):
        why = "; ".join(each.trouble for each in told.profiles if each.trouble)
        raise FlagError(f"--plot {file}: no profile can be compared with none: {why}")
    if file.suffix == ".html":
        content = advice_html(report, told).encode()
    else:
        chart = advice_charts(report, told)[0]
        content = png(chart) if file.suffix == ".png" else svg(chart).encode()
    try:
        file.write_bytes(content)
    except OSError as error:
        raise FlagError(f"--plot {file} cannot be written: {error.strerror}") from error
