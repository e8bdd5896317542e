"""MIG slices as small GPUs of their own, where they are asked for."""

import pytest

from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerator_slices import MigParts, mig_slice, name_and_profile
from ridgeline.settings.accelerators import ResolvedAccelerator, resolve_accelerator
from ridgeline.settings.catalogue import AcceleratorOverride, load_catalogue
from ridgeline.settings.node_labels import Found, identify
from ridgeline.terms.links import Link
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason

GFD = "nvidia.com/gpu.product"
GKE = "cloud.google.com/gke-accelerator"
GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
MEMORY = "nvidia.com/gpu.memory"
SLICE = "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"

ASKED: list[tuple[dict[str, str], str]] = [
    ({GFD: SLICE, MEMORY: "40448"}, "h100-sxm-mig-3g.40gb"),
    ({GFD: SLICE, "nvidia.com/gpu.sharing-strategy": "none"}, "h100-sxm-mig-3g.40gb"),
    ({GFD: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, "a100-sxm-40gb-mig-1g.5gb"),
    ({GFD: "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me"}, "a100-sxm-80gb-mig-1g.10gb"),
    ({GFD: "NVIDIA-A30-MIG-2g.12gb"}, "a30-mig-2g.12gb"),
    ({GKE: "nvidia-h100-80gb", GKE_PARTITION: "1g.10gb"}, "h100-sxm-mig-1g.10gb"),
]

REFUSED: list[dict[str, str]] = [
    {GFD: f"{SLICE}-SHARED"},
    {GFD: SLICE, "nvidia.com/gpu.replicas": "2"},
    {GFD: SLICE, "nvidia.com/gpu.sharing-strategy": "time-slicing"},
    {GFD: "NVIDIA-H100-80GB-HBM3-SHARED"},
    {GFD: "NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-3g.40gb.count": "2"},
    {GFD: "NVIDIA-L40S-MIG-1g.10gb"},
    {GFD: "NVIDIA-H100-80GB-HBM3-MIG-8g.80gb"},
    {GFD: "NVIDIA-H100-80GB-HBM3-MIG-1g.13gb"},
    {GFD: "NVIDIA-GB10-MIG-1g.10gb"},
    {GKE: "nvidia-h100-80gb", GKE_PARTITION: "half"},
    {
        GKE: "nvidia-h100-80gb",
        GKE_PARTITION: "1g.10gb",
        "cloud.google.com/gke-gpu-sharing-strategy": "mps",
    },
]


@pytest.mark.parametrize(("labels", "name"), ASKED, ids=str)
def test_a_slice_is_a_gpu_of_its_own_where_it_is_asked_for(
    labels: dict[str, str], name: str
) -> None:
    found = identify(labels, load_catalogue(), scale_slices=True)
    assert isinstance(found, Found)
    assert found.accelerator.name == name
    assert "is a slice" in found.notes[0]
    refused = identify(labels, load_catalogue())
    assert isinstance(refused, Problem)
    assert refused.reason is Reason.ACCELERATOR_SHARED


@pytest.mark.parametrize("labels", REFUSED, ids=str)
def test_a_shared_part_and_an_unknown_one_stay_refused(labels: dict[str, str]) -> None:
    found = identify(labels, load_catalogue(), scale_slices=True)
    assert isinstance(found, Problem)
    assert found.reason is Reason.ACCELERATOR_SHARED


def test_a_whole_gpu_stays_whole() -> None:
    labels = {GFD: "NVIDIA-H100-80GB-HBM3"}
    found = identify(labels, load_catalogue(), scale_slices=True)
    assert isinstance(found, Found)
    assert found.accelerator.name == "h100-sxm"


def test_a_slice_has_its_share_and_no_link() -> None:
    whole = load_catalogue().named("h100-sxm")
    part = load_catalogue().named("h100-sxm-mig-3g.40gb")
    assert whole is not None
    assert part is not None
    assert part.memory_gib == 40
    assert part.bandwidth_gb_s == whole.bandwidth_gb_s / 2
    assert part.bf16_tflops == pytest.approx(whole.bf16_tflops * 3 / 7)
    assert part.fp8_tflops == pytest.approx(1978 * 3 / 7)
    assert part.fp4_tflops is None
    assert (part.link, part.link_span) == (Link.NONE, None)
    assert part.checked
    assert part.knee_tokens(Precision.BF16) == pytest.approx(
        whole.knee_tokens(Precision.BF16) * 6 / 7
    )


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("h200-sxm-mig-1g.18gb", (1 / 7, 1 / 8)),
        ("h200-sxm-mig-1g.35gb", (1 / 7, 2 / 8)),
        ("h100-nvl-mig-1g.12gb", (1 / 7, 1 / 8)),
        ("h100-nvl-mig-3g.47gb", (3 / 7, 4 / 8)),
        ("b200-sxm-mig-2g.45gb", (2 / 7, 2 / 8)),
        ("b300-sxm-mig-7g.269gb", (1.0, 1.0)),
        ("rtx-pro-6000-server-mig-1g.24gb", (1 / 4, 1 / 4)),
        ("a30-mig-4g.24gb", (1.0, 1.0)),
        ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", (3 / 7, 4 / 8)),
    ],
)
def test_profiles_of_each_generation(name: str, parts: tuple[float, float]) -> None:
    split = name_and_profile(name)
    assert split is not None
    whole, part = load_catalogue().named(split[0]), load_catalogue().named(name)
    assert whole is not None
    assert part is not None
    assert part.bf16_tflops / whole.bf16_tflops == pytest.approx(parts[0])
    assert part.bandwidth_gb_s / whole.bandwidth_gb_s == pytest.approx(parts[1])


