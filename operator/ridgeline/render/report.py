"""What a report shows, as plain values: `report_page` turns them into one HTML file.

Simulations, replays and servings are told in these terms. Texts are a person's words or names from
outside; none of them is markup.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Axis(StrEnum):
    """What the horizontal axis of a chart counts."""

    NUMBER = "number"
    ELAPSED = "elapsed"
    """Seconds since a beginning, shown as day and time of day."""
    UTC = "utc"
    """Epoch seconds, shown as date and time in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart.

    Attributes:
        name: What the legend says.
        x: Values along the axis, rising.
        y: Values up the axis; `None` leaves a gap.
        colour: Index of its colour.
        dashed: Whether it is dashed.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    colour: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on the horizontal axis: a line with a label, or a shaded range.

    Attributes:
        x: Where.
        label: What it is.
        until: End of the range; `None` for a line alone.
        colour: Index of its colour.
    """

    x: float
    label: str
    until: float | None = None
    colour: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines over an axis.

    Attributes:
        title: What it shows.
        summary: The same for somebody who does not see it, with the numbers that matter.
        x_label: Name and unit along the axis.
        y_label: Name and unit up the axis.
        lines: The lines.
        marks: Places on the horizontal axis.
        axis: What the horizontal axis counts.
        top: Highest value shown; lines beyond it are cut. `None`: the highest there is.
    """

    title: str
    summary: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    axis: Axis = Axis.NUMBER
    top: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a lane.

    Attributes:
        begins: Its begin.
        ends: Its end.
        label: What holds in it.
        colour: Index of its colour; `None` for something under way, drawn hatched.
    """

    begins: float
    ends: float
    label: str
    colour: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One row of stretches."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Rows of stretches over one axis of time.

    Attributes:
        title: What they show.
        summary: The same for somebody who does not see them.
        lanes: The rows.
        begins: Begin of the axis.
        ends: End of the axis.
        axis: What it counts.
    """

    title: str
    summary: str
    lanes: tuple[Lane, ...]
    begins: float
    ends: float
    axis: Axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        title: What it lists.
        columns: Its columns.
        rows: Its cells.
        numeric: Places of the columns that hold numbers.
        strong: Places of the rows that matter most.
        folded: Whether it is shown only when it is opened.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and values."""

    title: str
    rows: tuple[tuple[str, str], ...]


Block = Chart | Lanes | Table | Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report, such as one serving.

    Attributes:
        title: Its heading.
        paragraphs: Plain words.
        blocks: Charts and tables, in their order.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole report.

    Attributes:
        title: Its heading.
        subtitle: What it is about, in one line.
        summary: What it comes to, in plain words: the first thing that is read.
        cautions: What limits it.
        sections: Its parts.
        footer: What made it.
    """

    title: str
    subtitle: str
    summary: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    sections: tuple[Section, ...] = field(default=())
    footer: str = ""
