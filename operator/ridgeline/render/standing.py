"""Where a serving stands on its cut-off table, drawn with characters.

One line for each profile shows the concurrencies at which the table asks for it, and the band in
which whatever is active stays; below them lie the axis, where the law acts, and the present point.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ridgeline.policy.wording import number

_WIDEST: Final = 72
_NARROWEST: Final = 20
_MARGIN: Final = 1.25
"""Of the axis beyond the last number on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One row of a cut-off table.

    Attributes:
        profile: Its profile.
        up_to: Cut-off in requests in decode per engine; `None` in the last row.
        back_below: Where the row applies again, coming from the next; `None` in the last row.
        act_at: Where the control law leaves it, where it decides; else `None`.
    """

    profile: str
    up_to: float | None = None
    back_below: float | None = None
    act_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A cut-off table, and the present point on it.

    Attributes:
        rows: From the quietest to the busiest; at least one.
        here: Requests in decode per engine now; `None` while it is not known.
        active: Profile that runs; `None` while it is not known.
    """

    rows: tuple[Reach, ...]
    here: float | None = None
    active: str | None = None

    @property
    def top(self) -> float:
        """End of the axis."""
        told = [each for row in self.rows for each in (row.up_to, row.act_at) if each is not None]
        return _MARGIN * max((*told, self.here or 0.0, 1.0))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it as wide as the terminal is, with blocks where it has them."""
        plain = options.ascii_only
        yield Text("Where it stands (requests in decode per engine)", style="bold")
        for line in standing_lines(self, options.max_width, plain=plain):
            yield Text(line, no_wrap=True, overflow="crop")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    full: str
    band: str
    axis: str
    tick: str
    acts: str
    now: str


_BLOCKS: Final = _Signs(full="█", band="▒", axis="─", tick="┴", acts="△", now="▲")
_PLAIN: Final = _Signs(full="#", band=":", axis="-", tick="+", acts="!", now="^")


def standing_rows(table: Sequence[Mapping[str, Any]]) -> tuple[Reach, ...]:
    """Return the rows of a status's `cutoffTable`."""
    return tuple(
        Reach(
            profile=str(row.get("profile", "?")),
            up_to=_float(row.get("upToConcurrency")),
            back_below=_float(row.get("returnBelowConcurrency")),
            act_at=_float(row.get("actAtConcurrency")),
        )
        for row in table
    )


def standing_lines(standing: Standing, width: int, *, plain: bool = False) -> tuple[str, ...]:
    """Return the drawing, line by line.

    Args:
        standing: What is drawn.
        width: Columns that there are.
        plain: Whether only ASCII may be used.
    """
    signs = _PLAIN if plain else _BLOCKS
    names = [_named(row.profile, standing.active, plain=plain) for row in standing.rows]
    left = max(len("acts at"), *map(len, names)) + 1
    cells = max(_NARROWEST, min(_WIDEST, width - left - 1))
    per_cell = standing.top / cells
    lines = [
        f"{name:<{left}}{''.join(_filled(standing.rows, index, per_cell, cells, signs))}".rstrip()
        for index, name in enumerate(names)
    ]
    borders = [row.up_to for row in standing.rows if row.up_to is not None]
    lines += _axis(borders, per_cell, cells, left, signs)
    for row in standing.rows:
        if row.act_at is not None:
            lines.append(_pointed("acts at", row.act_at, signs.acts, per_cell, cells, left))
    if standing.here is None:
        lines.append(f"{'now':<{left}}not known")
    else:
        lines.append(_pointed("now", standing.here, signs.now, per_cell, cells, left))
    return tuple(lines)


def _named(profile: str, active: str | None, *, plain: bool) -> str:
    shown = profile if not plain or profile.isascii() else ascii(profile)[1:-1]
    return f"{shown} *" if profile == active else shown


def _filled(
    rows: Sequence[Reach], index: int, per_cell: float, cells: int, signs: _Signs
) -> Iterator[str]:
    """Yield the cells of a profile: its range, and the bands that it shares with its neighbours."""
    row = rows[index]
    below = rows[index - 1] if index else None
    for cell in range(cells):
        at = (cell + 0.5) * per_cell
        if row.up_to is not None and at >= row.up_to:
            yield " "
        elif row.back_below is not None and at >= row.back_below:
            yield signs.band
        elif below is None or below.up_to is None or at >= below.up_to:
            yield signs.full
        elif below.back_below is not None and at >= below.back_below:
            yield signs.band
        else:
            yield " "


def _axis(
    borders: Sequence[float], per_cell: float, cells: int, left: int, signs: _Signs
) -> Iterator[str]:
    line = [signs.axis] * cells
    numbers = [" "] * (cells + 12)
    numbers[0] = "0"
    for border in borders:
        cell = _cell(border, per_cell, cells)
        line[cell] = signs.tick
        text = number(border)
        free = all(each == " " for each in numbers[max(0, cell - 1) : cell + len(text) + 1])
        if free:
            numbers[cell : cell + len(text)] = text
    yield " " * left + "".join(line)
    yield (" " * left + "".join(numbers)).rstrip()


def _pointed(name: str, at: float, sign: str, per_cell: float, cells: int, left: int) -> str:
    """Return a line that points at a place; its number stands on the side that has room."""
    cell = _cell(at, per_cell, cells)
    text = number(at)
    if cell + len(text) + 2 <= cells:
        return f"{name:<{left}}{' ' * cell}{sign} {text}"
    return f"{name:<{left}}{' ' * (cell - len(text) - 1)}{text} {sign}"


def _cell(at: float, per_cell: float, cells: int) -> int:
    return min(cells - 1, max(0, int(at / per_cell)))


def _float(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None  # type: ignore[arg-type]
