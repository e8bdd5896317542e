"""The Ridge rule: published cases, order of profiles, and what the hardware says."""

import pytest

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.ridge import (
    RIDGE_FRACTION,
    Speculation,
    ridge_table,
    ridge_tokens,
)
from ridgeline.costmodel.table import CutoffTable
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict
from tests.unit.costmodel.profiles import NONE, draft, eagle, gpu, made_up


def table(
    *profiles: Speculation,
    on: Accelerator | None = None,
    precision: Precision = Precision.BF16,
    tp: int = 1,
) -> CutoffTable:
    return ridge_table(profiles, on or gpu("h100-sxm"), precision=precision, tensor_parallel=tp)


def active(which: CutoffTable, concurrency: float) -> str:
    return which.rows[which.row_at(concurrency)].profile


def told(which: CutoffTable) -> str:
    return "\n".join(which.reasons)


class TestTheGoldenCases:
    def test_k5_on_h100_has_its_cut_off_at_20_and_its_band_from_16(self) -> None:
        found = table(eagle(5), NONE)
        assert [row.profile for row in found.rows] == ["eagle", "none"]
        assert found.rows[0].up_to == 20.0
        assert found.rows[0].return_below == 16.0
        assert found.verdict is Verdict.YES

    def test_32_users_with_k5_are_192_tokens_and_off(self) -> None:
        assert active(table(eagle(5), NONE), 32) == "none"

    def test_one_user_speculates(self) -> None:
        assert active(table(eagle(5), NONE), 1) == "eagle"

    def test_120_tokens_are_off_and_less_is_on(self) -> None:
        found = table(eagle(5), NONE)
        assert active(found, 19.999) == "eagle"
        assert active(found, 20) == "none"

    def test_the_published_120_tokens_are_exact_on_h100(self) -> None:
        assert ridge_tokens(gpu("h100-sxm"), Precision.BF16) == 120.0
        assert round(RIDGE_FRACTION, 2) == 0.41

    def test_fp8_on_h100_changes_nothing(self) -> None:
        at_fp8 = table(eagle(5), NONE, precision=Precision.FP8)
        assert at_fp8.rows == table(eagle(5), NONE).rows

    def test_weight_only_lowers_the_cut_off(self) -> None:
        by_precision = [
            table(eagle(5), NONE, precision=each).rows[0].up_to
            for each in (Precision.BF16, Precision.W8A16, Precision.W4A16)
        ]
        assert by_precision == [20.0, 10.0, 5.0]

    @pytest.mark.parametrize("name", ["l4", "l40", "l40s", "a10"])
    def test_no_draft_model_at_tp_4_over_pcie(self, name: str) -> None:
        found = table(draft(5), NONE, on=gpu(name), tp=4)
        assert found.verdict is Verdict.NO
        assert [row.profile for row in found.rows] == ["none"]
        assert "never a draft model" in told(found)

    @pytest.mark.parametrize("name", ["l4", "l40", "a10"])
    def test_a_head_at_tp_4_over_pcie_is_another_matter(self, name: str) -> None:
        found = table(draft(5), eagle(3), NONE, on=gpu(name), tp=4)
        assert found.verdict is Verdict.UNDECIDED
        assert [row.profile for row in found.rows] == ["eagle", "none"]
        assert "never a draft model" in told(found)
        assert "drafts without a second model" in told(found)

    @pytest.mark.parametrize("name", ["a100-sxm-80gb", "a100-sxm-40gb", "a100-pcie-80gb"])
    @pytest.mark.parametrize("tp", [1, 4])
    def test_a100_depends_on_model_and_tp(self, name: str, tp: int) -> None:
        found = table(eagle(5), NONE, on=gpu(name), tp=tp)
        assert found.verdict is Verdict.UNDECIDED
        if name != "a100-pcie-80gb" or tp == 1:
            assert "depends on the model and on tensor parallelism" in told(found)

    def test_rtx_4090_alone_may_help(self) -> None:
        found = table(draft(5), NONE, on=gpu("rtx-4090"), tp=1)
        assert found.verdict is Verdict.YES
        assert "may help" in told(found)

    def test_two_rtx_4090_over_pcie_are_undecided(self) -> None:
        assert table(draft(5), NONE, on=gpu("rtx-4090"), tp=2).verdict is Verdict.UNDECIDED

    def test_l4_alone_is_a_yes_of_its_own_cut_off(self) -> None:
        found = table(eagle(5), NONE, on=gpu("l4"))
        assert found.verdict is Verdict.YES
        assert found.rows[0].up_to == pytest.approx(27.3, abs=0.05)


class TestLinks:
    def test_tp_over_nvlink_does_not_change_the_cut_off(self) -> None:
        assert table(draft(5), NONE, tp=8) == table(draft(5), NONE, tp=1)

    @pytest.mark.parametrize(
        ("tp", "verdict"),
        [(1, Verdict.YES), (2, Verdict.YES), (3, Verdict.UNDECIDED), (4, Verdict.NO)],
    )
    def test_a_bridge_joins_only_its_gpus(self, tp: int, verdict: Verdict) -> None:
        assert table(draft(5), NONE, on=made_up(link_span=2), tp=tp).verdict is verdict

    def test_the_bridges_of_h100_nvl_join_two(self) -> None:
        assert table(draft(5), NONE, on=gpu("h100-nvl"), tp=2).verdict is Verdict.YES
        assert table(draft(5), NONE, on=gpu("h100-nvl"), tp=4).verdict is Verdict.NO


