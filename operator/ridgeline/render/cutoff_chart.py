"""A serving's cut-offs as a chart, and as one HTML file that needs nothing else."""

from html import escape
from typing import Final

from ridgeline.costmodel.table import CutoffTable
from ridgeline.render.cutoff import range_rows
from ridgeline.render.cutoff_report import CutoffReport, Predicted
from ridgeline.render.plots import Chart, Mark, Series, svg


def speedup_chart(report: CutoffReport, told: Predicted) -> Chart:
    """Return the speed-up of each profile by concurrency, with band and cut-offs."""
    shown = [each for each in told.profiles if each.arm.method.speculates and each.curve]
    colours = {each.arm.name: index for index, each in enumerate(shown)}
    series = [
        Series(
            name=each.arm.name,
            x=[point.concurrency for point in each.curve],
            y=[point.speedup for point in each.curve],
            low=[point.low for point in each.curve],
            high=[point.high for point in each.curve],
            colour=index,
        )
        for index, each in enumerate(shown)
    ]
    deployment = told.deployment
    return Chart(
        title=f"{deployment.model.name} on {deployment.tensor_parallel} × "
        f"{deployment.accelerator.name}, contexts of {told.workload.context_tokens:.0f} tokens",
        x_label="requests in decode per engine",
        y_label=f"tokens per second, relative to {told.baseline}",
        series=series,
        marks=_marks(report.table, colours),
        level=1.0,
    )


def _marks(table: CutoffTable | str, colours: dict[str, int]) -> list[Mark]:
    if isinstance(table, str):
        return []
    return [
        Mark(
            x=row.up_to,
            label=f"cut-off of {row.profile}: {row.up_to:.0f}",
            low=row.band.low if row.band else row.return_below,
            high=row.band.high if row.band else row.up_to,
            colour=colours.get(row.profile, len(colours)),
        )
        for row in table.rows
        if row.up_to is not None
    ]


_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: 0.2rem 1rem 0.2rem 0; }}
</style>
</head>
<body>
<h1>{title}</h1>
{picture}
{table}
</body>
</html>
"""


def html_page(report: CutoffReport, told: Predicted) -> str:
    """Return one HTML file with the chart, the ranges and the reasons.

    Raises:
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    picture = svg(speedup_chart(report, told))
    return _PAGE.format(
        title=escape(f"Cut-offs of {report.subject}"),
        # An XML declaration has no place within HTML.
        picture=picture[picture.index("<svg") :].strip(),
        table=_ranges(report.table),
    )


def _ranges(table: CutoffTable | str) -> str:
    if isinstance(table, str):
        return f"<p>No cut-offs: {escape(table)}</p>"
    head = "".join(
        f"<th>{each}</th>" for each in ("from", "up to", "profile", "band of the border")
    )
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n"
        for row in range_rows(table)
    )
    reasons = "".join(f"<li>{escape(each)}</li>\n" for each in table.reasons)
    return (
        f"<table>\n<tr>{head}</tr>\n{rows}</table>\n"
        f"<p>Speculation pays somewhere here: {table.verdict.value}</p>\n<ul>\n{reasons}</ul>"
    )
