"""What runs of the bad hour saw, as a file beside the code; the docs are made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.leaders.hour import Outcome

RECORD = Path(__file__).with_name("seen.json")

Run = Mapping[str, Any]
_KEPT = 20


def run_of(outcome: Outcome, *, date: str, seed: int, seconds: float) -> Run:
    """Return an outcome as it is recorded."""
    seen = outcome.seen
    return {
        "date": date,
        "seed": seed,
        "seconds": round(seconds),
        "strikes": dict(sorted(outcome.strikes.items())),
        "changes": dict(sorted(outcome.changes.items())),
        "takeovers": seen["takeovers"],
        "rolls": seen["rolls"],
        "writes": dict(sorted(seen["writes"].items())),
        "refused": seen["refused"],
        "late_events": seen["late_events"],
        "late_writes": seen["late_writes"],
        "requests": seen["entries"],
        "violations": seen["violations"],
        "stuck": outcome.stuck,
        "ended": outcome.ended,
    }


def load(path: Path = RECORD) -> list[Run]:
    """Read the runs, the latest last; empty where there was none yet."""
    runs: list[Run] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return runs


def dump(runs: Sequence[Run], path: Path = RECORD) -> None:
    """Write the latest runs."""
    path.write_text(json.dumps(list(runs)[-_KEPT:], indent=1) + "\n", encoding="utf-8")