@pytest.mark.parametrize(
    "name",
    [
        *("l4-mig-1g.6gb", "h100-sxm-mig-", "h100-sxm-mig-9g.80gb", "h100-sxm-mig-1g.0gb"),
        *("-mig-1g.10gb", "h100-mig-1g.10gb", "h100-sxm-mig-7g.160gb", "h100-sxm-mig-3g.45gb"),
    ],
)
def test_a_slice_that_no_gpu_has_is_not_known(name: str) -> None:
    assert load_catalogue().named(name) is None


def test_a_gpu_without_parts_has_no_slices() -> None:
    whole = load_catalogue().named("h100-sxm")
    assert whole is not None
    assert mig_slice(whole, None, "1g.10gb") is None
    assert mig_slice(whole, MigParts(compute=7, memory=8), "1g.10gb") is not None


def test_a_ridge_measured_on_the_whole_gpu_is_not_the_slices() -> None:
    measured = AcceleratorOverride(name="h100-sxm", ridge_tokens=150)
    catalogue = load_catalogue().with_overrides([measured])
    part = catalogue.named("h100-sxm-mig-3g.40gb")
    assert part is not None
    assert part.ridge_tokens is None


def test_a_profile_of_a_person_goes_before_the_scaled_figures() -> None:
    measured = AcceleratorOverride(
        name="h100-sxm-mig-3g.40gb", bandwidth_gb_s=1600, bf16_tflops=400
    )
    part = load_catalogue().with_overrides([measured]).named("h100-sxm-mig-3g.40gb")
    assert part is not None
    assert (part.bandwidth_gb_s, part.bf16_tflops) == (1600, 400)


class TestResolution:
    def test_nodes_with_slices(self) -> None:
        found = resolve_accelerator([{GFD: SLICE}], load_catalogue(), None, scale_slices=True)
        assert isinstance(found, ResolvedAccelerator)
        assert found.accelerator.name == "h100-sxm-mig-3g.40gb"
        assert found.certain

    def test_slices_are_not_asked_for_by_default(self) -> None:
        found = resolve_accelerator([{GFD: SLICE}], load_catalogue(), None)
        assert isinstance(found, Problem)

    def test_a_person_names_one(self) -> None:
        found = resolve_accelerator([], load_catalogue(), "h100-sxm-mig-3g.40gb")
        assert isinstance(found, ResolvedAccelerator)
        assert found.found_by == "spec.accelerator"

    def test_a_slice_of_figures_from_memory_says_so(self) -> None:
        found = resolve_accelerator([], load_catalogue(), "h100-nvl-mig-1g.12gb")
        assert isinstance(found, ResolvedAccelerator)
        assert "were not checked" in found.reasons[0]

    def test_whole_and_slice_are_two_types(self) -> None:
        nodes = [{GFD: SLICE}, {GFD: "NVIDIA-H100-80GB-HBM3"}]
        found = resolve_accelerator(nodes, load_catalogue(), None, scale_slices=True)
        assert isinstance(found, Problem)
        assert found.reason is Reason.ACCELERATOR_MIXED
