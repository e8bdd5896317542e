"""What the Ridge rule promises for any profiles on any GPU."""

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.ridge import Speculation, ridge_table, ridge_tokens
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.terms.links import Link
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict
from tests.unit.costmodel.profiles import NONE, eagle, made_up

FIGURES = st.floats(min_value=1e-3, max_value=1e9)
PRECISIONS = st.sampled_from(Precision)
LOOKAHEADS = st.integers(1, 32)


@st.composite
def wild_gpus(draw: st.DrawFn) -> Accelerator:
    native = draw(st.booleans())
    return made_up(
        bandwidth_gb_s=draw(FIGURES),
        bf16_tflops=draw(FIGURES),
        fp8_tflops=draw(FIGURES) if native else None,
        native_fp8=native,
        fp4_tflops=draw(st.none() | FIGURES),
        link=draw(st.sampled_from(Link)),
        link_span=draw(st.none() | st.integers(2, 8)),
        consumer=draw(st.booleans()),
        ridge_tokens=draw(st.none() | FIGURES),
    )


GPUS = wild_gpus() | st.sampled_from([each.accelerator for each in load_catalogue().entries])


@st.composite
def profile_lists(draw: st.DrawFn) -> list[Speculation]:
    methods = draw(st.lists(st.sampled_from(Method), min_size=1, max_size=8))
    return [
        Speculation(name=f"p{index}", method=method, lookahead=draw(st.none() | LOOKAHEADS))
        for index, method in enumerate(methods)
    ]


@given(profile_lists(), GPUS, PRECISIONS, st.integers(1, 16))
def test_no_profiles_and_no_gpu_make_a_table_that_cannot_be_followed(
    profiles: list[Speculation], gpu: Accelerator, precision: Precision, tp: int
) -> None:
    # CutoffTable refuses what cannot be followed, so making it is the assertion.
    found = ridge_table(profiles, gpu, precision=precision, tensor_parallel=tp)
    assert {row.profile for row in found.rows} <= {each.name for each in profiles}
    off = [each.name for each in profiles if not each.method.speculates]
    if off:
        assert found.rows[-1].profile == off[0]
    else:
        assert found.verdict is Verdict.UNDECIDED
    assert found.reasons


@given(profile_lists(), GPUS, PRECISIONS, st.integers(1, 16))
def test_a_kept_row_ends_where_the_rule_says(
    profiles: list[Speculation], gpu: Accelerator, precision: Precision, tp: int
) -> None:
    found = ridge_table(profiles, gpu, precision=precision, tensor_parallel=tp)
    lookaheads = {each.name: each.lookahead for each in profiles}
    for row in found.rows:
        lookahead = lookaheads[row.profile]
        if row.up_to is not None and row.return_below is not None and lookahead is not None:
            assert row.up_to == ridge_tokens(gpu, precision) / (lookahead + 1)
            assert row.return_below < row.up_to


@given(LOOKAHEADS, LOOKAHEADS, GPUS, PRECISIONS)
def test_a_longer_lookahead_never_raises_the_cut_off(
    one: int, other: int, gpu: Accelerator, precision: Precision
) -> None:
    shorter, longer = sorted((one, other))
    assert _cutoff(shorter, gpu, precision) >= _cutoff(longer, gpu, precision)


@given(LOOKAHEADS, FIGURES, FIGURES, PRECISIONS)
def test_a_higher_knee_never_lowers_the_cut_off(
    lookahead: int, one: float, other: float, precision: Precision
) -> None:
    lower, higher = sorted((one, other))
    weak = made_up(bf16_tflops=lower, fp8_tflops=lower, fp4_tflops=lower)
    strong = made_up(bf16_tflops=higher, fp8_tflops=higher, fp4_tflops=higher)
    assert _cutoff(lookahead, weak, precision) <= _cutoff(lookahead, strong, precision)


def _cutoff(lookahead: int, gpu: Accelerator, precision: Precision) -> float:
    """The cut-off, 0 where it never pays."""
    found = ridge_table([eagle(lookahead), NONE], gpu, precision=precision, tensor_parallel=1)
    return found.rows[0].up_to or 0.0
