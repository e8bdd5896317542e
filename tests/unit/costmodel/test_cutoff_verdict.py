"""Verdicts and reasons of a cut-off table."""

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.terms.verdict import Verdict

OFF = (CutoffRow(profile="none"),)
TWO = (CutoffRow(profile="eagle", up_to=20.0, return_below=16.0), *OFF)


def test_a_table_that_a_person_wrote_says_yes() -> None:
    assert CutoffTable(TWO).verdict is Verdict.YES
    assert CutoffTable(TWO).reasons == ()


def test_a_no_has_one_row() -> None:
    assert CutoffTable(OFF, verdict=Verdict.NO).rows == OFF
    with pytest.raises(ValueError, match="says No has one row, not 2"):
        CutoffTable(TWO, verdict=Verdict.NO)


def test_further_reasons_stand_behind_and_leave_the_verdict() -> None:
    found = CutoffTable(TWO, reasons=("a",)).qualified("b", "c")
    assert found == CutoffTable(TWO, reasons=("a", "b", "c"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Verdict.YES, Verdict.UNDECIDED),
        (Verdict.NO, Verdict.NO),
        (Verdict.UNDECIDED, Verdict.UNDECIDED),
    ],
)
def test_a_doubt_weakens_only_a_yes(before: Verdict, after: Verdict) -> None:
    assert CutoffTable(OFF, verdict=before).qualified("b", undecided=True).verdict is after
