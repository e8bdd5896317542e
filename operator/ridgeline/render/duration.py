"""How long ago something was, as kubectl shows ages."""

from datetime import UTC, datetime
from typing import Final

_STEPS: Final = ((86_400, "d"), (3600, "h"), (60, "m"))


def ago(moment: object, now: float) -> str:
    """Return the time since an RFC 3339 moment, such as `3m` or `2d`; `-` when it is none."""
    seconds = since(moment, now)
    if seconds is None:
        return "-"
    for length, unit in _STEPS:
        if seconds >= 2 * length:
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds)}s"


def since(moment: object, now: float) -> float | None:
    """Return the seconds since an RFC 3339 moment, at least 0; `None` when it is none."""
    if not isinstance(moment, str):
        return None
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return None
    told = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return max(0.0, now - told.timestamp())
