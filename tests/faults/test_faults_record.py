"""The committed record of the matrix is whole, keeps the promise, and the docs tell the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.faults import FAULTS
from tests.faults.record import dump, load
from tests.faults.steps import STEPS
from tests.tools.fault_matrix import PAGE
from tests.tools.real_fault_matrix import main, page_with, table


@pytest.mark.parametrize("fault", load())
def test_a_fault_was_struck_at_every_step_and_the_promise_kept(fault: str) -> None:
    cells = load()[fault]
    assert cells.keys() == {each.name for each in STEPS}
    assert {name: cell.broken() for name, cell in cells.items() if cell.broken()} == {}


def test_nothing_is_on_record_that_is_struck_no_more() -> None:
    assert load()
    assert load().keys() <= FAULTS.keys()


def test_faults_that_were_not_struck_are_named_and_not_taken_for_well() -> None:
    rows = load()
    fault = next(iter(rows))
    assert f"| {fault} |" in table(rows)
    del rows[fault]
    assert f"| {fault} |" not in table(rows)
    assert fault in table(rows).splitlines()[-1]


def test_the_docs_tell_what_was_seen() -> None:
    assert main(["--check", str(PAGE)]) == 0


def test_a_page_that_tells_something_else_is_noticed(tmp_path: Path) -> None:
    told = PAGE.read_text(encoding="utf-8")
    first = next(iter(load()))
    begin = told.index(f"| {first} |", told.index("real fault matrix"))
    end = told.index("\n", begin)
    changed = told[:begin] + f"| {first} |" + " Finished: all on x |" * len(STEPS) + told[end:]
    other = tmp_path / "reliability.md"
    other.write_text(changed, encoding="utf-8")
    assert page_with(load(), changed) == told
    assert main(["--check", str(other)]) == 1


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    dump(load(), tmp_path / "seen.json")
    assert load(tmp_path / "seen.json") == load()
