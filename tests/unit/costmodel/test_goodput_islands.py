"""Ranges in which the model's own numbers speak against the table: they are never acted on."""

from typing import Any

import pytest

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.arm import Acceptance, Arm, Calibration, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.shape import ModelShape
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.models import find_model
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict

LONG = Workload(context_tokens=2200.0, prefill_per_token=10.0)
SEEN = Calibration(windows=50)


def gpu(name: str) -> Accelerator:
    found = load_catalogue().named(name)
    assert found is not None
    return found


def shape(name: str) -> ModelShape:
    found = find_model(name)
    assert found is not None
    return found


def table(target: str, draft: str, lookahead: int, **deployed: Any) -> CutoffTable:
    calibration = deployed.pop("calibration", Calibration())
    rates = tuple(0.7**position for position in range(1, lookahead + 1))
    arms = (
        Arm(
            name="draft",
            method=Method.DRAFT_MODEL,
            lookahead=lookahead,
            draft=shape(draft),
            acceptance=Acceptance(rates=rates, origin=Origin.STATED, relative_sd=0.08),
            calibration=calibration,
        ),
        Arm(
            name="none",
            method=Method.DISABLED,
            acceptance=Acceptance(rates=(), origin=Origin.NONE_NEEDED),
            calibration=calibration,
        ),
    )
    found = goodput_table(
        Deployment(model=shape(target), precision=Precision.FP8, **deployed), arms, LONG
    )
    assert not isinstance(found, CannotSay)
    return found


@pytest.mark.parametrize("calibration", [Calibration(), SEEN], ids=["unseen", "seen"])
def test_a_range_that_holds_a_loss_is_recommended_only_and_names_it(
    calibration: Calibration,
) -> None:
    found = table(
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-0.6B",
        5,
        accelerator=gpu("b200-sxm"),
        tensor_parallel=8,
        calibration=calibration,
    )
    assert found.verdict is Verdict.UNDECIDED
    assert any("times what none yields" in each for each in found.doubts)


def test_a_profile_for_busy_servers_alone_is_recommended_only_until_both_were_seen() -> None:
    def asked(calibration: Calibration) -> CutoffTable:
        return table(
            "meta-llama/Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.2-1B-Instruct",
            4,
            accelerator=gpu("b200-sxm"),
            calibration=calibration,
        )

    guessed = asked(Calibration())
    assert [row.profile for row in guessed.rows] == ["none", "draft"]
    assert guessed.verdict is Verdict.UNDECIDED
    assert any("only when the servers are busy" in each for each in guessed.doubts)
    assert not any("only when the servers are busy" in each for each in asked(SEEN).doubts)
