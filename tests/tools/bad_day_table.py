"""Writes the table of a bad day into docs/reliability.md, from what its last run saw.

`python -m tests.tools.bad_day_table [--check] docs/reliability.md`; the run is
`make test-bad-day`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.faults.day.seen import Rows, load
from tests.faults.day.table import FAULTS
from tests.tools.fault_matrix import PAGE
from tests.tools.page import between, cell, run

MODULE: Final = "tests.tools.bad_day_table"
BEGIN: Final = "<!-- bad day: made by make test-bad-day -->"
END: Final = "<!-- end of the bad day -->"


def table(rows: Rows) -> str:
    """Return the table: a row for each fault that was struck; the others are named below it."""
    lines = [
        "| what goes wrong | given | promise | seen | s to recovery |",
        "|---|---|---|---|---|",
    ]
    for name, fault in FAULTS.items():
        if name not in rows:
            continue
        seen = rows[name]
        broken = "; ".join(seen.broken())
        told = f"**not kept:** {broken}" if broken else seen.told()
        recovery = "–" if seen.recovery_s is None else f"{seen.recovery_s:.1f}"
        cells = (name, fault.given, fault.promise, told, recovery)
        lines.append(f"| {' | '.join(cell(each) for each in cells)} |")
    missing = [each for each in FAULTS if each not in rows]
    if missing:
        lines += ["", f"Defined, and not in this table's run: {'; '.join(missing)}."]
    days = sorted({each.date for each in rows.values()})
    return "\n".join([*lines, "", f"Seen on {' and '.join(days)}."])


def page_with(rows: Rows, page: str) -> str:
    """Return the page with the table of these rows.

    Raises:
        ValueError: The page has no place for it.
    """
    return between(page, BEGIN, END, table(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with `--check`; return the exit status."""
    return run(MODULE, lambda: page_with(load(), Path(PAGE).read_text(encoding="utf-8")), arguments)


if __name__ == "__main__":
    sys.exit(main())
