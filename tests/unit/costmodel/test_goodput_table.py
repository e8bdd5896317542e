"""The cut-off table of the cost model: golden shapes, verdicts, reasons."""

import math
from dataclasses import replace

import pytest

from ridgeline.costmodel.acceptance import prior
from ridgeline.costmodel.arm import Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict
from tests.unit.costmodel.targets import (
    CHAT,
    EAGLE_8B,
    EAGLE_70B,
    LLAMA_70B,
    MIXTRAL,
    NONE,
    QWEN_06B,
    QWEN_4B,
    QWEN_8B,
    QWEN_14B,
    accepted,
    arm,
    cutoff,
    on,
    seen,
)

SHORT = Workload(context_tokens=200.0)


def table(
    deployment: Deployment,
    *arms: Arm,
    workload: Workload = CHAT,
    margin: float = 0.03,
    z: float = 1.0,
) -> CutoffTable:
    found = goodput_table(deployment, arms, workload, margin=margin, z=z)
    assert isinstance(found, CutoffTable), found
    return found


def test_a_head_pays_below_its_cut_off_and_none_above() -> None:
    found = table(on(), arm(2.2), NONE)
    assert found.verdict is Verdict.YES
    assert [row.profile for row in found.rows] == ["spec", "none"]
    row = found.rows[0]
    assert row.band is not None
    assert row.band.cutoff == row.up_to
    assert row.return_below == row.band.low
    assert row.band.low < cutoff(found) < (row.band.high or 0.0)
    assert any("arithmetic" in each for each in found.reasons)


def test_a100_has_about_half_the_room_of_h100() -> None:
    ratio = cutoff(table(on("a100-sxm-80gb"), arm(2.2), NONE)) / cutoff(table(on(), arm(2.2), NONE))
    assert 0.4 <= ratio <= 0.65


@pytest.mark.parametrize(
    ("name", "low", "high"), [("h100-sxm", 125, 180), ("a100-sxm-80gb", 65, 110)]
)
def test_a_70b_over_four_gpus_breaks_even_where_it_was_measured(
    name: str, low: float, high: float
) -> None:
    for length in (2.2, 2.4, 2.6):
        head = arm(length, 3, EAGLE_70B, Method.EAGLE)
        assert low <= cutoff(table(on(name, LLAMA_70B, 4), head, NONE)) <= high


def test_a_draft_model_on_four_l4_loses_everywhere() -> None:
    draft = arm(3.83, 5, QWEN_4B, Method.DRAFT_MODEL)
    found = table(on("l4", QWEN_14B, 4, Precision.FP8), draft, NONE)
    assert found.verdict is Verdict.NO
    assert [row.profile for row in found.rows] == ["none"]


def test_with_a_head_the_cut_off_rises_with_context_and_with_a_draft_model_it_falls() -> None:
    contexts = [Workload(context_tokens=each) for each in (300.0, 600.0)]
    head = [cutoff(table(on("a100-sxm-80gb"), arm(2.2), NONE, workload=w)) for w in contexts]
    model = arm(2.4, 3, QWEN_06B, Method.DRAFT_MODEL)
    draft = [cutoff(table(on(model=QWEN_8B), model, NONE, workload=w)) for w in contexts]
    assert head[0] < head[1]
    assert draft[0] > draft[1]


def test_precision_moves_the_cut_off_only_where_the_weights_alone_shrink() -> None:
    cuts = {
        each: cutoff(table(on(precision=each), arm(2.2), NONE, workload=SHORT))
        for each in (Precision.BF16, Precision.FP8, Precision.W8A16, Precision.W4A16)
    }
    assert cuts[Precision.FP8] == pytest.approx(cuts[Precision.BF16], rel=0.1)
    assert cuts[Precision.W8A16] < 0.6 * cuts[Precision.BF16]
    assert cuts[Precision.W4A16] < 0.3 * cuts[Precision.BF16]


def test_more_bandwidth_alone_lowers_the_cut_off() -> None:
    h200, h100 = (
        table(on(name), arm(2.2), NONE, workload=SHORT) for name in ("h200-sxm", "h100-sxm")
    )
    assert cutoff(h200) < cutoff(h100)


def test_several_lookaheads_stand_from_the_longest_to_the_shortest() -> None:
    rates = accepted((0.76, 0.54, 0.39, 0.28, 0.21))
    arms = [arm(2.0, k, name=f"k{k}", acceptance=rates) for k in (2, 3, 5)]
    found = table(on("a100-sxm-80gb"), *arms, NONE)
    named = [row.profile for row in found.rows]
    assert named == ["k5", "k2", "none"]
    assert any("k3" in each and "not worth a roll" in each for each in found.reasons)
    assert {each.profile for each in found.curves} == {"k2", "k3", "k5", "none"}


