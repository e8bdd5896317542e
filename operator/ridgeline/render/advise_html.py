"""Advice as one HTML file that needs nothing else: light, dark, and printed."""

from html import escape
from typing import Final

from ridgeline.render.advise_chart import advice_charts
from ridgeline.render.advise_report import AdviceReport
from ridgeline.render.advise_section import Section
from ridgeline.render.advise_sections import sections
from ridgeline.render.cutoff_report import Predicted
from ridgeline.render.plots import Chart, svg

_SHORT: Final = 24
"""Characters of a cell that stays on one line."""

_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --paper: #ffffff; --ink: #1f2933; --line: #d5dbe1; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: #14191f; --ink: #e4e9ee; --line: #3a4550; }}
}}
body {{ background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }}
figure {{ background: #ffffff; width: fit-content; max-width: 100%; box-sizing: border-box;
  margin: 1rem 0; padding: 0.5rem; border-radius: 0.25rem; }}
svg {{ max-width: 100%; height: auto; }}
.wide {{ overflow-x: auto; }}
.wide:focus-visible {{ outline: 2px solid #0b6e99; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; }}
td.short {{ white-space: nowrap; }}
th {{ border-bottom: 1px solid var(--line); }}
.verdict {{ font-size: 1.15rem; border-left: 0.3rem solid #0b6e99; padding-left: 0.8rem; }}
code, li {{ overflow-wrap: anywhere; }}
@media print {{
  :root {{ --paper: #ffffff; --ink: #000000; }}
  figure, table {{ break-inside: avoid; }}
  table {{ font-size: 0.75rem; }}
  th, td {{ padding-right: 0.5rem; }}
  td.short {{ white-space: normal; }}
}}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="verdict">{headline}</p>
{missing}
{charts}
{sections}
</main>
</body>
</html>
"""


def advice_html(report: AdviceReport, told: Predicted) -> str:
    """Return one HTML file with the verdict, the charts and every table.

    Raises:
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    missing = "".join(f"<li>{escape(each)}</li>\n" for each in report.advice.missing)
    return _PAGE.format(
        title=escape(f"Advice for {report.cutoff.subject}"),
        headline=escape(report.advice.headline),
        missing=f"<p>What is missing:</p>\n<ul>\n{missing}</ul>" if missing else "",
        charts="\n".join(_figure(each) for each in advice_charts(report, told)),
        sections="\n".join(_section(each) for each in sections(report, wide=True)),
    )


def _figure(chart: Chart) -> str:
    picture = svg(chart)
    # An XML declaration has no place within HTML.
    picture = picture[picture.index("<svg") :].strip()
    label = escape(chart.title, quote=True)
    return f'<figure role="img" aria-label="{label}">\n{picture}\n</figure>'


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.columns:
        name = escape(section.title, quote=True)
        head = "".join(f'<th scope="col">{escape(each)}</th>' for each in section.columns)
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in section.rows)
        parts.append(
            f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>"
        )
    if section.lines:
        lines = "".join(f"<li>{escape(each.strip())}</li>\n" for each in section.lines)
        parts.append(f"<ul>\n{lines}</ul>")
    return "\n".join(parts)


def _cell(text: str) -> str:
    """Return a cell; numbers and names are not broken into lines."""
    kind = ' class="short"' if len(text) <= _SHORT else ""
    return f"<td{kind}>{escape(text)}</td>"
