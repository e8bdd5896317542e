"""Writes the table of soaks into docs/reliability.md, from the dated results in tests/soak/seen.

`python -m tests.tools.soak_table [--check] docs/reliability.md`; a run is `make test-soak-day`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.soak.measure import Slope
from tests.soak.record import WARM_UP_HOURS, Seen, load
from tests.tools.fault_matrix import PAGE
from tests.tools.page import between, run

MODULE: Final = "tests.tools.soak_table"
BEGIN: Final = "<!-- soak: made by make test-soak-day -->"
END: Final = "<!-- end of the soak -->"
ROWS: Final = 5
"""So many results are shown, the newest; all stay in their files."""

_NUMBERS: Final = {
    "held_bytes": ("what the operator holds", "kB", 1e3),
    "rss_bytes": ("resident memory of the whole test", "MB", 1e6),
    "allocated_blocks": ("memory blocks allocated", "thousand", 1e3),
    "file_descriptors": ("open file descriptors", "", 1.0),
    "tasks": ("asyncio tasks", "", 1.0),
    "stored_objects": ("objects in the watch store", "", 1.0),
    "largest_status_bytes": ("largest status", "kB", 1e3),
}


def table(results: Sequence[Seen]) -> str:
    """Return the tables: a row for each run, and what the newest one measured."""
    if not results:
        return "No run has been kept yet."
    shown = list(reversed(results))[:ROWS]
    lines = [
        "| date | seed | simulated hours | things that happened | rolls begun | put back | "
        "operators killed | promises broken |",
        "|---" * 8 + "|",
        *(_row(each) for each in shown),
        "",
        f"Of the process that lived all day, in the run of {shown[0].date} (seed {shown[0].seed}), "
        f"after {WARM_UP_HOURS:g} hours:",
        "",
        "| | mean | growth in an hour | standard error | flat |",
        "|---|---|---|---|---|",
        *_measured(shown[0].slopes()),
        "",
        f"What happened in it: {_happenings(shown[0])}.",
    ]
    return "\n".join(lines)


def page_with(results: Sequence[Seen], page: str) -> str:
    """Return the page with the tables of these results.

    Raises:
        ValueError: The page has no place for them.
    """
    return between(page, BEGIN, END, table(results))


def _row(seen: Seen) -> str:
    cells = (
        seen.date,
        seen.seed,
        f"{seen.hours:g}",
        sum(seen.happenings.values()),
        seen.rolls["begun"],
        seen.rolls["put back"],
        seen.operators_lost,
        len(seen.broken),
    )
    return "| " + " | ".join(str(each) for each in cells) + " |"


def _measured(slopes: dict[str, Slope]) -> list[str]:
    lines = []
    for name, (told, unit, divisor) in _NUMBERS.items():
        found = slopes.get(name)
        if found is None:
            continue
        flat = "yes" if found.flat else "**no**"
        mean, growth, error = (
            f"{each / divisor:,.3g} {unit}".strip()
            for each in (found.mean, found.per_hour, found.error)
        )
        lines.append(f"| {told} | {mean} | {growth} | {error} | {flat} |")
    return lines


def _happenings(seen: Seen) -> str:
    often = sorted(seen.happenings.items(), key=lambda each: (-each[1], each[0]))
    return "; ".join(f"{name} ({count})" for name, count in often)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with `--check`; return the exit status."""
    return run(MODULE, lambda: page_with(load(), Path(PAGE).read_text(encoding="utf-8")), arguments)


if __name__ == "__main__":
    sys.exit(main())
