"""A grid of step times gives back the constants that it was made with, and no others."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.costmodel.accelerator import Measured
from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.measured_fit import FEWEST, NAMES, Cell, Fit, fit_measured
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.step_time import step_model
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

ENTRY = load_models().find("meta-llama/Llama-3.1-8B-Instruct")
assert ENTRY is not None
GPU = load_catalogue().named("h100-sxm")
assert GPU is not None
DEPLOYMENT = Deployment(
    accelerator=GPU, model=ENTRY.facts.shape(), precision=Precision.BF16, captured_tokens=8192
)
DRAFT = draft_of(Method.EAGLE3, None, ENTRY.facts)
assert DRAFT is not None
assert not isinstance(DRAFT, NoDraft)
SHAPE = DRAFT.shape
SHALLOW = replace(ENTRY.facts, layers=ENTRY.facts.layers // 4).shape()
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TRUTH = {
    "bandwidth_share": 0.74,
    "compute_share": 0.55,
    "step_seconds": 1.4e-3,
    "draft_pass_seconds": 0.45e-3,
}


def arm(lookahead: int) -> Arm:
    if not lookahead:
        return Arm(name="none", method=Method.DISABLED)
    return Arm(
        name=f"k{lookahead}",
        method=Method.EAGLE3,
        lookahead=lookahead,
        draft=SHAPE,
        acceptance=Acceptance(rates=(0.5,) * lookahead, origin=Origin.MEASURED),
    )


def grid(
    truth: dict[str, float],
    *,
    lookaheads: tuple[int, ...] = (0, 1, 3, 5),
    batches: tuple[int, ...] = BATCHES,
    noise: float = 0.0,
    seed: int = 0,
    shallow: bool = True,
) -> tuple[Cell, ...]:
    """Step times of a machine with these constants."""
    dice = random.Random(seed)
    asked: list[tuple[int, int, ModelShape | None]] = [
        (lookahead, batch, None) for lookahead in lookaheads for batch in batches
    ]
    asked += [(0, batch, SHALLOW) for batch in batches if shallow]
    cells = []
    for lookahead, batch, shape in asked:
        model = step_model(
            replace(DEPLOYMENT, model=shape or DEPLOYMENT.model),
            arm(lookahead),
            Workload(context_tokens=300.0),
            replace(CONSTANTS, **truth),
        )
        assert not isinstance(model, CannotSay)
        seconds = model.seconds(batch) * math.exp(dice.gauss(0.0, noise))
        cells.append(
            Cell(
                arm=arm(lookahead),
                context_tokens=300.0,
                concurrency=batch,
                seconds=seconds,
                model=shape,
            )
        )
    return tuple(cells)


def fitted(cells: tuple[Cell, ...]) -> Fit:
    found = fit_measured(DEPLOYMENT, cells)
    assert isinstance(found, Fit), found
    return found


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0.5, 0.95),
    st.floats(0.35, 0.9),
    st.floats(0.3e-3, 4e-3),
    st.floats(0.15e-3, 1.5e-3),
)
def test_a_full_grid_gives_back_what_it_was_made_with(
    bandwidth: float, compute: float, step: float, draft: float
) -> None:
    truth = dict(zip(NAMES, (bandwidth, compute, step, draft), strict=True))
    found = fitted(grid(truth))
    # A draft pass that takes next to nothing of a step may stay in the dark.
    assert set(found.not_told) <= {"draft_pass_seconds"}
    for name, value in found.measured.told().items():
        assert value == pytest.approx(truth[name], rel=0.05), name
    assert max(map(abs, found.errors)) < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_three_per_cent_moves_little(seed: int) -> None:
    found = fitted(grid(TRUTH, noise=0.03, seed=seed))
    for name, value in found.measured.told().items():
        assert value == pytest.approx(TRUTH[name], rel=0.4), name
    mean = math.fsum(map(abs, found.errors)) / len(found.errors)
    before = math.fsum(map(abs, found.errors_before)) / len(found.errors_before)
    assert mean < 0.04 < before


def test_small_batches_tell_nothing_of_arithmetic() -> None:
    found = fitted(grid(TRUTH, batches=(1, 2, 3, 4), lookaheads=(0, 1)))
    assert "compute_share" in found.not_told
    assert found.measured.compute_share is None


def test_a_grid_without_drafts_tells_nothing_of_draft_passes() -> None:
    found = fitted(grid(TRUTH, lookaheads=(0,)))
    assert "draft_pass_seconds" in found.not_told
    assert found.measured.bandwidth_share == pytest.approx(TRUTH["bandwidth_share"], rel=0.1)


def test_one_model_alone_does_not_tell_the_host_from_reading_weights() -> None:
    found = fitted(grid(TRUTH, shallow=False))
    assert "step_seconds" in found.not_told
    assert max(map(abs, found.errors)) < 0.02, "the times are right all the same"


def test_what_was_measured_before_does_not_matter() -> None:
    assert GPU is not None
    again = replace(DEPLOYMENT, accelerator=replace(GPU, measured=Measured(bandwidth_share=0.2)))
    assert fit_measured(again, grid(TRUTH)) == fitted(grid(TRUTH))


def test_the_fit_predicts_a_profile_that_it_did_not_see() -> None:
    assert GPU is not None
    found = fitted(grid(TRUTH, lookaheads=(0, 1, 3)))
    gpu = replace(GPU, measured=found.measured)
    (cell,) = grid(TRUTH, lookaheads=(5,), batches=(48,), shallow=False)
    model = step_model(
        replace(DEPLOYMENT, accelerator=gpu), cell.arm, Workload(context_tokens=300.0)
    )
    assert not isinstance(model, CannotSay)
    assert model.seconds(48) == pytest.approx(cell.seconds, rel=0.02)


def test_too_few_step_times_are_refused() -> None:
    found = fit_measured(DEPLOYMENT, grid(TRUTH)[: FEWEST - 1])
    assert isinstance(found, CannotSay)
    assert "too few" in found.reason


def test_step_times_of_another_gpu_are_refused() -> None:
    faster = tuple(replace(each, seconds=each.seconds / 4.0) for each in grid(TRUTH))
    found = fit_measured(DEPLOYMENT, faster)
    assert isinstance(found, CannotSay)
    assert "more than the whole" in found.reason
    assert "which GPU" in found.way_out


def test_scatter_tells_nothing() -> None:
    dice = random.Random(3)
    wild = tuple(
        replace(each, seconds=each.seconds * math.exp(dice.gauss(0.0, 1.5)))
        for each in grid(TRUTH, lookaheads=(0,), batches=BATCHES[:6])
    )
    found = fit_measured(DEPLOYMENT, wild)
    assert isinstance(found, CannotSay)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_what_no_step_takes_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="a step of"):
        Cell(arm=arm(0), context_tokens=1.0, concurrency=1.0, seconds=seconds)
