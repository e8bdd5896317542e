"""Which GPU a node has, by the labels of each cloud and maker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerators import AcceleratorOverride, load_catalogue
from ridgeline.settings.catalogue import plain
from ridgeline.settings.node_labels import Found, identify
from ridgeline.terms.reasons import Reason

GFD = "nvidia.com/gpu.product"
GKE = "cloud.google.com/gke-accelerator"
KARPENTER = "karpenter.k8s.aws/instance-gpu-name"
KARPENTER_MEMORY = "karpenter.k8s.aws/instance-gpu-memory"
INSTANCE = "node.kubernetes.io/instance-type"
AMD = "amd.com/gpu.product-name"
MEMORY = "nvidia.com/gpu.memory"
MAJOR, MINOR = "nvidia.com/gpu.compute.major", "nvidia.com/gpu.compute.minor"
LOOKED_AT = (GFD, GKE, KARPENTER, KARPENTER_MEMORY, INSTANCE, AMD, MEMORY, MAJOR, MINOR)

KNOWN: list[tuple[dict[str, str], str]] = [
    ({GFD: "NVIDIA-H100-80GB-HBM3", MEMORY: "81559"}, "h100-sxm"),
    ({GFD: "NVIDIA-H100-NVL", MEMORY: "95830"}, "h100-nvl"),
    ({GFD: "NVIDIA-H100-PCIe"}, "h100-pcie"),
    ({GFD: "NVIDIA-H200"}, "h200-sxm"),
    ({GFD: "NVIDIA-B200"}, "b200-sxm"),
    ({GFD: "NVIDIA-B300-SXM6-AC"}, "b300-sxm"),
    ({GFD: "NVIDIA-GB200"}, "gb200"),
    ({GFD: "NVIDIA-GB300"}, "gb300"),
    ({GFD: "NVIDIA-A100-SXM4-40GB"}, "a100-sxm-40gb"),
    ({GFD: "A100-SXM4-40GB"}, "a100-sxm-40gb"),
    ({GFD: "NVIDIA-A100-SXM4-80GB"}, "a100-sxm-80gb"),
    ({GFD: "NVIDIA-A100-80GB-PCIe"}, "a100-pcie-80gb"),
    ({GFD: "NVIDIA-A100-PCIE-80GB"}, "a100-pcie-80gb"),
    ({GFD: "NVIDIA-L4", MEMORY: "23034"}, "l4"),
    ({GFD: "NVIDIA-L40"}, "l40"),
    ({GFD: "NVIDIA-L40S", MEMORY: "46068"}, "l40s"),
    ({GFD: "NVIDIA-A10"}, "a10"),
    ({GFD: "NVIDIA-A10G", MEMORY: "23028"}, "a10g"),
    ({GFD: "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}, "rtx-pro-6000-server"),
    ({GFD: "NVIDIA-GeForce-RTX-4090", MEMORY: "24564"}, "rtx-4090"),
    ({GFD: "Tesla-T4", MEMORY: "15360"}, "t4"),
    ({GFD: "Tesla-V100-SXM2-16GB"}, "v100-sxm-16gb"),
    ({GFD: "NVIDIA-H20", MEMORY: "97871"}, "h20-96gb"),
    ({GFD: "NVIDIA-H20", MEMORY: "143771"}, "h20-141gb"),
    ({GFD: "NVIDIA-GH200-480GB", MEMORY: "97871"}, "gh200-96gb"),
    ({GFD: "NVIDIA-RTX-A6000", MEMORY: "49140"}, "rtx-a6000"),
    ({GFD: "NVIDIA-RTX-6000-Ada-Generation", MEMORY: "49140"}, "rtx-6000-ada"),
    ({GFD: "NVIDIA-A100-PCIE-40GB", MEMORY: "40960"}, "a100-pcie-40gb"),
    ({GFD: "NVIDIA-GeForce-RTX-3090", MEMORY: "24576"}, "rtx-3090"),
    ({AMD: "AMD_Instinct_MI355X_OAM", "amd.com/gpu.vram": "288G"}, "mi355x"),
    ({AMD: "AMD_Instinct_MI210"}, "mi210"),
    ({GKE: "nvidia-h100-80gb"}, "h100-sxm"),
    ({GKE: "nvidia-h100-mega-80gb"}, "h100-sxm"),
    ({GKE: "nvidia-h200-141gb"}, "h200-sxm"),
    ({GKE: "nvidia-b200"}, "b200-sxm"),
    ({GKE: "nvidia-tesla-a100"}, "a100-sxm-40gb"),
    ({GKE: "nvidia-a100-80gb"}, "a100-sxm-80gb"),
    ({GKE: "nvidia-l4"}, "l4"),
    ({GKE: "nvidia-tesla-t4"}, "t4"),
    ({KARPENTER: "h100", KARPENTER_MEMORY: "81920"}, "h100-sxm"),
    ({KARPENTER: "h100", KARPENTER_MEMORY: "95830"}, "h100-nvl"),
    ({KARPENTER: "h200", KARPENTER_MEMORY: "144384"}, "h200-sxm"),
    ({KARPENTER: "b200", KARPENTER_MEMORY: "183359"}, "b200-sxm"),
    ({KARPENTER: "b300", KARPENTER_MEMORY: "275040"}, "b300-sxm"),
    ({KARPENTER: "a100", KARPENTER_MEMORY: "40960"}, "a100-sxm-40gb"),
    ({KARPENTER: "a100", KARPENTER_MEMORY: "81920"}, "a100-sxm-80gb"),
    ({KARPENTER: "l4", KARPENTER_MEMORY: "22888"}, "l4"),
    ({KARPENTER: "l40s", KARPENTER_MEMORY: "45776"}, "l40s"),
    ({KARPENTER: "a10g", KARPENTER_MEMORY: "22888"}, "a10g"),
    ({KARPENTER: "rtx-pro-server-6000", KARPENTER_MEMORY: "98304"}, "rtx-pro-6000-server"),
    ({KARPENTER: "t4", KARPENTER_MEMORY: "16384"}, "t4"),
    ({KARPENTER: "v100", KARPENTER_MEMORY: "32768"}, "v100-sxm-32gb"),
    ({INSTANCE: "Standard_ND96isr_H100_v5"}, "h100-sxm"),
    ({INSTANCE: "Standard_NC40ads_H100_v5"}, "h100-nvl"),
    ({INSTANCE: "Standard_NC80adis_H100_v5"}, "h100-nvl"),
    ({INSTANCE: "Standard_ND96isr_H200_v5"}, "h200-sxm"),
    ({INSTANCE: "Standard_NC24ads_A100_v4"}, "a100-pcie-80gb"),
    ({INSTANCE: "Standard_ND96amsr_A100_v4"}, "a100-sxm-80gb"),
    ({INSTANCE: "Standard_ND96asr_A100_v4"}, "a100-sxm-40gb"),
    ({INSTANCE: "Standard_NV36ads_A10_v5"}, "a10"),
    ({INSTANCE: "p5.48xlarge"}, "h100-sxm"),
    ({INSTANCE: "p5en.48xlarge"}, "h200-sxm"),
    ({INSTANCE: "p6-b200.48xlarge"}, "b200-sxm"),
    ({INSTANCE: "p4d.24xlarge"}, "a100-sxm-40gb"),
    ({INSTANCE: "p4de.24xlarge"}, "a100-sxm-80gb"),
    ({INSTANCE: "g6.12xlarge"}, "l4"),
    ({INSTANCE: "g6e.12xlarge"}, "l40s"),
    ({INSTANCE: "g5.xlarge"}, "a10g"),
    ({INSTANCE: "a3-highgpu-8g"}, "h100-sxm"),
    ({"beta.kubernetes.io/instance-type": "g5.xlarge"}, "a10g"),
    ({AMD: "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}, "mi300x"),
    ({AMD: "Instinct_MI300X"}, "mi300x"),
    ({"beta.amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, "mi300x"),
    ({"beta.amd.com/gpu.product-name.AMD_Instinct_MI300X_OAM": "8"}, "mi300x"),
    ({AMD: "AMD_Instinct_MI325_OAM"}, "mi325x"),
    ({AMD: "AMD_Instinct_MI300X_OAM", "amd.com/compute-memory-partition": "spx_nps1"}, "mi300x"),
]

PARTS: list[dict[str, str]] = [
    {GFD: "NVIDIA-H100-80GB-HBM3-SHARED"},
    {GFD: "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"},
    {GFD: "NVIDIA-L40S-SHARED", INSTANCE: "g6e.12xlarge"},
    {GFD: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
    {GFD: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.sharing-strategy": "time-slicing"},
    {GFD: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.replicas": "4"},
    {GFD: "NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-1g.10gb.count": "7"},
    {GFD: "NVIDIA-H100-80GB-HBM3", MEMORY: "40000"},
    {GFD: "NVIDIA-A10", "nvidia.com/vgpu.present": "true"},
    {GKE: "nvidia-h100-80gb", "cloud.google.com/gke-gpu-partition-size": "1g.10gb"},
    {GKE: "nvidia-l4", "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"},
    {GKE: "nvidia-l4", "cloud.google.com/gke-max-shared-clients-per-gpu": "2"},
    {KARPENTER: "l4", KARPENTER_MEMORY: "2861"},
    {KARPENTER: "l4", KARPENTER_MEMORY: "11444"},
    {INSTANCE: "g6f.xlarge"},
    {INSTANCE: "gr6f.4xlarge"},
    {INSTANCE: "Standard_NV6ads_A10_v5"},
    {AMD: "AMD_Instinct_MI300X_OAM", "amd.com/compute-memory-partition": "cpx_nps4"},
]

UNKNOWN: list[dict[str, str]] = [
    {},
    {"kubernetes.io/hostname": "node-1"},
    {GFD: "NVIDIA-GB10"},
    {GFD: "NVIDIA-H100-SXM5-80GB"},
    {GFD: ""},
    {INSTANCE: "m5.large"},
    {INSTANCE: "g5g.xlarge"},
    {INSTANCE: "p5"[:1]},
    {KARPENTER: "t4g", KARPENTER_MEMORY: "16384"},
    {KARPENTER: "a100"},
    {KARPENTER: "h100", KARPENTER_MEMORY: "999999"},
    {AMD: "AMD_Radeon_780M_Graphics"},
    {MAJOR: "12", MINOR: "1"},
    {MAJOR: "9", MINOR: "0", MEMORY: "999999"},
]

WHOLE: dict[str, str] = {
    "nvidia.com/gpu.sharing-strategy": "none",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/mig.capable": "true",
    "nvidia.com/mig.strategy": "single",
    "nvidia.com/mig-1g.10gb.count": "0",
    "nvidia.com/vgpu.present": "false",
}


def find(labels: dict[str, str]) -> Found:
    found = identify(labels, load_catalogue())
    assert isinstance(found, Found), found
    return found


def refuse(labels: dict[str, str]) -> Problem:
    found = identify(labels, load_catalogue())
    assert isinstance(found, Problem), found
    return found


@pytest.mark.parametrize(("labels", "name"), KNOWN, ids=str)
def test_a_whole_gpu_is_known(labels: dict[str, str], name: str) -> None:
    found = find(labels)
    assert found.accelerator.name == name
    assert found.certain
    assert found.notes == ()


def test_labels_that_say_that_it_is_whole_do_no_harm() -> None:
    assert find({GFD: "NVIDIA-H100-80GB-HBM3", **WHOLE}).accelerator.name == "h100-sxm"


@pytest.mark.parametrize("labels", PARTS, ids=str)
def test_a_part_never_takes_the_line_of_the_whole(labels: dict[str, str]) -> None:
    problem = refuse(labels)
    assert problem.reason is Reason.ACCELERATOR_SHARED
    assert "AcceleratorProfile" in problem.message
    for key, value in labels.items():
        assert f"{key}={value}" in problem.message


@pytest.mark.parametrize("labels", UNKNOWN, ids=str)
def test_what_is_not_known_is_not_guessed(labels: dict[str, str]) -> None:
    problem = refuse(labels)
    assert problem.reason is Reason.ACCELERATOR_UNKNOWN
    assert "set spec.accelerator" in problem.message


def test_the_message_shows_the_labels_of_gpus_and_no_others() -> None:
    message = refuse({GFD: "NVIDIA-GB10", INSTANCE: "m5.large", "team": "secret"}).message
    assert f"{INSTANCE}=m5.large, {GFD}=NVIDIA-GB10" in message
    assert "secret" not in message
    assert "no GPU label" in refuse({"team": "a"}).message


def test_two_possible_gpus_are_named() -> None:
    message = refuse({KARPENTER: "a100"}).message
    assert "a100-sxm-80gb or a100-sxm-40gb" in message
    assert "no memory label" in message


class TestOrder:
    def test_the_maker_goes_before_the_cloud_and_the_cloud_before_the_type(self) -> None:
        everything = {GFD: "NVIDIA-L4", GKE: "nvidia-h100-80gb", INSTANCE: "g5.xlarge"}
        assert find(everything).accelerator.name == "l4"
        assert find(everything).label == f"{GFD}=NVIDIA-L4"
        del everything[GFD]
        assert find(everything).accelerator.name == "h100-sxm"
        del everything[GKE]
        assert find(everything).accelerator.name == "a10g"

    def test_a_name_that_is_passed_over_is_told(self) -> None:
        found = find({GFD: "NVIDIA-H100-80GB-HBM3e", INSTANCE: "p5.48xlarge"})
        assert found.accelerator.name == "h100-sxm"
        (note,) = found.notes
        assert f"{GFD}=NVIDIA-H100-80GB-HBM3e names no GPU" in note
        assert f"{INSTANCE}=p5.48xlarge does" in note

    def test_karpenter_memory_goes_before_the_makers(self) -> None:
        labels = {KARPENTER: "a100", KARPENTER_MEMORY: "40960", MEMORY: "81920"}
        assert find(labels).accelerator.name == "a100-sxm-40gb"
        del labels[KARPENTER_MEMORY]
        assert find(labels).accelerator.name == "a100-sxm-80gb"


class TestFamilies:
    @pytest.mark.parametrize(
        ("labels", "name"),
        [
            ({MAJOR: "9", MINOR: "0"}, "h20-141gb"),
            ({MAJOR: "9", MINOR: "0", MEMORY: "81559"}, "h100-sxm"),
            ({MAJOR: "8", MINOR: "9", MEMORY: "46068"}, "l20"),
            ({MAJOR: "7", MINOR: "5", GFD: "Quadro-RTX-5000", MEMORY: "16125"}, "t4"),
        ],
        ids=str,
    )
    def test_the_lowest_knee_of_the_family_to_recommend_only(
        self, labels: dict[str, str], name: str
    ) -> None:
        found = find(labels)
        assert found.accelerator.name == name
        assert not found.certain
        assert "to recommend only" in found.notes[-1]

    def test_a_part_has_no_family(self) -> None:
        problem = refuse({MAJOR: "9", MINOR: "0", GFD: "NVIDIA-H100-80GB-HBM3-SHARED"})
        assert problem.reason is Reason.ACCELERATOR_SHARED


class TestProfilesOfAPerson:
    SLICE = "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"

    def test_a_claimed_name_goes_before_the_refusal_of_parts(self) -> None:
        catalogue = load_catalogue().with_overrides(
            [
                AcceleratorOverride(
                    name="h100-3g",
                    product_names=(self.SLICE,),
                    bandwidth_gb_s=1675,
                    bf16_tflops=424,
                )
            ]
        )
        found = identify({GFD: self.SLICE, MEMORY: "40448"}, catalogue)
        assert isinstance(found, Found)
        assert found.accelerator.name == "h100-3g"
        assert found.certain
        assert "AcceleratorProfile h100-3g claims" in found.notes[0]
        assert refuse({GFD: self.SLICE}).reason is Reason.ACCELERATOR_SHARED

    @pytest.mark.parametrize("key", [GFD, GKE, KARPENTER, INSTANCE, AMD])
    def test_a_name_is_claimed_on_any_label(self, key: str) -> None:
        catalogue = load_catalogue().with_overrides(
            [
                AcceleratorOverride(
                    name="ours", product_names=("Ours_1",), bandwidth_gb_s=1000, bf16_tflops=100
                )
            ]
        )
        found = identify({key: "ours-1"}, catalogue)
        assert isinstance(found, Found)
        assert found.accelerator.name == "ours"


@given(
    st.dictionaries(
        st.sampled_from(
            [*LOOKED_AT, "nvidia.com/gpu.replicas", "nvidia.com/mig-1g.count", "amd.com/gpu.vram"]
        ),
        st.text(max_size=12)
        | st.sampled_from(["h100", "a100", "NVIDIA-L4", "p5.x", "²", "9", "0", "81920", "192G"]),
    )
)
def test_any_labels_give_an_answer(labels: dict[str, str]) -> None:
    found = identify(labels, load_catalogue())
    if isinstance(found, Found):
        assert found.accelerator.name in load_catalogue().names
    else:
        assert found.reason in (Reason.ACCELERATOR_SHARED, Reason.ACCELERATOR_UNKNOWN)


@given(st.sampled_from(KNOWN), st.sampled_from(["-SHARED", "-MIG-1g.5gb", "-MIG-2g.10gb-SHARED"]))
def test_no_suffix_of_a_part_ever_names_a_gpu(
    known: tuple[dict[str, str], str], suffix: str
) -> None:
    labels, _ = known
    found = identify({**labels, GFD: labels.get(GFD, "NVIDIA-L4") + suffix}, load_catalogue())
    assert isinstance(found, Problem)
    assert found.reason is Reason.ACCELERATOR_SHARED


@given(st.text())
def test_plain_names_stay_plain(name: str) -> None:
    assert plain(plain(name)) == plain(name)
