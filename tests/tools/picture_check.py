"""Whether two drawings of a picture are the same, but for the last digits of the machine."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_MADE_UP: Final = re.compile(r"\b[a-z]+[0-9a-f]{10}\b")
"""Names of clip paths and markers: hashes of coordinates."""


def alike(one: str, other: str) -> bool:
    """Return whether two SVG texts have one shape, and coordinates within a tenth of a point."""
    one, other = (_MADE_UP.sub("id", each) for each in (one, other))
    if _NUMBER.sub("0", one) != _NUMBER.sub("0", other):
        return False
    numbers = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(this) - float(that)) < 0.1 for this, that in numbers)
