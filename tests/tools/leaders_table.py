"""Writes what the bad hours saw into docs/reliability.md, from the file that they write.

`python -m tests.tools.leaders_table [--check] docs/reliability.md`; the run is `make test-leaders`.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.leaders.record import Run, load
from tests.tools.fault_matrix import PAGE
from tests.tools.page import between, cell, run

MODULE: Final = "tests.tools.leaders_table"
BEGIN: Final = "<!-- two operators: made by make test-leaders -->"
END: Final = "<!-- end of two operators -->"

_COLUMNS: Final = (
    "date",
    "seed",
    "minutes",
    "done to the operators",
    "takeovers",
    "rolls",
    "writes",
    "refused late writes",
    "late Events",
    "late writes",
    "rules broken",
)


def table(runs: Sequence[Run]) -> str:
    """Return the table, a row for each run."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|---" * len(_COLUMNS) + "|"]
    for each in runs:
        broken = [*each["violations"], *each["stuck"], *each["ended"]]
        cells = (
            each["date"],
            each["seed"],
            round(each["seconds"] / 60),
            _counts(each["strikes"]),
            each["takeovers"],
            each["rolls"],
            _counts(each["writes"]),
            each["refused"],
            each["late_events"],
            each["late_writes"],
            len(broken),
        )
        lines.append("| " + " | ".join(cell(str(one)) for one in cells) + " |")
    return "\n".join(lines)


def page_with(runs: Sequence[Run], page: str) -> str:
    """Return the page with the table of these runs.

    Raises:
        ValueError: The page has no place for it.
    """
    return between(page, BEGIN, END, table(runs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with `--check`; return the exit status."""
    return run(MODULE, lambda: page_with(load(), Path(PAGE).read_text(encoding="utf-8")), arguments)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


if __name__ == "__main__":
    sys.exit(main())
