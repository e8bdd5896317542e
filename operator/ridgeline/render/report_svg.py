"""A report's charts as SVG: colours come from the page's style, so that they follow its mode."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from ridgeline.render.markup import Markup, joined, tag
from ridgeline.render.report import Axis, Chart, Lane, Lanes, Line, Mark
from ridgeline.render.report_scale import (
    Scale,
    extent,
    number_ticks,
    tell,
    tell_tick,
    time_ticks,
)

WIDTH: Final = 960.0
LEFT: Final = 190.0
"""Space for the names of lanes and the numbers up an axis: charts of one page line up."""
RIGHT: Final = 20.0
_TOP: Final = 26.0
_HEIGHT: Final = 240.0
_BOTTOM: Final = 46.0
_LANE: Final = 26.0
_LETTER: Final = 6.4
"""Width of a letter of a label, for whether it fits."""

COLOURS: Final = 8
MOST_POINTS: Final = 800


def chart_svg(chart: Chart, ident: str) -> Markup:
    """Return a chart of lines.

    Args:
        chart: What it shows.
        ident: Prefix of ids within it, unique in the page.
    """
    xs = [x for line in chart.lines for x in line.x]
    low, high = extent([*xs, *(each.x for each in chart.marks)])
    ys = [y for line in chart.lines for y in line.y if y is not None]
    top = chart.top if chart.top is not None else max([y for y in ys if math.isfinite(y)] or [1.0])
    across = Scale(low=low, high=high, begin=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=0.0, high=top * 1.05 or 1.0, begin=_TOP + _HEIGHT, end=_TOP)
    height = _TOP + _HEIGHT + _BOTTOM
    return tag(
        "svg",
        tag("title", chart.summary, id=f"{ident}-title"),
        *_grid(chart, across, up),
        *(_mark(each, across) for each in chart.marks),
        _clip(ident),
        tag(
            "g",
            *(piece for line in chart.lines for piece in _line(line, across, up)),
            clip_path=f"url(#{ident}-clip)",
        ),
        # Over the lines: their halo keeps labels readable where a line passes.
        *(_label(each, across, index) for index, each in enumerate(chart.marks) if each.label),
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_labelledby=f"{ident}-title",
    )


def lanes_svg(lanes: Lanes, ident: str) -> Markup:
    """Return rows of stretches; what is under way is hatched."""
    across = Scale(low=lanes.begins, high=lanes.ends, begin=LEFT, end=WIDTH - RIGHT)
    bottom = _TOP / 2 + _LANE * len(lanes.lanes)
    hatch = tag(
        "pattern",
        tag("path", d="M0 6 L6 0", class_="hatch"),
        id=f"{ident}-hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    )
    rows = [
        _lane(lane, across, _TOP / 2 + _LANE * index, ident)
        for index, lane in enumerate(lanes.lanes)
    ]
    return tag(
        "svg",
        tag("title", lanes.summary, id=f"{ident}-title"),
        tag("defs", hatch),
        *rows,
        *_ticks(lanes.axis, across, bottom),
        viewBox=f"0 0 {WIDTH:g} {bottom + 24:g}",
        role="img",
        aria_labelledby=f"{ident}-title",
    )


def _grid(chart: Chart, across: Scale, up: Scale) -> Iterator[Markup]:
    for value in number_ticks(0.0, up.high):
        y = up(value)
        yield tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        yield tag("text", tell(value), x=LEFT - 8, y=f"{y + 4:.1f}", class_="tick end")
    yield from _ticks(chart.axis, across, _TOP + _HEIGHT)
    yield tag("text", chart.y_label, x=LEFT, y=_TOP - 10, class_="axis")
    yield tag("text", chart.x_label, x=WIDTH - RIGHT, y=_TOP + _HEIGHT + 38, class_="axis end")


def _ticks(axis: Axis, across: Scale, y: float) -> Iterator[Markup]:
    ticks = number_ticks if axis is Axis.NUMBER else time_ticks
    for value in ticks(across.low, across.high, 8):
        x = f"{across(value):.1f}"
        yield tag("line", x1=x, x2=x, y1=f"{y:.1f}", y2=f"{y + 4:.1f}", class_="stroke")
        told = tell_tick(axis, value, across.high - across.low)
        yield tag("text", told, x=x, y=f"{y + 18:.1f}", class_="tick middle")


def _mark(mark: Mark, across: Scale) -> Markup:
    x = across(mark.x)
    parts = []
    if mark.until is not None:
        width = max(1.0, across(mark.until) - x)
        parts.append(
            tag(
                "rect",
                x=f"{x:.1f}",
                y=_TOP,
                width=f"{width:.1f}",
                height=_HEIGHT,
                class_=f"range fill{mark.colour % COLOURS}",
            )
        )
    else:
        shown = f"{x:.1f}"
        parts.append(
            tag(
                "line",
                x1=shown,
                x2=shown,
                y1=_TOP,
                y2=_TOP + _HEIGHT,
                class_=f"mark stroke{mark.colour % COLOURS}",
            )
        )
    return joined(*parts)


def _label(mark: Mark, across: Scale, index: int) -> Markup:
    x = across(mark.x)
    before = x > WIDTH - RIGHT - _LETTER * len(mark.label) - 8
    return tag(
        "text",
        mark.label,
        x=f"{x - 5 if before else x + 5:.1f}",
        # Labels that are close to each other stand one under the other.
        y=_TOP + 14 + 15 * (index % 5),
        class_="label end" if before else "label",
    )


def _line(line: Line, across: Scale, up: Scale) -> Iterator[Markup]:
    points = thinned(line.x, line.y)
    kind = f"line stroke{line.colour % COLOURS}" + (" dashed" if line.dashed else "")
    for known, piece in groupby(points, key=lambda each: each[1] is not None):
        if known:
            path = " ".join(
                f"{across(x):.1f},{_far(up.unbound(y)):.1f}" for x, y in piece if y is not None
            )
            yield tag("polyline", points=path, class_=kind)


def _clip(ident: str) -> Markup:
    """Return the frame that lines are cut at."""
    frame = tag("rect", x=LEFT, y=_TOP, width=WIDTH - RIGHT - LEFT, height=_HEIGHT)
    return tag("clipPath", frame, id=f"{ident}-clip")


def _far(place: float) -> float:
    """Return a place that a picture can name: what is far outside stays outside."""
    return min(max(place, -1e4), 1e4)


def thinned(
    x: Sequence[float], y: Sequence[float | None], most: int = MOST_POINTS
) -> list[tuple[float, float | None]]:
    """Return at most about so many points: of each stretch its least and its greatest."""
    points = [
        (at, value if value is not None and math.isfinite(value) else None)
        for at, value in zip(x, y, strict=True)
    ]
    if len(points) <= most:
        return points
    each = math.ceil(2 * len(points) / most)
    kept: list[tuple[float, float | None]] = []
    for begin in range(0, len(points), each):
        stretch = points[begin : begin + each]
        known = [point for point in stretch if point[1] is not None]
        if len(known) < len(stretch):
            kept.append((stretch[0][0], None))
        if known:
            least = min(known, key=lambda point: point[1] or 0.0)
            greatest = max(known, key=lambda point: point[1] or 0.0)
            kept += sorted({least, greatest}, key=lambda point: point[0])
    return kept


def _lane(lane: Lane, across: Scale, y: float, ident: str) -> Markup:
    parts = [tag("text", _cut(lane.name), x=LEFT - 8, y=f"{y + 16:.1f}", class_="tick end")]
    for span in lane.spans:
        begin, end = across(span.begins), across(span.ends)
        width = max(1.0, end - begin)
        shape = {"x": f"{begin:.1f}", "y": f"{y + 3:.1f}", "width": f"{width:.1f}", "height": 18}
        told = tag("title", span.label)
        if span.colour is None:
            fill = f"url(#{ident}-hatch)"
            parts.append(tag("rect", told, **shape, fill=fill, class_="underway"))
            continue
        kind = f"span fill{span.colour % COLOURS}"
        parts.append(tag("rect", told, **shape, class_=kind))
        if width > _LETTER * len(span.label) + 10:
            parts.append(
                tag(
                    "text",
                    span.label,
                    x=f"{begin + width / 2:.1f}",
                    y=f"{y + 16:.1f}",
                    class_="onfill middle",
                )
            )
    return joined(*parts)


def _cut(name: str) -> str:
    most = int((LEFT - 12) / _LETTER)
    return name if len(name) <= most else name[: most - 1] + "…"
