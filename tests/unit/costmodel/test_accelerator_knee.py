"""The knee of an accelerator, and figures that none can have."""

import math

import pytest

from ridgeline.terms.links import Link
from ridgeline.terms.precision import Precision
from tests.unit.costmodel.profiles import gpu, made_up


@pytest.mark.parametrize(
    ("name", "knee"),
    [
        ("h100-sxm", 295),
        ("h100-pcie", 378),
        ("h200-sxm", 206),
        ("a100-sxm-80gb", 153),
        ("l4", 403),
        ("l40s", 419),
        ("l40", 210),
        ("mi300x", 247),
    ],
)
def test_the_knee_at_16_bits(name: str, knee: int) -> None:
    assert round(gpu(name).knee_tokens(Precision.BF16)) == knee


def test_fp8_leaves_the_knee_of_h100_exactly_where_it_is() -> None:
    h100 = gpu("h100-sxm")
    assert h100.knee_tokens(Precision.FP8) == h100.knee_tokens(Precision.BF16)


@pytest.mark.parametrize(
    ("precision", "factor"),
    [(Precision.BF16, 1), (Precision.FP8, 1), (Precision.W8A16, 0.5), (Precision.W4A16, 0.25)],
)
def test_weight_only_lowers_the_knee(precision: Precision, factor: float) -> None:
    assert made_up().knee_tokens(precision) == 100.0 * factor


def test_fp4_is_told_row_by_row() -> None:
    b200, b300 = gpu("b200-sxm"), gpu("b300-sxm")
    assert b200.knee_tokens(Precision.FP4) == pytest.approx(b200.knee_tokens(Precision.BF16))
    assert b300.knee_tokens(Precision.FP4) == pytest.approx(
        14000 / 9000 * b300.knee_tokens(Precision.BF16)
    )


def test_without_its_units_a_precision_is_weight_only() -> None:
    a100, h100 = gpu("a100-sxm-80gb"), gpu("h100-sxm")
    assert a100.runs_as(Precision.FP8) is Precision.W8A16
    assert a100.knee_tokens(Precision.FP8) == a100.knee_tokens(Precision.BF16) / 2
    assert h100.runs_as(Precision.FP4) is Precision.W4A16
    assert h100.knee_tokens(Precision.FP4) == h100.knee_tokens(Precision.BF16) / 4


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e300, 1e-300])
@pytest.mark.parametrize(
    "field",
    [
        "memory_gib",
        "bandwidth_gb_s",
        "bf16_tflops",
        "fp8_tflops",
        "fp4_tflops",
        "link_gb_s",
        "ridge_tokens",
    ],
)
def test_a_figure_that_no_gpu_has_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"round: {field} is"):
        made_up(**{field: value})


def test_native_fp8_needs_its_rate() -> None:
    with pytest.raises(ValueError, match="native_fp8 needs fp8_tflops"):
        made_up(fp8_tflops=None)


def test_a_link_that_joins_one_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="link_span is 1"):
        made_up(link_span=1)


def test_a_single_gpu_needs_no_rate_of_a_link() -> None:
    assert made_up(link=Link.NONE, link_gb_s=0.0).link is Link.NONE