def test_a_gain_below_the_margin_is_worth_no_row() -> None:
    found = table(on(), arm(1.1, 1), NONE)
    assert [row.profile for row in found.rows] == ["none"]
    assert any("wins nowhere by 3%" in each for each in found.reasons)


def test_a_loss_within_the_error_of_the_prediction_is_undecided_and_a_clear_one_is_not() -> None:
    near, clear = (table(on(), arm(length, 1), NONE) for length in (1.1, 1.02))
    assert [row.profile for row in near.rows] == ["none"]
    assert near.verdict is Verdict.UNDECIDED
    assert any("may pay after all" in each for each in near.reasons)
    assert clear.verdict is Verdict.NO


def test_a_gain_within_the_error_of_the_prediction_is_undecided_and_a_larger_one_is_not() -> None:
    small, large = (table(on(), arm(length, 1), NONE) for length in (1.15, 1.24))
    assert [row.profile for row in small.rows] == ["spec", "none"]
    assert small.verdict is Verdict.UNDECIDED
    assert any("within the error" in each for each in small.reasons)
    assert large.verdict is Verdict.YES


def test_a_gain_that_never_ends_and_is_never_clear_is_undecided() -> None:
    long = Workload(context_tokens=4000.0)
    clear, vague = (
        table(
            on(),
            arm(2.2, acceptance=accepted((0.6, 0.4, 0.2), relative_sd=sd)),
            NONE,
            workload=long,
        )
        for sd in (0.02, 0.9)
    )
    assert [row.profile for row in (*clear.rows, *vague.rows)] == ["spec", "spec"]
    assert clear.verdict is Verdict.YES
    assert vague.verdict is Verdict.UNDECIDED
    assert any("within the error" in each for each in vague.reasons)


def test_a_draft_that_takes_kv_memory_ends_where_its_memory_ends() -> None:
    # A 4B draft leaves a third of the room, at contexts that make memory scarce.
    draft = arm(3.5, 3, QWEN_4B, Method.DRAFT_MODEL)
    found = table(on(model=QWEN_8B), draft, NONE, workload=Workload(context_tokens=6000.0))
    most = {each.profile: each.concurrency[-1] for each in found.curves}
    assert most["spec"] < 0.5 * most["none"]
    assert any("leaves KV memory" in each for each in found.reasons), found.reasons


def test_acting_needs_more_than_a_prior() -> None:
    guess = arm(2.2, acceptance=prior(Method.EAGLE3, 3))
    found = table(on(), guess, NONE)
    assert found.verdict is Verdict.UNDECIDED
    assert any("first contact" in each for each in found.reasons)


def test_experts_may_be_acted_on_once_both_profiles_were_seen() -> None:
    target = on(model=MIXTRAL, tensor_parallel=2)
    head = arm(2.6, draft=EAGLE_8B, method=Method.EAGLE)
    unseen = table(target, head, NONE)
    one = table(target, replace(head, calibration=seen()), NONE)
    both = table(target, replace(head, calibration=seen()), replace(NONE, calibration=seen()))
    assert unseen.verdict is one.verdict is Verdict.UNDECIDED
    assert any("mixture-of-experts" in each for each in unseen.reasons)
    assert both.verdict is Verdict.YES, both.reasons


@pytest.mark.parametrize(
    ("deployment", "head", "word"),
    [
        (on(legacy_engine=True), arm(2.2), "engines up to 0.9"),
        (on(), arm(2.6, tree_nodes=25, tree_width=4), "trees"),
        (on(pipeline_parallel=2), arm(2.2), "pipeline"),
        (on("l4", QWEN_14B, 2, Precision.FP8), arm(5.5, 5, QWEN_06B, Method.DRAFT_MODEL), "PCIe"),
    ],
    ids=["legacy", "tree", "pipeline", "pcie"],
)
def test_what_is_predicted_poorly_is_recommended_only(
    deployment: Deployment, head: Arm, word: str
) -> None:
    found = table(deployment, head, NONE)
    assert found.rows[0].profile == "spec"
    assert found.verdict is Verdict.UNDECIDED
    assert any(word in each for each in found.reasons), found.reasons


def test_facts_from_memory_are_named_and_do_not_stop_anything_alone() -> None:
    unread = replace(EAGLE_8B, checked=False, name="a head")
    target = on("a100-sxm-80gb")
    target = replace(target, accelerator=replace(target.accelerator, checked=False))
    found = table(target, arm(2.2, draft=unread), NONE)
    assert found.verdict is Verdict.YES
    said = [each for each in found.reasons if "from memory" in each]
    assert ["a100-sxm-80gb" in said[0], "a head" in said[1]] == [True, True]


def test_a_profile_that_cannot_be_predicted_keeps_the_others_from_nothing() -> None:
    unknown = arm(2.2, acceptance=None, name="new")
    found = table(on(), arm(2.2), unknown, NONE)
    assert found.verdict is Verdict.YES
    assert [row.profile for row in found.rows] == ["spec", "none"]
    assert any(each.startswith("new: nothing is known") for each in found.reasons)


