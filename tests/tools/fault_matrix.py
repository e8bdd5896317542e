"""Writes the fault matrix of rolls into docs/reliability.md: every fault at every step, played.

The test of the matrix holds each cell against what it sees.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from tests.component.controller.fault_matrix import FAULTS, STEPS, outcome
from tests.tools.page import between

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- fault matrix: made by python -m tests.tools.fault_matrix -->"
END: Final = "<!-- end of the fault matrix -->"


def cell(step: str, fault: str, page: str) -> str:
    """Return what the page says of a fault at a step.

    Raises:
        LookupError: The page has no such row.
    """
    for line in page.splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if cells[0] == fault and len(cells) == len(STEPS) + 1:
            return cells[1 + list(STEPS).index(step)]
    raise LookupError(f"no row for {fault!r}: run python -m tests.tools.fault_matrix")


async def _table() -> str:
    lines = [
        "| fault \\ step | " + " | ".join(STEPS) + " |",
        "|---" * (len(STEPS) + 1) + "|",
    ]
    for fault in FAULTS:
        print(f"{fault} …", file=sys.stderr)
        told = [(await outcome(step, fault)).told() for step in STEPS]
        lines.append(f"| {fault} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def main() -> int:
    """Play the matrix and write it into the page."""
    page = PAGE.read_text(encoding="utf-8")
    table = asyncio.run(_table())
    PAGE.write_text(between(page, BEGIN, END, table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
