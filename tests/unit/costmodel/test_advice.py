"""The verdict in words, and which draft positions pay."""

from ridgeline.costmodel.advice import Quiet, advice_of
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.lookahead import Tier
from ridgeline.costmodel.positions import positions, told
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.terms.methods import Method
from ridgeline.terms.verdict import Verdict

ARMS = (Arm(name="eagle", method=Method.EAGLE3), Arm(name="none", method=Method.DISABLED))
QUIET = (Quiet(profile="eagle", speedup=1.9, low=1.7, high=2.1),)


def rows(high: float | None) -> tuple[CutoffRow, ...]:
    band = Band(cutoff=139.2, low=125.0, high=high)
    return (
        CutoffRow(profile="eagle", up_to=139.2, return_below=125.0, band=band),
        CutoffRow(profile="none"),
    )


def tier(first: int, last: int, lookahead: int) -> Tier:
    return Tier(first=first, last=last, lookahead=lookahead)


def test_a_yes_says_how_much_and_up_to_where() -> None:
    found = advice_of(CutoffTable(rows(193.0)), ARMS, QUIET)
    assert found.answer is Verdict.YES
    assert found.headline == (
        "Yes: eagle up to 139 requests per engine (band 125 to 193), 1.90 times the tokens of none "
        "(1.70 to 2.10) when quiet, no speculation above that"
    )
    assert found.missing == ()


def test_a_lookahead_that_is_only_too_long_is_told_as_that() -> None:
    shorter = (Quiet(profile="eagle", speedup=1.9, low=1.7, high=2.1, fewer=1),)
    found = advice_of(CutoffTable(rows(193.0)), ARMS, shorter)
    assert found.headline.endswith(
        "no speculation above that with its own lookahead (a drafter that stays loaded does best "
        "there with 1: compare the in-engine schedule)"
    )
    throughout = advice_of(CutoffTable((CutoffRow(profile="eagle"),)), ARMS, shorter)
    assert "lookahead" not in throughout.headline


def test_an_edge_that_no_load_reaches_is_told_as_one() -> None:
    curve = Curve(profile="none", concurrency=(1.0, 160.0), tokens_per_second=(1.0, 2.0))
    found = advice_of(CutoffTable(rows(4096.0), curves=(curve,)), ARMS, QUIET)
    assert "(band 125 to beyond the 160 admitted)" in found.headline
    inside = advice_of(CutoffTable(rows(160.0), curves=(curve,)), ARMS, QUIET)
    assert "(band 125 to 160)" in inside.headline


def test_a_profile_that_is_best_throughout_has_no_end() -> None:
    found = advice_of(CutoffTable((CutoffRow(profile="eagle"),)), ARMS, QUIET)
    assert found.headline.startswith("Yes: eagle at any load, 1.90 times")


def test_a_no_names_what_came_nearest() -> None:
    table = CutoffTable((CutoffRow(profile="none"),), verdict=Verdict.NO)
    low = (Quiet(profile="eagle", speedup=0.51, low=0.46, high=0.57),)
    found = advice_of(table, ARMS, low)
    assert found.answer is Verdict.NO
    assert found.headline.startswith("No: no profile that speculates wins")
    assert "eagle comes nearest with 0.51 times" in found.headline


def test_what_is_undecided_is_not_told_as_a_yes_and_says_what_is_missing() -> None:
    table = CutoffTable(
        rows(None), verdict=Verdict.UNDECIDED, reasons=("a", "b"), doubts=("nobody measured it",)
    )
    found = advice_of(table, ARMS, QUIET)
    assert found.answer is Verdict.UNDECIDED
    assert found.headline.startswith(
        "Cannot say for certain. By the numbers alone: eagle up to 139"
    )
    assert "no upper edge" in found.headline
    assert found.missing == ("nobody measured it",)


def test_where_nothing_is_compared_nothing_is_said_of_winning() -> None:
    table = CutoffTable((CutoffRow(profile="none"),), verdict=Verdict.UNDECIDED, doubts=("d",))
    found = advice_of(table, ARMS, ())
    assert found.headline == "Cannot say: no profile that speculates can be predicted"


def test_a_position_pays_up_to_where_the_best_lookahead_first_falls_below_it() -> None:
    found = positions((tier(1, 10, 3), tier(11, 50, 1), tier(51, 60, 2), tier(61, 256, 1)), 4)
    assert [(each.number, each.up_to, each.always) for each in found] == [
        (1, 256, True),
        (2, 10, False),
        (3, 10, False),
        (4, 0, False),
    ]
    assert told(found) == "1 at any load; 2 to 3 up to 10; 4 nowhere"


def test_without_a_schedule_no_position_is_said_to_pay() -> None:
    assert [each.up_to for each in positions((), 2)] == [0, 0]
