"""Charts as PNG or SVG. The only file that knows matplotlib, which is an extra of the package.

The same chart gives the same bytes: no dates, no random names in an SVG.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0b6e99", "#c2410c", "#2f7d32", "#7b2d8b", "#8a6d00", "#b0256b", "#455a64")
"""Of the lines, in their order; each has a contrast of 4 and more against white."""

WAY_OUT: Final = "plots need matplotlib: pip install '.[plot]' in a checkout of ridgeline"

_STYLE: Final[Any] = {
    "svg.hashsalt": "ridgeline",
    # Text stays text: small, searchable, and read aloud.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial", "sans-serif"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
}

_INK: Final = "#1f2933"
_GRID: Final = "#d5dbe1"


class PlotsNeedMatplotlibError(RuntimeError):
    """matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__(WAY_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A line, or points, of a chart.

    Attributes:
        name: What the legend says; empty for none.
        x: Values along the axis.
        y: Values up the axis.
        low: Lower edge of a band around the line; empty for no band.
        high: Upper edge of it.
        colour: Index into `COLOURS`.
        points: Whether only points are drawn, such as measurements.
        dashed: Whether the line is dashed.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    colour: int = 0
    points: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on the horizontal axis: a line, and a shaded range around it.

    Attributes:
        x: Where; `None` for the range alone.
        label: What stands at its top.
        low: Begin of the range; `None` for none.
        high: End of the range; `None` for the end of the axis.
        colour: Index into `COLOURS`.
        before: Whether the label stands before the line, where the next one is close behind it.
    """

    x: float | None
    label: str = ""
    low: float | None = None
    high: float | None = None
    colour: int = 0
    before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart.

    Attributes:
        title: What it shows.
        x_label: Name and unit along the axis.
        y_label: Name and unit up the axis.
        series: Lines and points.
        marks: Places on the horizontal axis.
        level: Where a thin horizontal line is drawn; `None` for none.
        logarithmic: Whether the horizontal axis doubles instead of adding.
        both_logarithmic: Whether the vertical one does as well.
        stacked: Whether the series lie on one another as areas.
        width: In inches.
        height: In inches.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    level: float | None = None
    logarithmic: bool = True
    both_logarithmic: bool = False
    stacked: bool = False
    width: float = 7.2
    height: float = 4.0


def svg(chart: Chart) -> str:
    """Return a chart as SVG.

    Raises:
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    return _drawn(chart, "svg", {"Date": None, "Creator": None}).decode("utf-8")


def png(chart: Chart) -> bytes:
    """Return a chart as PNG.

    Raises:
        PlotsNeedMatplotlibError: matplotlib is not installed.
    """
    return _drawn(chart, "png", {"Software": None})


def _drawn(chart: Chart, form: str, metadata: dict[str, Any]) -> bytes:
    with _matplotlib() as figure_of:
        figure: Figure = figure_of(figsize=(chart.width, chart.height), layout="constrained")
        axes = figure.add_subplot()
        _draw(axes, chart)
        out = io.BytesIO()
        figure.savefig(out, format=form, dpi=150, facecolor="white", metadata=metadata)
    return out.getvalue()


@contextmanager
def _matplotlib() -> Iterator[Any]:
    """Give the class of figures, under the style of these charts alone."""
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotsNeedMatplotlibError from error
    # "default" first: what a person has in a matplotlibrc is for other charts.
    with style.context(["default", _STYLE]):
        yield Figure


def _draw(axes: "Axes", chart: Chart) -> None:
    axes.set_title(chart.title, loc="left", color=_INK, fontsize=11)
    axes.set_xlabel(chart.x_label, color=_INK)
    axes.set_ylabel(chart.y_label, color=_INK)
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    _scales(axes, chart)
    if chart.stacked:
        _stack(axes, chart.series)
    else:
        for each in chart.series:
            _line(axes, each)
    if chart.level is not None:
        axes.axhline(chart.level, color=_INK, linewidth=0.8)
    # Ranges are cut at the axis as the lines left it, not the axis stretched to the ranges.
    left, right = axes.get_xlim()
    for mark in chart.marks:
        _mark(axes, mark, right)
    axes.set_xlim(left, right)
    if any(each.name for each in chart.series):
        axes.legend(frameon=False, labelcolor=_INK)


def _scales(axes: "Axes", chart: Chart) -> None:
    if not chart.logarithmic:
        return
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if chart.both_logarithmic:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.margins(x=0.02)


def _line(axes: "Axes", series: Series) -> None:
    colour = COLOURS[series.colour % len(COLOURS)]
    if series.low:
        axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)
    if series.points:
        axes.plot(series.x, series.y, "o", color=colour, markersize=5, label=series.name)
        return
    line = "--" if series.dashed else "-"
    axes.plot(series.x, series.y, line, color=colour, linewidth=1.8, label=series.name)


def _stack(axes: "Axes", series: Sequence[Series]) -> None:
    axes.stackplot(
        series[0].x,
        *(each.y for each in series),
        labels=[each.name for each in series],
        colors=[COLOURS[each.colour % len(COLOURS)] for each in series],
        alpha=0.75,
    )


def _mark(axes: "Axes", mark: Mark, right: float) -> None:
    colour = COLOURS[mark.colour % len(COLOURS)]
    if mark.low is not None:
        high = right if mark.high is None else mark.high
        axes.axvspan(mark.low, min(high, right), color=colour, alpha=0.1, linewidth=0)
    place = mark.x if mark.x is not None else mark.low
    if mark.x is not None:
        axes.axvline(mark.x, color=colour, linewidth=1.2, linestyle=":")
    if mark.label and place is not None:
        axes.annotate(
            mark.label,
            xy=(place, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if mark.before else 4, 0),
            textcoords="offset points",
            color=colour,
            fontsize=9,
            rotation=90,
            va="top",
            ha="right" if mark.before else "left",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )
