"""Feeds bytes that atheris makes up to the reading of answers; ends with an exit code.

    python -m tests.unit.telemetry.fuzz_answers CORPUS [libFuzzer's flags]

Any bytes must give data or one typed error: nothing else is raised, and no number is NaN, infinite
or of the wrong type.
"""

import importlib
import math
import sys
from typing import Any

# It has no types, and is not there for every Python.
atheris: Any = importlib.import_module("atheris")

with atheris.instrument_imports(include=["ridgeline.telemetry"]):
    from ridgeline.telemetry.arithmetic import usable_values
    from ridgeline.telemetry.errors import MalformedError, TooLargeError
    from ridgeline.telemetry.labels import LabelBook
    from ridgeline.telemetry.parse import SignalTable, parse_answer, position_tables, signal_table

MAX_SERIES = 8


def one_input(body: bytes) -> None:
    """Read one answer in both ways that answers are read."""
    book = LabelBook(namespace_label="namespace", pod_label="pod")
    try:
        answer = parse_answer(body, max_series=MAX_SERIES)
    except (MalformedError, TooLargeError):
        return
    for read in (signal_table, position_tables):
        try:
            found = read(answer, book)
        except MalformedError:
            continue
        for table in [found] if isinstance(found, SignalTable) else found.values():
            check(table)


def check(table: SignalTable) -> None:
    """Every engine is in one place only, under texts, with a finite number."""
    assert not table.values.keys() & (table.not_finite | table.ambiguous)
    assert not table.not_finite & table.ambiguous
    assert len(table.values) <= table.series <= MAX_SERIES
    for key, value in usable_values(table.values).items():
        assert all(key)
        assert isinstance(value, float)
        assert math.isfinite(value)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
