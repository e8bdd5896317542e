"""AcceleratorProfile: a GPU that the operator's catalogue lacks, or knows less well."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, StrictInt, StringConstraints

from ridgeline.api.errors import InvalidAccelerator, InvalidObject
from ridgeline.api.fields import ApiModel, Bool, resolved
from ridgeline.api.objects import ApiVersion, ObjectMeta, findings_of, read_object
from ridgeline.api.rules import AtomicList, Rule
from ridgeline.terms.links import Link
from ridgeline.terms.names import ACCELERATOR_KIND

MAX_PRODUCT_NAMES: Final = 16

_INT32: Final = {"format": "int32"}

ProductName = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
    ),
]
"""The value of a Kubernetes label, as node labellers write GPU names."""

MemoryGiB = Annotated[StrictInt, Field(ge=1, le=4096, json_schema_extra=_INT32)]
GBps = Annotated[StrictInt, Field(ge=1, le=100_000, json_schema_extra=_INT32)]
TFLOPS = Annotated[StrictInt, Field(ge=1, le=1_000_000, json_schema_extra=_INT32)]
RidgeTokens = Annotated[StrictInt, Field(ge=1, le=100_000, json_schema_extra=_INT32)]


class AcceleratorKind(StrEnum):
    """Kinds that are read here."""

    ACCELERATOR_PROFILE = ACCELERATOR_KIND


class AcceleratorMatch(ApiModel):
    """By what the GPU is known on a node."""

    product_names: Annotated[
        tuple[ProductName, ...], Field(min_length=1, max_length=MAX_PRODUCT_NAMES), AtomicList()
    ] = Field(
        description="Values of the node labels that name the GPU, exactly as they stand there: "
        "nvidia.com/gpu.product, cloud.google.com/gke-accelerator, "
        "karpenter.k8s.aws/instance-gpu-name, node.kubernetes.io/instance-type, "
        "amd.com/gpu.product-name."
    )


class AcceleratorLink(ApiModel):
    """How the GPUs of one node reach each other."""

    kind: Link = Field(description="What the GPUs are joined by; None for a single GPU.")
    bandwidth: GBps | None = Field(
        default=None,
        alias="bandwidthGBps",
        description="Bandwidth of the link in GB/s, one direction.",
    )

    RULES: ClassVar = (
        Rule["AcceleratorLink"](
            cel="(self.kind == 'None') != has(self.bandwidthGBps)",
            message="a link has a bandwidth, and None has none: set bandwidthGBps with NVLink, "
            "PCIe and XGMI, and remove it with None",
            offence=lambda link: (
                link.kind if (link.kind is Link.NONE) == (link.bandwidth is not None) else None
            ),
        ),
    )


Percent = Annotated[StrictInt, Field(ge=1, le=100, json_schema_extra=_INT32)]
Microseconds = Annotated[StrictInt, Field(ge=1, le=1_000_000, json_schema_extra=_INT32)]


def _says_nothing(measured: "AcceleratorMeasured") -> dict[str, object] | None:
    document = measured.document()
    return None if document else document


class AcceleratorMeasured(ApiModel):
    """What `ridgeline calibrate` measured on this GPU, in place of what the cost model takes."""

    memory_bandwidth_percent: Percent | None = resolved(
        "Percent of memoryBandwidthGBps that reading weights reaches.",
        unset_means="the cost model's own 81",
    )
    compute_percent: Percent | None = resolved(
        "Percent of the dense throughput that matrix products reach.",
        unset_means="the cost model's own 67",
    )
    step_microseconds: Microseconds | None = resolved(
        "Host time of one engine step, in microseconds.",
        unset_means="the cost model's own 670",
    )
    draft_pass_microseconds: Microseconds | None = resolved(
        "Host and launch time of one draft pass, in microseconds.",
        unset_means="the cost model's own 250",
    )

    RULES: ClassVar = (
        Rule["AcceleratorMeasured"](
            cel="has(self.memoryBandwidthPercent) || has(self.computePercent) || "
            "has(self.stepMicroseconds) || has(self.draftPassMicroseconds)",
            message="nothing was measured: set at least one field, or remove measured",
            offence=_says_nothing,
        ),
    )


def _empty(spec: "AcceleratorProfileSpec") -> dict[str, object] | None:
    document = spec.document()
    return None if document else document


def _without_native_fp8(spec: "AcceleratorProfileSpec") -> int | None:
    return spec.dense_fp8_tflops if spec.native_fp8 is False else None


def _native_fp8_without_rate(spec: "AcceleratorProfileSpec") -> int | None:
    untold = spec.native_fp8 is True and spec.dense_fp8_tflops is None
    return spec.dense_bf16_tflops if untold else None


def _slower(smaller: int | None, larger: int | None) -> int | None:
    if smaller is None or larger is None or smaller >= larger:
        return None
    return smaller


class AcceleratorProfileSpec(ApiModel):
    """Figures of one GPU, dense (without sparsity), as its maker states them."""

    match: AcceleratorMatch | None = Field(
        default=None,
        description="By what the GPU is known on a node. Without it, servings name it in "
        "spec.accelerator.",
    )
    memory_gib: MemoryGiB | None = Field(
        default=None, alias="memoryGiB", description="Memory of one GPU in GiB."
    )
    memory_bandwidth: GBps | None = Field(
        default=None,
        alias="memoryBandwidthGBps",
        description="Memory bandwidth of one GPU in GB/s. Needed for a GPU that the catalogue "
        "lacks.",
    )
    dense_bf16_tflops: TFLOPS | None = Field(
        default=None,
        alias="denseBF16TFLOPS",
        description="Dense 16-bit throughput in TFLOPS. Needed for a GPU that the catalogue lacks.",
    )
    dense_fp8_tflops: TFLOPS | None = Field(
        default=None,
        alias="denseFP8TFLOPS",
        description="Dense 8-bit floating-point throughput in TFLOPS, where the GPU has it.",
    )
    dense_fp4_tflops: TFLOPS | None = Field(
        default=None,
        alias="denseFP4TFLOPS",
        description="Dense 4-bit floating-point throughput in TFLOPS, where the GPU has it.",
    )
    link: AcceleratorLink | None = Field(
        default=None, description="How the GPUs of one node reach each other."
    )
    native_fp8: Bool | None = Field(
        default=None,
        alias="nativeFP8",
        description="Whether the GPU computes in 8-bit floating point, rather than only storing "
        "weights so.",
    )
    ridge_tokens: RidgeTokens | None = resolved(
        "Tokens per engine step up to which speculation pays, as measured on this GPU, whatever "
        "the precision.",
        unset_means="the published share of the knee, which follows from throughput, bandwidth "
        "and precision",
    )
    measured: AcceleratorMeasured | None = Field(
        default=None,
        description="What `ridgeline calibrate` measured on this GPU. Measured with one version of "
        "the engine on one kind of host: measure again when either changes.",
    )

    RULES: ClassVar = (
        Rule["AcceleratorProfileSpec"](
            cel="has(self.match) || has(self.memoryGiB) || has(self.memoryBandwidthGBps) || "
            "has(self.denseBF16TFLOPS) || has(self.denseFP8TFLOPS) || has(self.denseFP4TFLOPS) || "
            "has(self.link) || has(self.nativeFP8) || has(self.ridgeTokens) || has(self.measured)",
            message="the profile says nothing: set at least one field, or delete it",
            offence=_empty,
        ),
        Rule["AcceleratorProfileSpec"](
            cel="!has(self.denseFP8TFLOPS) || !has(self.nativeFP8) || self.nativeFP8",
            message="a GPU without native FP8 has no 8-bit throughput: remove denseFP8TFLOPS, or "
            "set nativeFP8 to true",
            offence=_without_native_fp8,
            below=("denseFP8TFLOPS",),
        ),
        Rule["AcceleratorProfileSpec"](
            cel="!has(self.nativeFP8) || !self.nativeFP8 || has(self.denseFP8TFLOPS) || "
            "!has(self.denseBF16TFLOPS)",
            message="a GPU with native FP8 has an 8-bit throughput beside its 16-bit one: set "
            "denseFP8TFLOPS, or remove nativeFP8",
            offence=_native_fp8_without_rate,
        ),
        Rule["AcceleratorProfileSpec"](
            cel="!has(self.denseFP8TFLOPS) || !has(self.denseBF16TFLOPS) || "
            "self.denseFP8TFLOPS >= self.denseBF16TFLOPS",
            message="8-bit throughput is no lower than 16-bit: correct denseFP8TFLOPS",
            offence=lambda spec: _slower(spec.dense_fp8_tflops, spec.dense_bf16_tflops),
            below=("denseFP8TFLOPS",),
        ),
        Rule["AcceleratorProfileSpec"](
            cel="!has(self.denseFP4TFLOPS) || !has(self.denseFP8TFLOPS) || "
            "self.denseFP4TFLOPS >= self.denseFP8TFLOPS",
            message="4-bit throughput is no lower than 8-bit: correct denseFP4TFLOPS",
            offence=lambda spec: _slower(spec.dense_fp4_tflops, spec.dense_fp8_tflops),
            below=("denseFP4TFLOPS",),
        ),
    )


class AcceleratorProfile(ApiModel):
    """One GPU: added to the operator's catalogue, or put in the place of its figures there."""

    api_version: ApiVersion = ApiVersion.V1ALPHA1
    kind: AcceleratorKind = AcceleratorKind.ACCELERATOR_PROFILE
    metadata: ObjectMeta
    spec: AcceleratorProfileSpec


def parse_accelerator(body: Mapping[str, Any], *, strict: bool = False) -> AcceleratorProfile:
    """Read an accelerator profile.

    Args:
        body: The object as the API server or a YAML file gives it.
        strict: Refuse unknown fields (lint).

    Raises:
        InvalidAccelerator: On the first field that holds what it must not.
    """
    return read_object(AcceleratorProfile, InvalidAccelerator, body, strict=strict)


def invalid_accelerator_fields(
    body: Mapping[str, Any], *, strict: bool = False
) -> tuple[InvalidObject, ...]:
    """Return every finding about a profile; none when `parse_accelerator` would read it."""
    return findings_of(AcceleratorProfile, InvalidAccelerator, body, strict=strict)
