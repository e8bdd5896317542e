"""The acceptance of each cell, and files of cells.

It comes from the row itself, or, where the row has none, from the row of least load of the same
run, which is then not scored: acceptance is measured in practice and not predicted, and it is a
factor in front of the speed-up.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.prediction_cells import Cell, Row, Skipped, read_rows
from benchmarks.prediction_score import speedup
from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.costmodel.arm import Acceptance, Origin


def read_cells(path: Path) -> tuple[list[Cell], list[Skipped]]:
    """Return the cells of a file, and the rows that cannot be scored."""
    rows, skipped = read_rows(path)
    cells, unknown = _with_acceptance(rows)
    return cells, skipped + unknown


def _with_acceptance(rows: list[Row]) -> tuple[list[Cell], list[Skipped]]:
    runs: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        runs.setdefault(row.run, []).append(row)
    cells, skipped = [], []
    for run in runs.values():
        run.sort(key=lambda each: each.cell.load)
        quiet = run[0]
        taken = quiet.length is None
        length = quiet.length if quiet.length is not None else length_at(quiet.cell, quiet.hit)
        for row in run:
            own = row.length if row.length is not None else length
            if row is quiet and taken:
                alone = len(run) == 1
                skipped.append(Skipped(row.cell.name, _ALONE if alone else _TAKEN, row.cell.scopes))
                continue
            cells.append(with_length(row.cell, own, row.hit))
    return cells, skipped


_TAKEN = "its speed-up gives the acceptance of its run"
_ALONE = "no acceptance, and no other load of the same run to take it from"


def with_length(cell: Cell, length: float, hit: float) -> Cell:
    """Return a cell whose profile has an acceptance length."""
    found = Acceptance(
        rates=rates_from_length(1.0 + (length - 1.0) / hit, cell.arm.lookahead),
        hit=hit,
        origin=Origin.MEASURED,
    )
    return replace(cell, arm=replace(cell.arm, acceptance=found))


def length_at(cell: Cell, hit: float) -> float:
    """Return the acceptance length with which the model gives a cell's own speed-up."""
    length = 2.0
    for _ in range(8):
        predicted = speedup(with_length(cell, length, hit))
        if predicted is None:
            break
        most = 1.0 + hit * cell.arm.lookahead
        length = min(max(length * cell.observed / predicted, 1.0), most)
    return length
