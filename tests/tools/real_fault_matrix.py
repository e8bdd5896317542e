"""Writes the fault matrix of a real cluster into docs/reliability.md, from what its last run saw.

`python -m tests.tools.real_fault_matrix [--check] docs/reliability.md`; the run is
`make test-faults`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.faults.faults import FAULTS
from tests.faults.record import Rows, load
from tests.faults.steps import STEPS
from tests.tools.fault_matrix import PAGE
from tests.tools.page import between, cell, run

MODULE: Final = "tests.tools.real_fault_matrix"
BEGIN: Final = "<!-- real fault matrix: made by make test-faults -->"
END: Final = "<!-- end of the real fault matrix -->"


def table(rows: Rows) -> str:
    """Return the table: a row for each fault that was struck, a column for each step.

    Faults that no run has struck yet are named below it.

    Raises:
        KeyError: A serving was not looked at.
    """
    lines = [
        "| fault \\ step | " + " | ".join(each.told for each in STEPS) + " |",
        "|---" * (len(STEPS) + 1) + "|",
    ]
    for fault in (each for each in FAULTS if each in rows):
        told = [cell(rows[fault][step.name].told()) for step in STEPS]
        lines.append(f"| {fault} | " + " | ".join(told) + " |")
    missing = [each for each in FAULTS if each not in rows]
    if missing:
        lines += ["", f"Defined, and not in this table's run: {'; '.join(missing)}."]
    return "\n".join(lines)


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
