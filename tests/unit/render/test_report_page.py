"""A report as one file: what stands in it, and how its charts are drawn."""

import math
import re
from xml.etree import ElementTree as Xml

import pytest

from ridgeline.render.report import Axis, Chart, Lane, Lanes, Line, Mark, Report, Section, Span
from ridgeline.render.report_page import report_page
from ridgeline.render.report_scale import number_ticks, tell, tell_tick, tell_x, time_ticks
from ridgeline.render.report_svg import chart_svg, lanes_svg, thinned
from tests.component.report.report_values import HOSTILE, report

DAY = 86_400.0


def points(svg: str) -> list[list[tuple[float, float]]]:
    """The places of each polyline."""
    found = re.findall(r'<polyline points="([^"]*)"', svg)
    return [[tuple(map(float, each.split(","))) for each in line.split()] for line in found]  # type: ignore[misc]


def chart(*lines: Line, marks: tuple[Mark, ...] = (), top: float | None = None) -> Chart:
    return Chart(
        title="t", summary="s", x_label="x", y_label="y", lines=lines, marks=marks, top=top
    )


def test_nothing_is_loaded_from_anywhere() -> None:
    page = report_page(report())
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"(?:src|srcset|action)=|@import|url\((?!#)|https?:", page)
    assert {each[0] for each in re.findall(r'href="([^"]*)"', page)} == {"#"}


@pytest.mark.parametrize("name", HOSTILE[:-1])
def test_a_hostile_name_is_escaped_everywhere(name: str) -> None:
    page = report_page(report(name))
    assert not re.search(r"<(?:script|img|iframe|b)\b", page)
    assert 'onerror="document' not in page
    assert page.count("<svg") == page.count("</svg>") == 4
    assert "\x00" not in page
    page.encode("utf-8")


def test_a_report_of_one_part_has_no_contents() -> None:
    one = Report(title="t", subtitle="s", summary=("w",), sections=(Section(title="only"),))
    page = report_page(one)
    assert "<nav" not in page
    assert 'class="cautions"' not in page


def test_lines_are_drawn_from_the_left_bottom_to_the_right_top() -> None:
    svg = chart_svg(chart(Line(name="l", x=(0.0, 10.0), y=(0.0, 5.0))), "c")
    ((left, bottom), (right, top)) = points(svg)[0]
    assert left < right
    assert bottom > top
    Xml.fromstring(svg)


def test_a_gap_breaks_a_line() -> None:
    gap = Line(name="l", x=(0.0, 1.0, 2.0, 3.0), y=(1.0, 1.0, None, 2.0))
    assert [len(each) for each in points(chart_svg(chart(gap), "c"))] == [2, 1]
    lost = Line(name="l", x=(0.0, 1.0), y=(math.nan, math.inf))
    assert points(chart_svg(chart(lost), "c")) == []


def test_a_line_above_the_top_leaves_the_frame_and_is_cut() -> None:
    high = Line(name="l", x=(0.0, 1.0), y=(1.0, 1e9))
    svg = chart_svg(chart(high, top=2.0), "c")
    assert points(svg)[0][1][1] < 0
    assert 'clip-path="url(#c-clip)"' in svg


def test_a_chart_of_nothing_is_drawn_all_the_same() -> None:
    Xml.fromstring(chart_svg(chart(), "c"))
    nothing = chart_svg(chart(Line(name="l", x=(), y=())), "c")
    assert "nan" not in nothing


def test_labels_at_the_right_edge_stand_before_their_line() -> None:
    line = Line(name="l", x=(0.0, 100.0), y=(1.0, 1.0))
    near = chart_svg(chart(line, marks=(Mark(x=99.0, label="close to the edge"),)), "c")
    far = chart_svg(chart(line, marks=(Mark(x=1.0, label="close to the edge"),)), "c")
    assert 'class="label end"' in near
    assert 'class="label end"' not in far


def test_a_label_stands_over_the_lines_that_pass_it() -> None:
    line = Line(name="l", x=(0.0, 100.0), y=(1.0, 1.0))
    svg = chart_svg(chart(line, marks=(Mark(x=9.0, label="to none"),)), "c")
    assert svg.index("<polyline") < svg.index("to none")


def test_stretches_are_as_wide_as_they_last() -> None:
    lanes = Lanes(
        title="t",
        summary="s",
        lanes=(
            Lane(
                name="l",
                spans=(
                    Span(begins=0.0, ends=75.0, label="a", colour=0),
                    Span(begins=75.0, ends=100.0, label="b", colour=None),
                ),
            ),
        ),
        begins=0.0,
        ends=100.0,
        axis=Axis.ELAPSED,
    )
    svg = lanes_svg(lanes, "c")
    widths = [float(each) for each in re.findall(r'<rect x="[^"]*" y="[^"]*" width="([^"]*)"', svg)]
    assert widths[0] == pytest.approx(3 * widths[1])
    assert 'fill="url(#c-hatch)"' in svg
    Xml.fromstring(svg)


def test_thinning_keeps_what_stands_out_and_what_is_not_known() -> None:
    x = [float(each) for each in range(10_000)]
    y: list[float | None] = [1.0] * 10_000
    y[5000], y[7000] = 50.0, -3.0
    y[100:300] = [None] * 200
    found = thinned(x, y, most=200)
    assert len(found) <= 320
    assert max(each for _, each in found if each is not None) == 50.0
    assert min(each for _, each in found if each is not None) == -3.0
    assert any(each is None for _, each in found)
    assert [at for at, _ in found] == sorted(at for at, _ in found)


def test_ticks_are_round_and_within() -> None:
    assert number_ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert number_ticks(3.0, 3.0) == [3.0]
    assert time_ticks(0.0, 7 * DAY) == [each * DAY for each in range(8)]
    assert time_ticks(0.0, 3600.0)[1] == 600.0


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (5e7, "50 M"),
        (math.nan, "–"),
    ],
)
def test_numbers_have_three_digits(value: float, told: str) -> None:
    assert tell(value) == told


def test_times_are_told_by_what_the_axis_counts() -> None:
    assert tell_x(Axis.ELAPSED, 1.5 * DAY) == "day 2 12:00"
    assert tell_x(Axis.UTC, 1_800_000_000.0) == "2027-01-15 08:00"
    assert tell_x(Axis.NUMBER, 5.0) == "5"
    assert tell_tick(Axis.ELAPSED, DAY, 7 * DAY) == "Fri"
    assert tell_tick(Axis.ELAPSED, DAY / 2, DAY) == "12:00"
    assert tell_tick(Axis.UTC, 1_800_000_000.0, 3600.0) == "08:00"
    assert tell_tick(Axis.UTC, 1_800_000_000.0, 9 * DAY) == "01-15"
