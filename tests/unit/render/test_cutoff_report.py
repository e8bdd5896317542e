"""What is shown of cut-offs agrees with the cost model, and promises no uncalibrated time."""

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import estimate
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.lookahead import best_lookahead
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.render.cutoff import NOT_MEASURED, cutoff_page, range_rows
from ridgeline.render.cutoff_document import cutoff_document
from ridgeline.render.cutoff_report import CONCURRENCIES, CutoffReport, predicted
from ridgeline.terms.methods import Method
from ridgeline.terms.verdict import Verdict
from tests.unit.costmodel.targets import CHAT, LLAMA_70B, NONE, arm, on, seen

SPEC = arm(2.2)
TARGET = on(max_num_seqs=200)


def report(*arms: Arm, table: CutoffTable | str | None = None, way_out: str = "") -> CutoffReport:
    found = goodput_table(TARGET, arms, CHAT)
    return CutoffReport(
        subject="llama",
        strategy="Goodput",
        facts=(("model", "Llama 3.1 8B"),),
        table=table or (str(found) if isinstance(found, CannotSay) else found),
        way_out=way_out,
        predicted=predicted(TARGET, arms, CHAT),
    )


def page(told: CutoffReport) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(cutoff_page(told))
    return out.getvalue()


def test_points_are_those_of_the_cost_model() -> None:
    spec, none = predicted(TARGET, (SPEC, NONE), CHAT).profiles
    for concurrency, point, base in zip(CONCURRENCIES, spec.points, none.points, strict=True):
        told = estimate(TARGET, SPEC, NONE, CHAT, float(concurrency))
        assert not isinstance(told, CannotSay)
        assert point.concurrency == concurrency
        assert point.speedup == pytest.approx(told.speedup)
        assert math.log(point.high / point.speedup) == pytest.approx(told.speedup_sd)
        assert math.log(point.speedup / point.low) == pytest.approx(told.speedup_sd)
        assert point.admitted == told.admitted
        assert (base.speedup, base.low, base.high) == (1.0, 1.0, 1.0)
    assert [each.admitted for each in spec.points] == [True] * 5 + [False]


def test_a_curve_goes_from_one_request_to_the_most_that_are_admitted() -> None:
    (spec, _) = predicted(TARGET, (SPEC, NONE), CHAT).profiles
    places = [each.concurrency for each in spec.curve]
    assert places[0] == 1.0
    assert places[-1] == 200.0
    assert places == sorted(places)
    assert all(each.admitted for each in spec.curve)


@pytest.mark.parametrize(
    ("one", "other", "calibrated"),
    [(0, 0, False), (50, 0, False), (0, 50, False), (50, 50, True)],
)
def test_times_are_told_only_where_both_arms_were_seen(
    one: int, other: int, *, calibrated: bool
) -> None:
    spec = replace(SPEC, calibration=seen(one))
    none = replace(NONE, calibration=seen(other))
    (told, _) = predicted(TARGET, (spec, none), CHAT).profiles
    assert told.calibrated is calibrated
    for point in (*told.points, *told.curve):
        assert (point.tpot_seconds is not None) is calibrated
        assert (point.tokens_per_second is not None) is calibrated
    shown = page(report(spec, none))
    assert (" ms" in shown) is (calibrated or other > 0)


def test_a_calibrated_time_is_concurrency_by_throughput() -> None:
    spec, none = replace(SPEC, calibration=seen(50)), replace(NONE, calibration=seen(50))
    (told, _) = predicted(TARGET, (spec, none), CHAT).profiles
    for point in told.points:
        assert point.tokens_per_second is not None
        assert point.tpot_seconds is not None
        held = min(point.concurrency, 200.0)
        assert point.tpot_seconds * point.tokens_per_second == pytest.approx(held)


def test_the_page_marks_what_is_not_admitted_and_what_was_not_measured() -> None:
    told = page(report(SPEC, NONE))
    line = next(each for each in told.splitlines() if each.startswith("spec ") and "2.20" in each)
    assert line.count("full") == 1
    assert line.rstrip().endswith("full")
    known, none = replace(SPEC, calibration=seen(9)), replace(NONE, calibration=seen(9))
    told = page(report(known, arm(2.0, name="other"), none))
    assert told.count(NOT_MEASURED) == 1
    assert told.count(" ms") == 2 * len(CONCURRENCIES)


def test_lookaheads_and_room_are_those_of_the_cost_model() -> None:
    spec, none = predicted(TARGET, (SPEC, NONE), CHAT).profiles
    assert none.tiers == ()
    for tier in spec.tiers:
        best = best_lookahead(TARGET, SPEC, CHAT, float(tier.first), drafter_stays=True)
        assert best == tier.lookahead
    assert spec.room == room_of(TARGET, SPEC, CHAT)


