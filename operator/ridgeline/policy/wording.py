"""Numbers as a person reads them: rounded, and never rounded into a lie."""

from typing import Final

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


def number(value: float) -> str:
    """Return a finite number with about three significant digits and no trailing zeros."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3g}"
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_beside(value: float, limit: float) -> str:
    """Return `value` with as many digits as it takes to tell it from `limit`.

    19.999 beside 20 must not read "20, below 20".
    """
    if value == limit or number(value) != number(limit):
        return number(value)
    for digits in (6, 9, 12):
        if f"{value:.{digits}g}" != f"{limit:.{digits}g}":
            return f"{value:.{digits}g}"
    return repr(value)


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits its size: seconds, minutes or hours."""
    if seconds < 10 * _MINUTE:
        return f"{number(seconds)} s"
    if seconds < 2 * _HOUR:
        return f"{number(seconds / _MINUTE)} min"
    return f"{number(seconds / _HOUR)} h"


def names(items: tuple[str, ...], most: int = 3) -> str:
    """Return the first few names and how many more there are."""
    shown = ", ".join(items[:most])
    more = len(items) - most
    return f"{shown} and {more} more" if more > 0 else shown
