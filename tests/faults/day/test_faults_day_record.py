"""The committed record of a bad day keeps every promise, and the docs tell the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.faults.day.seen import Seen, dump, load
from tests.faults.day.table import FAULTS
from tests.faults.promise import Ending
from tests.tools.bad_day_table import main, page_with, table
from tests.tools.fault_matrix import PAGE

WELL = Ending(
    state="Finished",
    reason="",
    decision="BestProfileActive",
    profiles=("eagle",),
    wanted=2,
    staying=2,
    serving=2,
    pending=0,
    paused=False,
    foreign=(),
)
STAYED = dataclasses.replace(WELL, state="", profiles=("",))
KEPT = Seen(
    date="2026-01-01",
    writes={"steady": 0, "turning": 1},
    wanted_writes={"steady": 0, "turning": 1},
    profiles={"steady": "", "turning": "eagle"},
    struck_writes=0,
    blind=True,
    endings={"steady": STAYED, "turning": WELL},
    written=("deployments", "events", "leases", "speculativeservings/status"),
    most_at_once=1,
    budget=1,
    most_lacking=0,
    calls={"200": 3},
    struck_s=20.0,
    recovery_s=3.5,
    restarts=1,
    notes=("a note",),
)


@pytest.mark.parametrize("fault", load())
def test_every_promise_on_record_was_kept(fault: str) -> None:
    assert load()[fault].broken() == []


def test_nothing_is_on_record_that_is_struck_no_more() -> None:
    assert load()
    assert load().keys() <= FAULTS.keys()


def test_a_kept_promise_is_told_in_one_line() -> None:
    assert KEPT.broken() == []
    assert KEPT.told() == "1 roll; 0 of them begun in it; operator restarted 1 ×; a note"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"writes": {"steady": 0, "turning": 2}}, "turning: written 2 times, not 1"),
        ({"writes": {"steady": 1, "turning": 1}}, "steady: written 1 times, not 0"),
        ({"struck_writes": 1}, "1 writes of targets while it was blind"),
        ({"most_at_once": 2}, "2 rolls at once, 1 may be"),
        ({"most_lacking": 1}, "a target lacked 1 Ready replicas"),
        ({"written": ("deployments", "secrets")}, "it wrote secrets"),
        ({"recovery_s": None}, "was not answered"),
        ({"complaints": ("too loud",)}, "too loud"),
        ({"endings": {}}, "no target was looked at"),
        ({"endings": {"turning": STAYED}}, "turning: the roll is still not begun"),
        ({"endings": {"steady": WELL}}, "steady: a roll is Finished, and none was due"),
        ({"endings": {"steady": WELL}}, "steady: its Pods are on 'eagle', not ''"),
        (
            {"endings": {"steady": dataclasses.replace(STAYED, foreign=("spec: x",))}},
            "changed, and not the operator's: spec: x",
        ),
    ],
)
def test_what_breaks_the_promise_is_named(change: dict[str, object], told: str) -> None:
    changed = dataclasses.replace(KEPT, **change)  # type: ignore[arg-type]
    assert any(told in each for each in changed.broken())


def test_a_fault_that_may_write_is_not_blamed_for_it() -> None:
    assert dataclasses.replace(KEPT, blind=False, struck_writes=1).broken() == []


def test_a_broken_promise_and_a_fault_that_was_not_struck_are_told_as_such() -> None:
    name, other = list(FAULTS)[:2]
    page = table({name: dataclasses.replace(KEPT, most_at_once=2)})
    assert "**not kept:** 2 rolls at once" in page
    assert f"| {other} |" not in page
    assert other in page.splitlines()[-3]


def test_the_docs_tell_what_was_seen() -> None:
    assert main(["--check", str(PAGE)]) == 0


def test_a_page_that_tells_something_else_is_noticed(tmp_path: Path) -> None:
    told = PAGE.read_text(encoding="utf-8")
    first = next(iter(load()))
    begin = told.index(f"| {first} |", told.index("<!-- bad day"))
    changed = told[:begin] + told[told.index("\n", begin) + 1 :]
    other = tmp_path / "reliability.md"
    other.write_text(changed, encoding="utf-8")
    assert page_with(load(), changed) == told
    assert main(["--check", str(other)]) == 1


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    dump({"a": KEPT}, tmp_path / "seen.json")
    assert load(tmp_path / "seen.json") == {"a": KEPT}
