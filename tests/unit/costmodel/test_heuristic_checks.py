"""The questions before speculation: what is known, and what would make the rest known."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.heuristic import (
    BANDWIDTH_BOUND,
    COMPETES,
    CROSSES_PCIE,
    OWN_WIDTH,
    POSITIONS_PAY,
    Answer,
    Check,
    HeuristicInputs,
    heuristic,
    paying_positions,
)
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.profiles import gpu

KNOWN = HeuristicInputs(
    accelerator=gpu("h100-sxm"),
    precision=Precision.BF16,
    tensor_parallel=1,
    method=Method.EAGLE,
    lookahead=3,
    concurrency=64.0,
    acceptance=(0.7, 0.5, 0.35),
)


def check(name: str, inputs: HeuristicInputs) -> Check:
    (found,) = [each for each in heuristic(inputs) if each.name == name]
    return found


def test_the_checks_are_always_the_same_ones() -> None:
    nothing = HeuristicInputs(
        accelerator=None, precision=Precision.FP8, tensor_parallel=2, method=Method.SUFFIX
    )
    names = [BANDWIDTH_BOUND, CROSSES_PCIE, OWN_WIDTH, COMPETES, POSITIONS_PAY]
    assert [each.name for each in heuristic(KNOWN)] == names
    assert [each.name for each in heuristic(nothing)] == names
    assert all(each.why for each in (*heuristic(KNOWN), *heuristic(nothing)))


class TestBandwidthBound:
    @pytest.mark.parametrize(
        ("concurrency", "answer"), [(64.0, Answer.YES), (73.0, Answer.YES), (74.0, Answer.NO)]
    )
    def test_tokens_per_step_are_compared_with_the_knee(
        self, concurrency: float, answer: Answer
    ) -> None:
        found = check(BANDWIDTH_BOUND, replace(KNOWN, concurrency=concurrency))
        assert found.answer is answer
        assert f"= {concurrency * 4:.0f} tokens per step" in found.why
        assert "the knee of h100-sxm at BF16 is 295" in found.why
        assert "stops at 120" in found.why

    def test_without_speculation_a_request_is_one_token(self) -> None:
        off = replace(KNOWN, method=Method.DISABLED, lookahead=3)
        assert "64 requests × 1 tokens = 64 tokens" in check(BANDWIDTH_BOUND, off).why

    @pytest.mark.parametrize(
        ("changes", "missing"),
        [
            ({"accelerator": None}, "spec.accelerator"),
            ({"concurrency": None}, "needs telemetry"),
            ({"lookahead": None}, "would have to be measured"),
        ],
    )
    def test_what_is_missing_is_told(self, changes: dict[str, None], missing: str) -> None:
        found = check(BANDWIDTH_BOUND, replace(KNOWN, **changes))  # type: ignore[arg-type]
        assert found.answer is Answer.UNKNOWN
        assert missing in found.why


class TestLinks:
    @pytest.mark.parametrize(
        ("name", "tp", "answer"),
        [
            ("l4", 1, Answer.NO),
            ("l4", 2, Answer.YES),
            ("h100-sxm", 8, Answer.NO),
            ("h100-nvl", 2, Answer.NO),
            ("h100-nvl", 4, Answer.YES),
            ("mi300x", 8, Answer.NO),
        ],
    )
    def test_tensor_parallelism_over_pcie(self, name: str, tp: int, answer: Answer) -> None:
        inputs = replace(KNOWN, accelerator=gpu(name), tensor_parallel=tp)
        assert check(CROSSES_PCIE, inputs).answer is answer

    def test_one_gpu_crosses_nothing_whatever_it_is(self) -> None:
        assert check(CROSSES_PCIE, replace(KNOWN, accelerator=None)).answer is Answer.NO

    def test_several_unknown_gpus_are_unknown(self) -> None:
        found = check(CROSSES_PCIE, replace(KNOWN, accelerator=None, tensor_parallel=2))
        assert found.answer is Answer.UNKNOWN
        assert "spec.accelerator" in found.why


class TestPrecision:
    @pytest.mark.parametrize(
        ("name", "precision", "answer"),
        [
            ("h100-sxm", Precision.BF16, Answer.YES),
            ("h100-sxm", Precision.FP8, Answer.YES),
            ("a100-sxm-80gb", Precision.FP8, Answer.NO),
            ("h100-sxm", Precision.W8A16, Answer.NO),
            ("h100-sxm", Precision.W4A16, Answer.NO),
            ("h100-sxm", Precision.FP4, Answer.NO),
            ("b200-sxm", Precision.FP4, Answer.YES),
        ],
    )
    def test_native_or_weight_only(self, name: str, precision: Precision, answer: Answer) -> None:
        inputs = replace(KNOWN, accelerator=gpu(name), precision=precision)
        assert check(OWN_WIDTH, inputs).answer is answer

    def test_fp8_on_an_unknown_gpu_is_unknown_and_weight_only_is_not(self) -> None:
        unknown = replace(KNOWN, accelerator=None, precision=Precision.FP8)
        assert check(OWN_WIDTH, unknown).answer is Answer.UNKNOWN
        weight_only = replace(unknown, precision=Precision.W4A16)
        assert check(OWN_WIDTH, weight_only).answer is Answer.NO


@pytest.mark.parametrize("method", Method)
def test_every_method_says_whether_it_competes(method: Method) -> None:
    found = check(COMPETES, replace(KNOWN, method=method))
    on_the_gpu = {Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL, Method.MTP}
    assert (found.answer is Answer.YES) == (method in on_the_gpu)
    assert found.answer is not Answer.UNKNOWN


class TestPositions:
    @pytest.mark.parametrize(
        ("concurrency", "pay"), [(0.0, 3), (64.0, 3), (128.0, 2), (256.0, 1), (1000.0, 0)]
    )
    def test_as_the_page_tells_it(self, concurrency: float, pay: int) -> None:
        assert paying_positions((0.7, 0.5, 0.35), concurrency, 295.2) == pay

    @pytest.mark.parametrize(
        ("concurrency", "answer"), [(64.0, Answer.YES), (256.0, Answer.NO), (1000.0, Answer.NO)]
    )
    def test_all_must_pay(self, concurrency: float, answer: Answer) -> None:
        found = check(POSITIONS_PAY, replace(KNOWN, concurrency=concurrency))
        assert found.answer is answer
        assert "0.70, 0.50, 0.35" in found.why

    @pytest.mark.parametrize(
        ("changes", "missing"),
        [
            ({"accelerator": None}, "the accelerator"),
            ({"concurrency": None}, "concurrency (telemetry)"),
            ({"acceptance": None}, "the profile must have run here"),
            ({"acceptance": ()}, "the profile must have run here"),
        ],
    )
    def test_what_is_missing_is_told(
        self, changes: dict[str, tuple[()] | None], missing: str
    ) -> None:
        found = check(POSITIONS_PAY, replace(KNOWN, **changes))  # type: ignore[arg-type]
        assert found.answer is Answer.UNKNOWN
        assert missing in found.why

    def test_a_rise_by_rounding_counts_as_equal(self) -> None:
        assert paying_positions((0.5, 0.5, 0.5000001), 250.0, 295.2) == paying_positions(
            (0.5, 0.5, 0.5), 250.0, 295.2
        )
        # The rise at the third position must not weigh on the fourth.
        assert paying_positions((0.5, 0.3, 0.9, 0.3), 80.0, 295.2) == 4

    @given(
        st.lists(st.floats(0, 1), max_size=8),
        st.floats(0, 1e4),
        st.floats(0, 1e4),
        st.floats(1, 1e4),
    )
    def test_more_load_never_makes_more_positions_pay(
        self, acceptance: list[float], one: float, other: float, knee: float
    ) -> None:
        quiet, busy = sorted((one, other))
        assert paying_positions(acceptance, quiet, knee) >= paying_positions(acceptance, busy, knee)

    @given(
        st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8),
        st.floats(0.5, 1e3),
        st.floats(10, 1e3),
    )
    def test_the_positions_that_pay_are_those_that_maximise_tokens_per_time(
        self, acceptance: list[float], concurrency: float, knee: float
    ) -> None:
        falling = sorted(acceptance, reverse=True)
        rates = [
            (1 + sum(falling[:count])) / (1 + concurrency * (count + 1) / knee)
            for count in range(len(falling) + 1)
        ]
        best = paying_positions(falling, concurrency, knee)
        assert rates[best] >= max(rates) * (1 - 1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"tensor_parallel": 0},
        {"lookahead": 0},
        {"concurrency": math.nan},
        {"concurrency": math.inf},
        {"concurrency": -1.0},
        {"acceptance": (math.nan,)},
        {"acceptance": (-0.1,)},
        {"acceptance": (math.inf,)},
    ],
    ids=str,
)
def test_numbers_that_cannot_be_compared_are_refused(changes: dict[str, object]) -> None:
    (field,) = changes
    with pytest.raises(ValueError, match=field):
        replace(KNOWN, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("knee", [0.0, -1.0, math.nan, math.inf])
def test_a_knee_that_is_none_is_refused(knee: float) -> None:
    with pytest.raises(ValueError, match="knee_tokens"):
        paying_positions((0.5,), 1.0, knee)
