"""Edits of a good policy and a good accelerator profile."""

import copy
from collections.abc import Callable
from typing import Any

from ridgeline.api import accelerator, cutoff, schedules
from ridgeline.terms.names import ACCELERATOR_KIND, API_VERSION, POLICY_KIND
from tests.unit.api import schedule_cases
from tests.unit.api.bodies import Case, Spec, at, ranges


def good_policy() -> Spec:
    """Return the spec of a policy that sets every field."""
    return {
        "cutoff": {
            "strategy": "Fixed",
            "ranges": [
                {"profile": "eagle", "upToConcurrency": 20, "returnBelowConcurrency": 16},
                {"profile": "none"},
            ],
        },
        "stabilization": {"busierSeconds": 30, "quieterSeconds": 300},
        "cooldownSeconds": 900,
        "maxSwitchesPerDay": 4,
        "objective": {"p99TPOTMilliseconds": 80, "prefer": "Throughput"},
        "schedules": [
            {
                "name": "quiet-launch",
                "cron": "30 7 1,15 * *",
                "durationSeconds": 7200,
                "timeZone": "America/New_York",
                "switchOn": "Forbidden",
            },
        ],
        "telemetry": "main",
    }


def good_accelerator() -> Spec:
    """Return the spec of a profile that sets every field."""
    return {
        "match": {"productNames": ["ACME-X1-64GB", "acme_x1"]},
        "memoryGiB": 64,
        "memoryBandwidthGBps": 2500,
        "denseBF16TFLOPS": 600,
        "denseFP8TFLOPS": 1200,
        "denseFP4TFLOPS": 2400,
        "link": {"kind": "PCIe", "bandwidthGBps": 64},
        "nativeFP8": True,
        "ridgeTokens": 90,
    }


def policy_body(spec: Spec, name: str = "shared") -> dict[str, Any]:
    """Return a policy with a spec."""
    metadata = {"name": name}
    return {"apiVersion": API_VERSION, "kind": POLICY_KIND, "metadata": metadata, "spec": spec}


def accelerator_body(spec: Spec, name: str = "acme-x1") -> dict[str, Any]:
    """Return an accelerator profile with a spec."""
    metadata = {"name": name}
    return {"apiVersion": API_VERSION, "kind": ACCELERATOR_KIND, "metadata": metadata, "spec": spec}


def edited(good: Spec, case: Case) -> Spec:
    """Return a copy of a good spec with the case's edit."""
    spec = copy.deepcopy(good)
    case.edit(spec)
    return spec


def without(*fields: str) -> Callable[[Spec], None]:
    """Return an edit that takes fields away."""

    def edit(spec: Spec) -> None:
        for field in fields:
            del spec[field]

    return edit


def only(**fields: Any) -> Case:
    """Return a case that sets these fields and no others."""

    def edit(spec: Spec) -> None:
        spec.clear()
        spec.update(fields)

    return Case(f"only {', '.join(fields) or 'nothing'}", edit)


(
    SAYS_NOTHING,
    NATIVE_FP8,
    FP8_NEEDS_RATE,
    FP8_ABOVE_BF16,
    FP4_ABOVE_FP8,
) = accelerator.AcceleratorProfileSpec.RULES
(LINK_HAS_BANDWIDTH,) = accelerator.AcceleratorLink.RULES
(MEASURED_SAYS_SOMETHING,) = accelerator.AcceleratorMeasured.RULES
_, FIXED_NEEDS_NUMBERS, _ = cutoff.Cutoff.RULES

KEPT_POLICIES = (
    Case("as it stands", lambda _: None),
    only(),
    only(cutoff={"strategy": "Ridge"}),
    only(cutoff={"preset": "h100-bf16"}),
    only(stabilization={"quieterSeconds": 0}),
    only(objective={"prefer": "Latency"}),
    only(schedules=[]),
    only(schedules=[{**schedule_cases.HOUR, "profile": "a-name-of-a-serving"}]),
)

BROKEN_POLICIES = (
    Case(
        "bands overlap",
        ranges(("eagle", 20, 16), ("ngram", 40, 20), ("none",)),
        "spec.cutoff.ranges",
        cutoff.BANDS_DO_NOT_OVERLAP,
    ),
    Case(
        "Fixed without numbers",
        at("cutoff", value={"strategy": "Fixed"}),
        "spec.cutoff.strategy",
        FIXED_NEEDS_NUMBERS,
    ),
    Case(
        "a schedule without minutes",
        at("schedules", 0, "cron", value="8 * * MON"),
        "spec.schedules[0].cron",
        schedules.CRON_HAS_FIVE_FIELDS,
    ),
)

