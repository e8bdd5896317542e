"""Charts: the same bytes each time, everything that they are given, and one HTML file."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.render.cutoff_chart import html_page, speedup_chart
from ridgeline.render.cutoff_report import CutoffReport, Predicted, predicted
from ridgeline.render.plots import Chart, Mark, PlotsNeedMatplotlibError, Series, png, svg
from tests.unit.costmodel.targets import CHAT, NONE, arm, on

CHART = Chart(
    title="a title",
    x_label="along",
    y_label="up",
    series=[
        Series(name="line", x=[1, 2, 4], y=[1, 2, 3], low=[0.5, 1, 2], high=[1.5, 3, 4]),
        Series(name="points", x=[1, 2], y=[2, 1], points=True, colour=1),
        Series(name="dashes", x=[1, 2], y=[2, 1], dashed=True, colour=2),
    ],
    marks=[Mark(x=2, label="here", low=1.5, high=3), Mark(x=None, low=3)],
    level=1.0,
)


def told() -> tuple[CutoffReport, Predicted]:
    found = predicted(on(), (arm(2.2, name="a<b"), NONE), CHAT)
    table = CutoffTable(
        (
            CutoffRow(
                profile="a<b",
                up_to=100.0,
                return_below=80.0,
                band=Band(cutoff=100.0, low=80.0, high=None),
            ),
            CutoffRow(profile="none"),
        ),
        reasons=("it & <why>",),
    )
    report = CutoffReport(
        subject="<llama>",
        strategy="Goodput",
        facts=(),
        table=table,
        way_out="",
        predicted=found,
    )
    return report, found


def texts(picture: str) -> set[str]:
    root = ElementTree.fromstring(picture)
    return {"".join(each.itertext()).strip() for each in root.iter() if each.tag.endswith("text")}


@pytest.mark.parametrize("draw", [svg, png])
def test_a_chart_is_the_same_each_time(draw: object) -> None:
    assert callable(draw)
    assert draw(CHART) == draw(CHART)


def test_an_svg_tells_no_date_and_keeps_its_words_as_text() -> None:
    picture = svg(CHART)
    assert "<dc:date>" not in picture
    assert {"a title", "along", "up", "line", "points", "dashes", "here"} <= texts(picture)


def test_a_white_ground_makes_it_legible_on_any() -> None:
    assert re.search(r'id="patch_1">\s*<path[^>]*fill: #ffffff', svg(CHART))


def test_marks_do_not_stretch_the_axis() -> None:
    wide = replace(CHART, marks=[Mark(x=2, low=0.001, high=1e6)])
    assert texts(svg(wide)) == texts(svg(replace(CHART, marks=())))


def test_areas_can_be_stacked_on_even_axes() -> None:
    chart = replace(
        CHART, series=[*CHART.series[:1]] * 2, stacked=True, logarithmic=False, marks=()
    )
    assert svg(chart) != svg(replace(chart, stacked=False))


def test_both_axes_can_double() -> None:
    assert svg(replace(CHART, both_logarithmic=True)) != svg(CHART)


def test_a_person_s_own_settings_do_not_change_a_chart() -> None:
    import matplotlib as mpl

    usual = svg(CHART)
    with mpl.rc_context({"xtick.labelsize": 20.0, "axes.linewidth": 5.0}):
        assert svg(CHART) == usual


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotsNeedMatplotlibError, match=r"pip install '\.\[plot\]'"):
        svg(CHART)


def test_speed_ups_are_drawn_with_band_level_and_cut_offs() -> None:
    report, found = told()
    chart = speedup_chart(report, found)
    (line,) = chart.series
    assert line.name == "a<b"
    assert all(low < y < high for low, y, high in zip(line.low, line.y, line.high, strict=True))
    (mark,) = chart.marks
    assert (mark.x, mark.low, mark.high) == (100.0, 80.0, None)
    assert mark.colour == line.colour
    assert chart.level == 1.0
    assert "cut-off of a<b: 100" in texts(svg(chart))


def test_without_a_table_the_lines_are_drawn_alone() -> None:
    report, found = told()
    assert speedup_chart(replace(report, table="none"), found).marks == []


def test_an_html_file_needs_nothing_else_and_escapes_what_it_is_given() -> None:
    page = html_page(*told())
    assert page.count("<svg") == 1
    assert "<?xml" not in page
    assert "<h1>Cut-offs of &lt;llama&gt;</h1>" in page
    assert "<li>it &amp; &lt;why&gt;</li>" in page
    assert "<td>a&lt;b</td>" in page
    outside = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [each for each in outside if not each.startswith("#")] == []
    assert "No cut-offs: &lt;why" in html_page(replace(told()[0], table="<why"), told()[1])
