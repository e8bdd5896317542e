"""Moments as people type them."""

import re
from datetime import datetime
from typing import Final

_AGO: Final = re.compile(r"(\d{1,6})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment_of(option: str, text: str, now: float) -> float:
    """Return the moment that an option names.

    Raises:
        ValueError: It names none; the message names the option.
    """
    try:
        return moment(text, now)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{option}: {error}") from None


def moment(text: str, now: float) -> float:
    """Return epoch seconds of `now`, of `2h` (two hours ago) or of an ISO 8601 time with a zone.

    Raises:
        ValueError: It is none of these.
    """
    if text == "now":
        return now
    ago = _AGO.fullmatch(text)
    if ago:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no time: write 2026-11-29T08:00Z, `now`, or `2h` for two hours ago"
        ) from None
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: end it with Z or an offset such as +01:00")
    return found.timestamp()
