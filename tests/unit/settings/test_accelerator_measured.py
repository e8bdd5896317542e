"""What a calibration measured reaches the cost model, and says what stands in its place else."""

from typing import Any

import pytest

from ridgeline.api.accelerator import AcceleratorMeasured, parse_accelerator
from ridgeline.costmodel.accelerator import Accelerator, Measured
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.step_time import step_model
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.catalogue import load_catalogue, override_of
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision


def h100(**spec: Any) -> Accelerator:
    profile = parse_accelerator(
        {
            "apiVersion": "ridgeline.dev/v1alpha1",
            "kind": "AcceleratorProfile",
            "metadata": {"name": "h100-sxm"},
            "spec": spec,
        }
    )
    found = load_catalogue().with_overrides([override_of(profile)]).named("h100-sxm")
    assert found is not None
    return found


def step_seconds(gpu: Accelerator, concurrency: float) -> float:
    entry = load_models().find("meta-llama/Llama-3.1-8B-Instruct")
    assert entry is not None
    deployment = Deployment(
        accelerator=gpu, model=entry.facts.shape(), precision=Precision.BF16, captured_tokens=4096
    )
    model = step_model(
        deployment, Arm(name="none", method=Method.DISABLED), Workload(context_tokens=0.0)
    )
    assert not isinstance(model, CannotSay)
    return model.seconds(concurrency)


PLAIN = h100(memoryGiB=80)


def test_what_was_measured_is_read_in_the_model_s_units() -> None:
    measured = h100(
        measured={
            "memoryBandwidthPercent": 84,
            "computePercent": 61,
            "stepMicroseconds": 900,
            "draftPassMicroseconds": 310,
        }
    ).measured
    assert measured is not None
    assert measured.told() == pytest.approx(
        {
            "bandwidth_share": 0.84,
            "compute_share": 0.61,
            "step_seconds": 900e-6,
            "draft_pass_seconds": 310e-6,
        }
    )


def test_without_a_calibration_nothing_changes() -> None:
    assert PLAIN.measured is None
    named = load_catalogue().named("h100-sxm")
    assert named is not None
    assert step_seconds(PLAIN, 8.0) == step_seconds(named, 8.0)


def test_half_the_bandwidth_doubles_the_reading_of_weights() -> None:
    whole = h100(measured={"memoryBandwidthPercent": 80, "stepMicroseconds": 1})
    half = h100(measured={"memoryBandwidthPercent": 40, "stepMicroseconds": 1})
    assert step_seconds(half, 0.01) == pytest.approx(2.0 * step_seconds(whole, 0.01), rel=0.01)


def test_a_host_that_takes_longer_adds_just_that() -> None:
    slow = h100(measured={"stepMicroseconds": 2670})
    assert step_seconds(slow, 8.0) - step_seconds(PLAIN, 8.0) == pytest.approx(2.0e-3)


def test_slower_arithmetic_shows_at_large_batches_alone() -> None:
    slow = h100(measured={"computePercent": 33})
    assert step_seconds(slow, 1.0) == pytest.approx(step_seconds(PLAIN, 1.0), rel=0.01)
    assert step_seconds(slow, 1000.0) > 1.5 * step_seconds(PLAIN, 1000.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory_bandwidth_percent", CONSTANTS.bandwidth_share * 100),
        ("compute_percent", CONSTANTS.compute_share * 100),
        ("step_microseconds", CONSTANTS.step_seconds * 1e6),
        ("draft_pass_microseconds", CONSTANTS.draft_pass_seconds * 1e6),
    ],
)
def test_the_reference_names_what_the_model_takes_else(field: str, value: float) -> None:
    description = AcceleratorMeasured.model_fields[field].description
    assert description is not None
    assert f"the cost model's own {value:.0f}" in description


@pytest.mark.parametrize("value", [0.0, 1.5, float("nan"), float("inf"), -0.5])
def test_what_no_gpu_does_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="bandwidth_share"):
        Measured(bandwidth_share=value)
