"""Scales of a report's charts: from values to places, and the ticks of an axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ridgeline.render.report import Axis

_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_HOUR: Final = 3600.0
_DAY: Final = 86_400.0
_TIME_STEPS: Final = (
    *(60.0, 300.0, 600.0, 900.0, 1800.0, _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY),
)
_DAYS: Final = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Values from `low` to `high` on places from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def unbound(self, value: float) -> float:
        """Return the place of a value, beyond the edges too."""
        width = self.high - self.low
        share = (value - self.low) / width if width > 0 else 0.0
        return self.begin + share * (self.end - self.begin)

    def __call__(self, value: float) -> float:
        """Return the place of a value; what lies outside is put on the edge."""
        return self.unbound(min(max(value, self.low), self.high))


def extent(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the greatest finite value; 0 and 1 without any."""
    known = [each for each in values if math.isfinite(each)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    return (low, high) if high > low else (low, low + 1.0)


def number_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers within a range, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next((each * size for each in _STEPS if each * size >= raw), 10.0 * size)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def time_ticks(low: float, high: float, count: int = 8) -> list[float]:
    """Return round moments within a range, about so many."""
    raw = (high - low) / count
    step = next((each for each in _TIME_STEPS if each >= raw), _TIME_STEPS[-1])
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def tell(value: float) -> str:
    """Return a number as a person reads it on an axis or in a table."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 10_000_000:
        return f"{value / 1e6:,.0f} M"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def tell_x(axis: Axis, value: float) -> str:
    """Return a value of the horizontal axis."""
    if axis is Axis.NUMBER:
        return tell(value)
    if axis is Axis.UTC:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    day, rest = divmod(value, _DAY)
    minutes = round(rest / 60.0)
    hour, minute = divmod(minutes, 60)
    return f"day {int(day) + 1} {hour:02d}:{minute:02d}"


def tell_tick(axis: Axis, value: float, span: float) -> str:
    """Return a tick of the horizontal axis, as short as the span allows."""
    if axis is Axis.NUMBER:
        return tell(value)
    if axis is Axis.UTC:
        form = "%m-%d" if span > 4 * _DAY else "%m-%d %H:%M" if span > _DAY else "%H:%M"
        return datetime.fromtimestamp(value, UTC).strftime(form)
    if span > 2 * _DAY:
        day = int(value // _DAY)
        return f"{_DAYS[day % 7]}" if value % _DAY == 0 else tell_x(axis, value).split()[-1]
    return tell_x(axis, value).split()[-1]