def test_a_profile_that_cannot_be_predicted_says_why_beside_the_others() -> None:
    lost = arm(2.0, name="lost", draft=None)
    told = predicted(TARGET, (lost, SPEC, NONE), CHAT)
    first, second, _ = told.profiles
    assert first.trouble is not None
    assert "shape of its draft" in first.trouble
    assert first.points == ()
    assert second.points
    assert first.trouble in page(report(lost, SPEC, NONE))


def test_without_a_profile_to_compare_with_no_speed_up_is_told() -> None:
    told = predicted(TARGET, (SPEC,), CHAT)
    assert told.baseline is None
    assert told.profiles[0].points == ()
    assert told.profiles[0].room is not None
    assert "Speed-up" not in page(report(SPEC))


def test_nothing_that_fits_is_told_as_such() -> None:
    target = on(model=LLAMA_70B)
    told = predicted(target, (SPEC, NONE), CHAT)
    assert all(each.trouble and "no room" in each.trouble for each in told.profiles)


def test_the_page_holds_ranges_bands_verdict_reasons_and_way_out() -> None:
    told = report(SPEC, NONE, way_out="measure it")
    assert isinstance(told.table, CutoffTable)
    shown = page(told)
    row = told.table.rows[0]
    assert row.band is not None
    assert f"{row.up_to:.0f}" in shown
    assert f"{row.band.low:.0f} to " in shown
    assert "Speculation pays somewhere here: Yes" in shown
    assert "way out: measure it" in shown
    assert "way out" not in page(report(SPEC, NONE))
    joined = " ".join(shown.split())
    for reason in told.table.reasons:
        assert f"because {reason}" in joined


def test_ranges_follow_each_other_and_tell_how_sure_they_are() -> None:
    table = CutoffTable(
        (
            CutoffRow(
                profile="a",
                up_to=6.25,
                return_below=5.0,
                band=Band(cutoff=6.25, low=5.0, high=None),
            ),
            CutoffRow(profile="b", up_to=30.0, return_below=24.0),
            CutoffRow(profile="none"),
        )
    )
    assert range_rows(table) == [
        ("0", "6.2", "a", "5.0 to no upper edge"),
        ("6.2", "30", "b", "back below 24"),
        ("30", "and above", "none", ""),
    ]


def test_no_table_and_no_prediction_are_told_with_their_reasons() -> None:
    told = replace(report(SPEC, NONE), table="the GPU is not known", predicted="nor the model")
    shown = page(told)
    assert "No cut-offs: the GPU is not known" in shown
    assert "No predictions: nor the model" in shown
    found = cutoff_document(told)
    assert found["problem"] == "the GPU is not known"
    assert found["predictionProblem"] == "nor the model"
    assert (found["verdict"], found["ranges"], found["prediction"]) == (None, [], None)


KEYS = {
    "": "version subject strategy facts problem verdict reasons wayOut ranges prediction "
    "predictionProblem",
    "range": "profile upToConcurrency returnBelowConcurrency bandLow bandHigh",
    "prediction": "model precision accelerator tensorParallel pipelineParallel dataParallel "
    "contextTokens prefillPerToken baseline profiles",
    "profile": "profile method lookahead problem acceptanceLength acceptanceFrom calibrated "
    "windowsSeen maxConcurrency limitedBy draftWeightsGiB kvMiBPerRequest speedups curve "
    "bestLookahead",
    "point": "concurrency speedup low high admitted tokensPerSecond tpotMilliseconds",
    "tier": "fromRequests toRequests lookahead",
}


def test_the_document_keeps_its_keys_and_is_json() -> None:
    found = cutoff_document(report(SPEC, arm(2.0, name="lost", draft=None), NONE))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    profile = found["prediction"]["profiles"][0]
    held = {
        "": found,
        "range": found["ranges"][0],
        "prediction": found["prediction"],
        "profile": profile,
        "point": profile["speedups"][0],
        "tier": profile["bestLookahead"][0],
    }
    assert {name: set(each) for name, each in held.items()} == {
        name: set(keys.split()) for name, keys in KEYS.items()
    }
    for each in found["prediction"]["profiles"]:
        assert set(each) == set(KEYS["profile"].split())


def test_an_undecided_table_is_shown_as_such() -> None:
    guess = arm(2.2, method=Method.EAGLE3, acceptance=None)
    told = report(guess, NONE)
    assert isinstance(told.table, CutoffTable)
    assert told.table.verdict is not Verdict.YES
    assert told.table.verdict.value in page(told)
