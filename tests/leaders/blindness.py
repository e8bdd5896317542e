"""When the operators' telemetry was off, as the one who turned it off has written down."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(kw_only=True)
class Blindness:
    """Stretches of time in which nothing could be seen.

    Attributes:
        stretches: Begin and end in epoch seconds; the last one may have no end yet.
    """

    stretches: list[tuple[float, float]] = field(default_factory=list)

    def tell(self, at: float, *, blind: bool) -> None:
        """Say that from a time on it is so."""
        open_now = bool(self.stretches) and self.stretches[-1][1] == float("inf")
        if blind and not open_now:
            self.stretches.append((at, float("inf")))
        elif open_now and not blind:
            self.stretches[-1] = (self.stretches[-1][0], at)

    def since(self, at: float) -> float | None:
        """Since when nothing could be seen at a time; None where something could."""
        return next((begin for begin, end in self.stretches if begin <= at <= end), None)


class Journal:
    """A file in which blindness is written down, and read while it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def write(self, at: float, *, blind: bool) -> None:
        """Add a line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": at, "blind": blind}) + "\n")

    def read_into(self, blindness: Blindness) -> None:
        """Tell what was added since the last time."""
        if not self.path.exists():
            return
        text = self.path.read_text(encoding="utf-8")
        end = text.rfind("\n") + 1
        for line in text[self._read : end].splitlines():
            told = json.loads(line)
            blindness.tell(float(told["at"]), blind=bool(told["blind"]))
        self._read = end