class TestSeveralProfiles:
    def test_rows_stand_in_the_order_of_their_cut_offs(self) -> None:
        found = table(eagle(1, "short"), NONE, eagle(7, "long"), eagle(3, "middle"))
        assert [(row.profile, row.up_to) for row in found.rows] == [
            ("long", 15.0),
            ("middle", 30.0),
            ("short", 60.0),
            ("none", None),
        ]

    def test_of_equal_lookaheads_the_first_is_taken_and_the_other_named(self) -> None:
        one_way = table(eagle(4, "head"), draft(4, "model"), NONE)
        other_way = table(draft(4, "model"), eagle(4, "head"), NONE)
        assert [row.profile for row in one_way.rows] == ["head", "none"]
        assert [row.profile for row in other_way.rows] == ["model", "none"]
        assert "model and head have the same lookahead" in told(one_way)

    def test_within_one_band_the_longer_lasting_is_taken(self) -> None:
        # 120/6 = 20 lies within 19.2…24, the band of 120/5.
        found = table(draft(5, "five"), eagle(4, "four"), NONE)
        assert [row.profile for row in found.rows] == ["four", "none"]
        assert "five (up to 20) lies within the band of four (up to 24)" in told(found)

    def test_without_a_disabled_profile_the_last_range_stays_open_and_undecided(self) -> None:
        found = table(eagle(7, "long"), eagle(1, "short"))
        assert [(row.profile, row.up_to) for row in found.rows] == [("long", 15.0), ("short", None)]
        assert found.verdict is Verdict.UNDECIDED
        assert "no profile has method Disabled" in told(found)

    def test_of_two_disabled_profiles_the_first_is_the_last_row(self) -> None:
        also = Speculation(name="also-none", method=Method.DISABLED)
        assert table(eagle(5), NONE, also).rows[-1].profile == "none"


class TestWhatTheRuleCannotSize:
    @pytest.mark.parametrize("lookahead", [None, 8])
    def test_suffix_is_left_out_and_undecided(self, lookahead: int | None) -> None:
        suffix = Speculation(name="suffix", method=Method.SUFFIX, lookahead=lookahead)
        found = table(suffix, NONE)
        assert found.verdict is Verdict.UNDECIDED
        assert [row.profile for row in found.rows] == ["none"]
        assert "suffix (Suffix) has no fixed lookahead" in told(found)

    def test_suffix_beside_a_head_leaves_the_head_and_the_doubt(self) -> None:
        found = table(Speculation(name="suffix", method=Method.SUFFIX), eagle(5), NONE)
        assert found.verdict is Verdict.UNDECIDED
        assert [row.profile for row in found.rows] == ["eagle", "none"]

    def test_a_lookahead_beyond_the_ridge_never_pays(self) -> None:
        found = table(eagle(119), NONE)
        assert found.verdict is Verdict.NO
        assert [row.profile for row in found.rows] == ["none"]
        assert "a single request already brings 120 of 120 tokens" in told(found)
        assert table(eagle(118), NONE).verdict is Verdict.YES

    def test_nothing_to_speculate_with_is_a_no(self) -> None:
        found = table(NONE)
        assert found.verdict is Verdict.NO
        assert "no profile of the serving speculates" in told(found)


class TestOverrides:
    def test_ridge_tokens_of_a_gpu_replace_the_fraction_at_any_precision(self) -> None:
        special = made_up(ridge_tokens=60.0)
        for precision in Precision:
            assert table(eagle(5), NONE, on=special, precision=precision).rows[0].up_to == 10.0
        assert "set for this GPU" in told(table(eagle(5), NONE, on=special))

    def test_the_reasons_name_the_tokens_the_knee_and_the_division(self) -> None:
        text = told(table(eagle(5), NONE))
        assert "below 120 tokens per step on h100-sxm at BF16: 0.41 of its knee of 295" in text
        assert "eagle: 120 tokens ÷ (K=5 + 1) = 20 requests" in text

    def test_a_precision_without_units_is_told(self) -> None:
        found = table(eagle(5), NONE, on=gpu("a100-sxm-80gb"), precision=Precision.FP8)
        assert "no units for FP8 and computes it as W8A16" in told(found)
        assert "no units" not in told(table(eagle(5), NONE, precision=Precision.FP8))


class TestWrongInput:
    def test_no_profile(self) -> None:
        with pytest.raises(ValueError, match="at least one profile"):
            table()

    def test_one_name_twice(self) -> None:
        with pytest.raises(ValueError, match="one name"):
            table(eagle(3), eagle(5))

    @pytest.mark.parametrize("lookahead", [0, -1])
    def test_a_lookahead_of_nothing(self, lookahead: int) -> None:
        with pytest.raises(ValueError, match="'eagle' has lookahead"):
            table(eagle(lookahead), NONE)

    def test_no_gpu_at_all(self) -> None:
        with pytest.raises(ValueError, match="tensor_parallel is 0"):
            table(eagle(3), NONE, tp=0)
