"""A few seconds of the bad hour; `make test-leaders` plays all of it."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.cluster.handle import Cluster
from tests.leaders.hour import Outcome, play
from tests.leaders.record import dump, load, run_of
from tests.tools.fault_matrix import PAGE
from tests.tools.leaders_table import BEGIN, END, main, page_with, table

pytestmark = pytest.mark.timeout(600)

SECONDS = 30.0
_SEEN = {
    "entries": 9,
    "writes": {"profile": 2},
    "refused": 1,
    "rolls": 2,
    "takeovers": 3,
    "late_events": 0,
    "late_writes": 0,
    "violations": [],
}


def test_operators_that_are_stopped_and_killed_break_no_rule(control_plane: Cluster) -> None:
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}")
    outcome = play(control_plane, seconds=SECONDS, seed=seed, canary=False)
    assert outcome.seen["violations"] == []
    assert outcome.stuck == []
    assert outcome.ended == []
    # The observer has seen them at work.
    assert sum(outcome.strikes.values()) > 0
    assert outcome.seen["writes"]["profile"] > 0


def test_runs_are_written_down_and_read_back(tmp_path: Path) -> None:
    outcome = Outcome(seen=_SEEN)
    outcome.strikes["SIGKILL"] += 1
    run = run_of(outcome, date="2026-01-01", seed=7, seconds=3600.0)
    path = tmp_path / "seen.json"
    assert load(path) == []
    dump([run], path)
    assert load(path) == [run]
    assert run["takeovers"] == 3


def test_the_docs_tell_what_was_seen() -> None:
    assert main(["--check", str(PAGE)]) == 0


def test_a_page_that_tells_something_else_is_noticed() -> None:
    page = f"before {BEGIN} 1 {END} after"
    run = run_of(Outcome(seen=_SEEN), date="2026-01-01", seed=7, seconds=3600.0)
    written = page_with([run], page)
    assert "| 2026-01-01 | 7 | 60 |" in written
    assert page_with([run], written) == written
    broken = {**run, "violations": [{"kind": "x"}], "stuck": ["s0: Rolling"]}
    assert table([broken]).endswith("| 2 |")
