"""The rows of the data file, and what AcceleratorProfiles put over them."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.settings.accelerators import (
    AcceleratorOverride,
    Catalogue,
    load_catalogue,
    override_of,
)
from ridgeline.settings.catalogue import DATA_FILE, parse_catalogue, plain
from ridgeline.terms.links import Link
from ridgeline.terms.precision import Precision

ROWS_OF_THE_FACTS = {
    "h100-sxm",
    "h100-pcie",
    "h100-nvl",
    "h200-sxm",
    "b200-sxm",
    "gb200",
    "b300-sxm",
    "gb300",
    "a100-sxm-80gb",
    "a100-pcie-80gb",
    "a100-sxm-40gb",
    "a30",
    "l4",
    "l40",
    "l40s",
    "a10",
    "a10g",
    "rtx-4090",
    "rtx-5090",
    "rtx-pro-6000-server",
    "mi300x",
    "mi325x",
    "t4",
    "v100-sxm-16gb",
    "v100-sxm-32gb",
    *("h200-nvl", "gh200-96gb", "gh200-144gb", "h20-96gb", "h20-141gb", "h800-sxm", "b100-sxm"),
    *("a800-sxm-80gb", "a800-pcie-80gb", "a100-pcie-40gb", "a40", "rtx-a6000", "rtx-a5000"),
    *("l20", "rtx-6000-ada", "rtx-pro-6000-workstation", "rtx-pro-4500"),
    *("rtx-3090", "rtx-4080", "rtx-5080"),
    *("mi210", "mi250", "mi250x", "mi300a", "mi350x", "mi355x"),
}


def content() -> dict[str, Any]:
    file = Path(__file__).parents[3] / "operator" / "ridgeline" / "settings" / DATA_FILE
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_every_gpu_that_was_promised_has_a_row() -> None:
    assert set(load_catalogue().names) >= ROWS_OF_THE_FACTS


def test_every_row_has_a_source_and_a_date_and_memory_is_no_source_that_was_read() -> None:
    for entry in load_catalogue().entries:
        one = entry.accelerator
        assert one.source
        assert one.as_of == "2026-11-29"
        assert one.checked == (one.source != "from memory"), one.name


def test_names_are_those_of_kubernetes_objects() -> None:
    for name in load_catalogue().names:
        parse_accelerator({"metadata": {"name": name}, "spec": {"ridgeTokens": 1}})
        assert plain(name) == name


@pytest.mark.parametrize("kind", ["nvidia", "gke", "instance_types", "amd", "karpenter"])
def test_no_two_rows_share_a_label_that_memory_does_not_tell_apart(kind: str) -> None:
    users: dict[str, list[float]] = {}
    for entry in load_catalogue().entries:
        for form in getattr(entry.labels, kind):
            users.setdefault(plain(form), []).append(entry.accelerator.memory_gib)
    for form, memories in users.items():
        for before, after in zip(sorted(memories), sorted(memories)[1:], strict=False):
            assert before * 1.1 < after * 0.9 or kind == "karpenter", form


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda row: row.update(bandwidthGbS=0), "bandwidth_gb_s is 0"),
        (lambda row: row.update(bf16Tflops=math.nan), "finite"),
        (lambda row: row.update(surprise=1), "surprise"),
        (lambda row: row.update(source="hearsay"), "hearsay"),
        (lambda row: row.pop("checked"), "checked"),
        (lambda row: row.update(link="Rope"), "link"),
    ],
    ids=["zero", "nan", "unknown-key", "undescribed-source", "unmarked", "link"],
)
def test_a_row_that_cannot_be_is_refused(spoil: Any, message: str) -> None:
    spoilt = content()
    spoil(spoilt["accelerators"][0])
    with pytest.raises((ValidationError, ValueError), match=message):
        parse_catalogue(spoilt)


def test_two_rows_of_one_name_are_refused() -> None:
    doubled = content()
    doubled["accelerators"].append(doubled["accelerators"][0])
    with pytest.raises(ValueError, match="two rows have the name 'h100-sxm'"):
        parse_catalogue(doubled)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("h100-sxm", "h100-sxm"),
        ("H100_SXM", "h100-sxm"),
        ("NVIDIA-H100-80GB-HBM3", "h100-sxm"),
        ("nvidia-l4", "l4"),
        ("AMD_Instinct_MI300X_OAM", "mi300x"),
        ("a100", None),
        ("h100", None),
        ("gb10", None),
        ("", None),
    ],
)
def test_names_and_label_forms_find_a_gpu_and_ambiguous_ones_none(
    asked: str, name: str | None
) -> None:
    found = load_catalogue().named(asked)
    assert (found.name if found else None) == name


class TestOverrides:
    def with_one(self, **figures: Any) -> Catalogue:
        return load_catalogue().with_overrides([AcceleratorOverride(**figures)])

    def test_an_override_changes_what_it_says_and_nothing_else(self) -> None:
        before = load_catalogue().named("l4")
        after = self.with_one(name="l4", ridge_tokens=99).named("l4")
        assert before is not None
        assert after is not None
        assert after == replace(before, ridge_tokens=99.0, source=after.source)
        assert after.source.startswith("AcceleratorProfile l4 over: ")

    def test_the_catalogue_itself_stays_as_it_was(self) -> None:
        self.with_one(name="l4", bandwidth_gb_s=1)
        untouched = load_catalogue().named("l4")
        assert untouched is not None
        assert untouched.bandwidth_gb_s == 300

    def test_measured_figures_make_a_row_checked_and_half_of_them_do_not(self) -> None:
        whole = self.with_one(name="rtx-4090", bandwidth_gb_s=1000, bf16_tflops=160)
        half = self.with_one(name="rtx-4090", bandwidth_gb_s=1000)
        assert whole.named("rtx-4090").checked  # type: ignore[union-attr]
        assert not half.named("rtx-4090").checked  # type: ignore[union-attr]

    def test_a_new_gpu_needs_bandwidth_and_rate(self) -> None:
        found = self.with_one(name="gb10", bandwidth_gb_s=273, bf16_tflops=125).named("gb10")
        assert found is not None
        assert found.link is Link.PCIE
        assert not found.native_fp8
        assert found.knee_tokens(Precision.BF16) == pytest.approx(125 / 0.273)

    def test_a_new_gpu_without_them_is_refused_and_harms_no_other(self) -> None:
        good = AcceleratorOverride(name="good", bandwidth_gb_s=100, bf16_tflops=100)
        bad = AcceleratorOverride(name="gb10", bf16_tflops=125)
        catalogue = load_catalogue().with_overrides([bad, good])
        assert catalogue.named("gb10") is None
        assert catalogue.named("good") is not None
        assert "memoryBandwidthGBps" in catalogue.refused["gb10"]
        assert "denseBF16TFLOPS" not in catalogue.refused["gb10"]

    def test_figures_that_no_gpu_has_are_refused_and_the_row_stays(self) -> None:
        catalogue = self.with_one(name="l4", bandwidth_gb_s=0)
        assert "bandwidth_gb_s is 0" in catalogue.refused["l4"]
        assert catalogue.named("l4") == load_catalogue().named("l4")

    @pytest.mark.parametrize(
        ("figures", "native", "fp8"),
        [
            ({"name": "a40", "fp8_tflops": 300}, True, 300),
            ({"name": "l4", "native_fp8": False}, False, None),
            ({"name": "l4", "fp8_tflops": 200}, True, 200),
        ],
    )
    def test_8_bit_units_come_and_go_with_their_rate(
        self, figures: dict[str, Any], native: bool, fp8: float | None
    ) -> None:
        found = self.with_one(**figures).named(figures["name"])
        assert found is not None
        assert (found.native_fp8, found.fp8_tflops) == (native, fp8)

    def test_a_link_that_is_told_joins_all(self) -> None:
        found = self.with_one(name="h100-nvl", link=Link.NVLINK, link_gb_s=450).named("h100-nvl")
        assert found is not None
        assert (found.link_gb_s, found.link_span) == (450, None)

    def test_an_accelerator_profile_is_read_whole(self) -> None:
        body = {
            "metadata": {"name": "gb10"},
            "spec": {
                "match": {"productNames": ["NVIDIA-GB10"]},
                "memoryGiB": 120,
                "memoryBandwidthGBps": 273,
                "denseBF16TFLOPS": 125,
                "denseFP8TFLOPS": 250,
                "denseFP4TFLOPS": 500,
                "link": {"kind": "NVLink", "bandwidthGBps": 25},
                "nativeFP8": True,
                "ridgeTokens": 70,
            },
        }
        assert override_of(parse_accelerator(body)) == AcceleratorOverride(
            name="gb10",
            product_names=("NVIDIA-GB10",),
            memory_gib=120,
            bandwidth_gb_s=273,
            bf16_tflops=125,
            fp8_tflops=250,
            fp4_tflops=500,
            link=Link.NVLINK,
            link_gb_s=25,
            native_fp8=True,
            ridge_tokens=70,
        )

    def test_a_profile_that_says_little_overrides_little(self) -> None:
        body = {"metadata": {"name": "l4"}, "spec": {"ridgeTokens": 70}}
        assert override_of(parse_accelerator(body)) == AcceleratorOverride(
            name="l4", ridge_tokens=70
        )