def test_a_table_of_nothing_but_none_is_undecided_while_a_profile_cannot_be_predicted() -> None:
    unknown = arm(2.2, acceptance=None, name="new")
    found = table(on(), unknown, NONE)
    assert found.verdict is Verdict.UNDECIDED
    assert [row.profile for row in found.rows] == ["none"]


def test_a_profile_in_doubt_is_left_out_where_another_is_beyond_it() -> None:
    guessed = arm(2.6, name="new", acceptance=accepted((0.9, 0.8, 0.7), origin=Origin.PRIOR))
    found = table(on(), arm(2.2), guessed, NONE)
    assert found.verdict is Verdict.YES
    assert [row.profile for row in found.rows] == ["spec", "none"]
    assert any(each.startswith("left out: new: first contact") for each in found.reasons)
    alone = table(on(), guessed, NONE)
    assert alone.verdict is Verdict.UNDECIDED
    assert alone.rows[0].profile == "new"


def test_a_profile_that_does_not_fit_is_left_out_for_good() -> None:
    huge = arm(2.5, 3, LLAMA_70B, Method.DRAFT_MODEL, name="huge")
    found = table(on(), arm(2.2), huge, NONE)
    assert found.verdict is Verdict.YES
    assert any(each.startswith("huge: weights") for each in found.reasons)


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (arm(2.2, acceptance=None), "accepted"),
        (arm(2.2, draft=None), "shape of its draft"),
        (arm(2.2, 5, acceptance=accepted((0.5,))), "fewer positions"),
        (arm(2.2, draft=LLAMA_70B), "no room"),
    ],
    ids=["acceptance", "draft", "positions", "memory"],
)
def test_what_is_missing_is_named_with_a_way_out(head: Arm, word: str) -> None:
    found = goodput_table(on(), [head], CHAT)
    assert isinstance(found, CannotSay)
    assert word in found.reason
    assert found.way_out


def test_without_a_disabled_profile_nothing_is_acted_on() -> None:
    found = table(on(), arm(2.2))
    assert found.verdict is Verdict.UNDECIDED
    assert any("method Disabled" in each for each in found.reasons)


def test_a_flat_curve_has_no_upper_edge_and_is_held() -> None:
    # At long contexts reading the cache, which any K has to, drowns the cost of verifying.
    found = table(on("a100-sxm-80gb"), arm(2.2), NONE, workload=Workload(context_tokens=2000.0))
    assert found.rows[0].band is not None
    assert found.rows[0].band.high is None
    assert found.verdict is Verdict.UNDECIDED
    assert any("no upper edge" in each for each in found.reasons), found.reasons


def test_what_was_learned_moves_the_ratio_only_where_both_were_seen() -> None:
    target, none = on("a100-sxm-80gb"), replace(NONE, calibration=seen())
    slower = arm(2.2, calibration=seen(log_scale=0.1))
    plain, one, both = (
        table(target, *each, workload=SHORT)
        for each in ((arm(2.2), NONE), (slower, NONE), (slower, none))
    )
    assert cutoff(one) == pytest.approx(cutoff(plain), rel=1e-3)
    assert cutoff(both) < 0.9 * cutoff(plain)
    # The curves of a profile that was not seen follow the one that was.
    speeds = [each.curves[1].tokens_per_second[0] for each in (plain, one)]
    assert speeds[1] == pytest.approx(speeds[0] / math.exp(0.1))


def test_bands_narrow_once_both_were_seen() -> None:
    target, windows = on("a100-sxm-80gb"), (0, 10, 200)
    bands = [
        table(target, arm(2.2, calibration=seen(n)), replace(NONE, calibration=seen(n)))
        .rows[0]
        .band
        for n in windows
    ]
    widths = [math.log((each.high or math.inf) / each.low) for each in bands if each is not None]
    assert len(widths) == 3
    assert widths[0] > widths[1] > widths[2]


def test_a_wider_z_gives_a_wider_band() -> None:
    one, two = (table(on("a100-sxm-80gb"), arm(2.2), NONE, z=z).rows[0].band for z in (1.0, 2.0))
    assert one is not None
    assert two is not None
    assert two.low < one.low < one.cutoff == two.cutoff
    assert (two.high or 1e9) > (one.high or 0.0)


@pytest.mark.parametrize(
    ("arms", "margin", "z", "word"),
    [
        ([], 0.03, 1.0, "at least one profile"),
        ([NONE, NONE], 0.03, 1.0, "one name"),
        ([NONE], float("nan"), 1.0, "margin is nan"),
        ([NONE], 0.03, -1.0, "z is -1"),
    ],
)
def test_calls_that_make_no_sense_are_refused(
    arms: list[Arm], margin: float, z: float, word: str
) -> None:
    with pytest.raises(ValueError, match=word):
        goodput_table(on(), arms, CHAT, margin=margin, z=z)
