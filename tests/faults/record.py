"""What a run of the matrix saw, as a file beside the code; the docs are made of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from tests.faults.promise import Ending

RECORD = Path(__file__).with_name("seen.json")

Rows = dict[str, dict[str, Ending]]
"""Fault → name of the serving → how its roll ended."""


def load(path: Path = RECORD) -> Rows:
    """Read what was seen; empty where nothing was yet."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        fault: {name: _ending(cell) for name, cell in cells.items()}
        for fault, cells in data.items()
    }


def dump(rows: Mapping[str, Mapping[str, Ending]], path: Path = RECORD) -> None:
    """Write what was seen."""
    data = {
        fault: {name: dataclasses.asdict(each) for name, each in cells.items()}
        for fault, cells in rows.items()
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _ending(cell: dict[str, object]) -> Ending:
    lists = {"profiles", "foreign"}
    values = {key: tuple(value) if key in lists else value for key, value in cell.items()}  # type: ignore[arg-type]
    return Ending(**values)  # type: ignore[arg-type]
