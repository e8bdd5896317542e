"""A report as one HTML file: no script, nothing loaded from anywhere, readable without its charts.

A policy in its head forbids whatever could be loaded. Each chart has its numbers as a table beneath
it, opened by key or mouse, and a summary for those who do not see it.
"""

from collections.abc import Iterator
from typing import Final

from ridgeline.render.markup import Markup, joined, tag
from ridgeline.render.report import Block, Chart, Facts, Lanes, Report, Section, Table
from ridgeline.render.report_scale import tell, tell_x
from ridgeline.render.report_style import style
from ridgeline.render.report_svg import COLOURS, chart_svg, lanes_svg, thinned

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"

MOST_ROWS: Final = 200
"""Rows of the table beneath a chart."""


def report_page(report: Report) -> str:
    """Return the whole file."""
    sections = [(f"part-{index}", each) for index, each in enumerate(report.sections, start=1)]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", report.title),
        tag("style", Markup(style())),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("h1", report.title),
            tag("p", report.subtitle, class_="subtitle"),
            _contents(sections) if len(sections) > 1 else "",
        ),
        tag(
            "main",
            _summary(report),
            *(_section(ident, each) for ident, each in sections),
            id="content",
        ),
        tag("footer", tag("p", report.footer)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _contents(sections: list[tuple[str, Section]]) -> Markup:
    links = (tag("li", tag("a", each.title, href=f"#{ident}")) for ident, each in sections)
    return tag("nav", tag("ul", *links), aria_label="Parts of this report")


def _summary(report: Report) -> Markup:
    parts = [
        tag(
            "section",
            tag("h2", "In short", id="in-short"),
            *(tag("p", each) for each in report.summary),
            class_="summary",
            aria_labelledby="in-short",
        )
    ]
    if report.cautions:
        parts.append(
            tag(
                "section",
                tag("h2", "Keep in mind", id="keep-in-mind"),
                tag("ul", *(tag("li", each) for each in report.cautions)),
                class_="cautions",
                aria_labelledby="keep-in-mind",
            )
        )
    return joined(*parts)


def _section(ident: str, section: Section) -> Markup:
    blocks = (
        _block(each, f"{ident}-{index}") for index, each in enumerate(section.blocks, start=1)
    )
    return tag(
        "section",
        tag("h2", section.title, id=ident, tabindex=-1),
        *(tag("p", each) for each in section.paragraphs),
        *blocks,
        aria_labelledby=ident,
    )


def _block(block: Block, ident: str) -> Markup:
    match block:
        case Chart():
            legend = [(each.name, each.colour, each.dashed) for each in block.lines if each.name]
            table = _chart_table(block)
            return _figure(block.title, legend, chart_svg(block, ident), table, ident)
        case Lanes():
            colours = {
                span.label: span.colour
                for lane in block.lanes
                for span in lane.spans
                if span.colour is not None
            }
            legend = [(name, colour, False) for name, colour in colours.items()]
            return _figure(block.title, legend, lanes_svg(block, ident), _lanes_table(block), ident)
        case Table():
            shown = _table(block)
            if not block.folded:
                return shown
            return tag("details", tag("summary", f"{block.title} ({len(block.rows)})"), shown)
        case Facts():
            rows = (joined(tag("dt", name), tag("dd", value)) for name, value in block.rows)
            return joined(tag("h3", block.title), tag("dl", *rows))


def _figure(
    title: str,
    legend: list[tuple[str, int, bool]],
    picture: Markup,
    table: Table,
    ident: str,
) -> Markup:
    keys = (
        tag(
            "li",
            tag("span", class_=f"key{colour % COLOURS}" + (" dashed" if dashed else "")),
            name,
        )
        for name, colour, dashed in legend
    )
    return tag(
        "figure",
        tag("figcaption", title, id=f"{ident}-caption"),
        tag("ul", *keys, class_="legend", aria_label="Legend") if legend else "",
        picture,
        tag("details", tag("summary", "The same as a table"), _table(table)),
        aria_labelledby=f"{ident}-caption",
    )


def _table(table: Table) -> Markup:
    head = tag(
        "tr",
        *(
            tag("th", name, scope="col", class_="number" if index in table.numeric else None)
            for index, name in enumerate(table.columns)
        ),
    )
    rows = (
        tag("tr", *_cells(table, row), class_="strong" if index in table.strong else None)
        for index, row in enumerate(table.rows)
    )
    # A region that scrolls has to be reached by key.
    return tag(
        "div",
        tag(
            "table",
            tag("caption", table.title),
            tag("thead", head),
            tag("tbody", *rows),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=table.title,
    )


def _cells(table: Table, row: tuple[str, ...]) -> Iterator[Markup]:
    for index, cell in enumerate(row):
        kind = "number" if index in table.numeric else "wide" if len(cell) > 60 else None
        if index == 0:
            yield tag("th", cell, scope="row", class_=kind)
        else:
            yield tag("td", cell, class_=kind)


def _chart_table(chart: Chart) -> Table:
    """Return the numbers of a chart, thinned as its lines are, and its marks."""
    rows: list[tuple[float, tuple[str, ...]]] = []
    for line in chart.lines:
        for x, y in thinned(line.x, line.y, MOST_ROWS // max(1, len(chart.lines))):
            shown = "–" if y is None else tell(y)
            rows.append((x, (tell_x(chart.axis, x), line.name or chart.title, shown)))
    for mark in chart.marks:
        until = "" if mark.until is None else f" to {tell_x(chart.axis, mark.until)}"
        rows.append((mark.x, (f"{tell_x(chart.axis, mark.x)}{until}", mark.label, "")))
    rows.sort(key=lambda each: each[0])
    return Table(
        title=chart.title,
        columns=(chart.x_label, "what", chart.y_label),
        rows=tuple(cells for _, cells in rows),
        numeric=(2,),
    )


def _lanes_table(lanes: Lanes) -> Table:
    rows = tuple(
        (
            lane.name,
            tell_x(lanes.axis, span.begins),
            tell_x(lanes.axis, span.ends),
            span.label,
        )
        for lane in lanes.lanes
        for span in lane.spans
    )
    return Table(title=lanes.title, columns=("row", "from", "to", "what"), rows=rows)