POLICIES_OUT_OF_BOUNDS = (
    Case("cooldown below 0", at("cooldownSeconds", value=-1), "spec.cooldownSeconds"),
    Case("no ranges", at("cutoff", "ranges", value=[]), "spec.cutoff.ranges"),
    Case(
        "a schedule without a name",
        lambda spec: spec["schedules"][0].pop("name"),
        "spec.schedules[0].name",
    ),
)

NOT_SHARED: dict[str, Any] = {
    "mode": "Automatic",
    "suspend": True,
    "profiles": [],
    "targetRef": {"name": "llama"},
    "accelerator": "h100-sxm",
    "model": {"precision": "FP8"},
    "policyRef": {"name": "other"},
    "injection": {"mode": "Env"},
}
"""Fields of a serving that no policy has."""

KEPT_ACCELERATORS = (
    Case("as it stands", lambda _: None),
    only(ridgeTokens=100),
    only(match={"productNames": ["NVIDIA-H100-SXM5-80GB"]}),
    only(memoryBandwidthGBps=2500, denseBF16TFLOPS=600),
    only(link={"kind": "None"}),
    only(nativeFP8=False),
    only(nativeFP8=True),
    only(nativeFP8=False, denseBF16TFLOPS=600),
    only(denseFP8TFLOPS=600, denseBF16TFLOPS=600),
    only(measured={"memoryBandwidthPercent": 84, "computePercent": 61}),
    only(measured={"stepMicroseconds": 900, "draftPassMicroseconds": 310}),
)

BROKEN_ACCELERATORS = (
    Case("nothing", lambda spec: spec.clear(), "spec", SAYS_NOTHING),
    Case(
        "8-bit throughput without native FP8",
        at("nativeFP8", value=False),
        "spec.denseFP8TFLOPS",
        NATIVE_FP8,
    ),
    Case(
        "FP8 below BF16", at("denseBF16TFLOPS", value=1201), "spec.denseFP8TFLOPS", FP8_ABOVE_BF16
    ),
    Case(
        "native FP8 without a throughput",
        without("denseFP8TFLOPS", "denseFP4TFLOPS"),
        "spec",
        FP8_NEEDS_RATE,
    ),
    Case("FP4 below FP8", at("denseFP4TFLOPS", value=1199), "spec.denseFP4TFLOPS", FP4_ABOVE_FP8),
    Case(
        "a link without a bandwidth",
        at("link", value={"kind": "NVLink"}),
        "spec.link",
        LINK_HAS_BANDWIDTH,
    ),
    Case(
        "no link with a bandwidth",
        at("link", "kind", value="None"),
        "spec.link",
        LINK_HAS_BANDWIDTH,
    ),
    Case("nothing measured", at("measured", value={}), "spec.measured", MEASURED_SAYS_SOMETHING),
)

ACCELERATORS_OUT_OF_BOUNDS = (
    Case("no memory", at("memoryGiB", value=0), "spec.memoryGiB"),
    Case(
        "bandwidth as a text", at("memoryBandwidthGBps", value="2 TB/s"), "spec.memoryBandwidthGBps"
    ),
    Case("a fraction", at("denseBF16TFLOPS", value=756.5), "spec.denseBF16TFLOPS"),
    Case(
        "more than all bandwidth",
        at("measured", value={"memoryBandwidthPercent": 101}),
        "spec.measured.memoryBandwidthPercent",
    ),
    Case(
        "a share as a fraction",
        at("measured", value={"computePercent": 61.5}),
        "spec.measured.computePercent",
    ),
    Case("an unknown link", at("link", "kind", value="InfiniBand"), "spec.link.kind"),
    Case("no product", at("match", "productNames", value=[]), "spec.match.productNames"),
    Case(
        "17 products",
        at("match", "productNames", value=[f"x{i}" for i in range(17)]),
        "spec.match.productNames",
    ),
    Case(
        "a product that no label can hold",
        at("match", "productNames", value=["NVIDIA H100"]),
        "spec.match.productNames[0]",
    ),
    Case("a ridge of 0", at("ridgeTokens", value=0), "spec.ridgeTokens"),
)
