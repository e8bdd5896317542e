"""A GPU by its family's name, and the nearest one where there is none."""

import pytest

from ridgeline.settings.advise_gpu import FoundGpu, UnknownGpu, gpu_of
from ridgeline.settings.catalogue import AcceleratorOverride, load_catalogue


def found(name: str) -> FoundGpu:
    gpu = gpu_of(name, load_catalogue())
    assert isinstance(gpu, FoundGpu), gpu
    return gpu


def unknown(name: str) -> UnknownGpu:
    gpu = gpu_of(name, load_catalogue())
    assert isinstance(gpu, UnknownGpu), gpu
    return gpu


@pytest.mark.parametrize("name", ["h100-sxm", "H100-SXM", "NVIDIA-H100-80GB-HBM3", "l4", "H200"])
def test_an_exact_name_and_that_of_a_node_label_need_no_note(name: str) -> None:
    assert found(name).note == ""


@pytest.mark.parametrize(
    ("family", "member"), [("H100", "h100-sxm"), ("a100", "a100-sxm-80gb"), ("H20", "h20-96gb")]
)
def test_a_family_stands_for_its_first_member_and_says_which_others_there_are(
    family: str, member: str
) -> None:
    gpu = found(family)
    assert gpu.accelerator.name == member
    assert f"{family} is taken for {member}" in gpu.note
    others = [each for each in load_catalogue().names if each.startswith(f"{family.lower()}-")][1:]
    assert all(each in gpu.note for each in others)


@pytest.mark.parametrize(
    ("name", "nearest"), [("rtx4090", "rtx-4090"), ("H210", "h20-96gb"), ("mi300", "mi300x")]
)
def test_an_unknown_name_gets_the_nearest_and_what_to_fill_in(name: str, nearest: str) -> None:
    gpu = unknown(name)
    assert nearest in gpu.nearest
    assert nearest in gpu.message
    for field in ("memoryGiB", "memoryBandwidthGBps", "denseBF16TFLOPS", "AcceleratorProfile"):
        assert field in gpu.message


@pytest.mark.parametrize("name", ["", "-", "zzzzzz"])
def test_a_name_like_no_other_names_none(name: str) -> None:
    assert unknown(name).nearest == ()


def test_a_profile_of_a_new_gpu_is_found_by_its_name() -> None:
    override = AcceleratorOverride(
        name="mine", memory_gib=48.0, bandwidth_gb_s=1000.0, bf16_tflops=200.0
    )
    gpu = gpu_of("mine", load_catalogue().with_overrides([override]))
    assert isinstance(gpu, FoundGpu)
    assert gpu.accelerator.memory_gib == 48.0


def test_a_profile_that_lacks_a_figure_says_so_instead_of_the_nearest() -> None:
    override = AcceleratorOverride(name="mine", memory_gib=48.0)
    gpu = gpu_of("mine", load_catalogue().with_overrides([override]))
    assert isinstance(gpu, UnknownGpu)
    assert "AcceleratorProfile mine cannot be used" in gpu.message
