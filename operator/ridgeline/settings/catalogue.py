"""The catalogue of GPUs: the rows of the data file, and what AcceleratorProfiles put over them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from ridgeline.api.accelerator import AcceleratorMeasured, AcceleratorProfile
from ridgeline.costmodel.accelerator import Accelerator, Measured
from ridgeline.settings.accelerator_slices import MigParts, mig_slice, name_and_profile
from ridgeline.terms.links import Link

DATA_FILE: Final = "data/accelerators.yaml"


def plain(name: str) -> str:
    """Return a GPU's name without what labellers disagree on: case, blanks, underscores."""
    return "-".join(name.replace("_", " ").replace("-", " ").casefold().split())


def plain_amd(name: str) -> str:
    """Return an AMD product name without maker, family and form factor, which not all write."""
    bare = plain(name).removeprefix("amd-").removeprefix("instinct-")
    return bare.removesuffix("-oam")


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )


class _LabelRow(_Model):
    nvidia: tuple[str, ...] = ()
    gke: tuple[str, ...] = ()
    karpenter: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    amd: tuple[str, ...] = ()


class _Row(_Model):
    name: str
    memory_gib: float
    bandwidth_gb_s: float
    bf16_tflops: float
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    link: Link
    link_gb_s: float
    link_span: int | None = None
    native_fp8: bool = False
    consumer: bool = False
    compute_capability: str | None = None
    mig: MigParts | None = None
    source: str
    as_of: date
    checked: bool
    labels: _LabelRow


class _File(_Model):
    sources: dict[str, str]
    accelerators: tuple[_Row, ...]
    fractional_instance_types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelForms:
    """By what nodes call a GPU, as the data file writes it.

    Attributes:
        nvidia: Values of `nvidia.com/gpu.product`.
        gke: Values of `cloud.google.com/gke-accelerator`.
        karpenter: Values of `karpenter.k8s.aws/instance-gpu-name`.
        instance_types: Instance types, or what they begin with.
        amd: Values of `amd.com/gpu.product-name`.
        claimed: Values of any of these, told by an AcceleratorProfile: they go before all others.
    """

    nvidia: tuple[str, ...] = ()
    gke: tuple[str, ...] = ()
    karpenter: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    amd: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()

    def all(self) -> tuple[str, ...]:
        """Return every form."""
        known = self.nvidia + self.gke + self.karpenter + self.instance_types + self.amd
        return self.claimed + known


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the catalogue.

    Attributes:
        accelerator: The GPU.
        labels: By what nodes call it.
        compute_capability: Its CUDA compute capability ("9.0").
        mig: Parts that MIG divides it into; `None` where it cannot.
    """

    accelerator: Accelerator
    labels: LabelForms
    compute_capability: str | None = None
    mig: MigParts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorOverride:
    """What an AcceleratorProfile says of a GPU; `None` leaves the catalogue's figure.

    Attributes:
        name: Name of the row that it changes, or of a new one.
        product_names: Values of the node labels that name the GPU, in addition to those known.
        memory_gib: Memory in GiB.
        bandwidth_gb_s: Memory bandwidth in GB/s; a new row needs it.
        bf16_tflops: Dense 16-bit rate; a new row needs it.
        fp8_tflops: Dense 8-bit floating-point rate.
        fp4_tflops: Dense 4-bit floating-point rate.
        link: What joins the GPUs of a node.
        link_gb_s: Rate of the link in one direction, GB/s.
        native_fp8: Whether W8A8 FP8 runs on units of its own.
        ridge_tokens: Tokens per step up to which speculation pays.
        measured: What a calibration measured.
    """

    name: str
    product_names: tuple[str, ...] = ()
    memory_gib: float | None = None
    bandwidth_gb_s: float | None = None
    bf16_tflops: float | None = None
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    link: Link | None = None
    link_gb_s: float | None = None
    native_fp8: bool | None = None
    ridge_tokens: float | None = None
    measured: Measured | None = None


# Compared by identity: a catalogue is built seldom and asked often.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Catalogue:
    """Every GPU that is known.

    Attributes:
        entries: The rows.
        fractional_instance_types: Instance types that have a part of a GPU.
        refused: Why an AcceleratorProfile could not be used, by its name.
    """

    entries: tuple[Entry, ...]
    fractional_instance_types: tuple[str, ...] = ()
    refused: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows, in their order."""
        return tuple(each.accelerator.name for each in self.entries)

    def named(self, name: str) -> Accelerator | None:
        """Return the GPU of a name; a form that some node label uses and that is one GPU's, too.

        `h100-sxm-mig-3g.40gb` is that MIG slice of `h100-sxm`.
        """
        whole = self._entry(name)
        if whole is not None:
            return whole.accelerator
        parted = name_and_profile(name)
        if parted is None:
            return None
        base = self._entry(parted[0])
        return None if base is None else mig_slice(base.accelerator, base.mig, parted[1])

    def _entry(self, name: str) -> Entry | None:
        wanted = plain(name)
        for each in self.entries:
            if plain(each.accelerator.name) == wanted:
                return each
        also = [e for e in self.entries if wanted in map(plain, e.labels.all())]
        return also[0] if len(also) == 1 else None

    def with_overrides(self, overrides: Iterable[AcceleratorOverride]) -> "Catalogue":
        """Return the catalogue with AcceleratorProfiles laid over it.

        A profile that does not give what a new row needs, or gives what no GPU has, changes
        nothing and stands in `refused`: it must not take the rest of the catalogue with it.
        """
        entries = {plain(each.accelerator.name): each for each in self.entries}
        refused = dict(self.refused)
        for override in overrides:
            key = plain(override.name)
            try:
                entries[key] = _overlaid(entries.get(key), override)
            except ValueError as error:
                refused[key] = f"AcceleratorProfile {override.name} cannot be used: {error}"
        return replace(self, entries=tuple(entries.values()), refused=refused)


def override_of(profile: AcceleratorProfile) -> AcceleratorOverride:
    """Return what an AcceleratorProfile says."""
    spec = profile.spec
    return AcceleratorOverride(
        name=profile.metadata.name,
        product_names=spec.match.product_names if spec.match else (),
        memory_gib=spec.memory_gib,
        bandwidth_gb_s=spec.memory_bandwidth,
        bf16_tflops=spec.dense_bf16_tflops,
        fp8_tflops=spec.dense_fp8_tflops,
        fp4_tflops=spec.dense_fp4_tflops,
        link=spec.link.kind if spec.link else None,
        link_gb_s=spec.link.bandwidth if spec.link else None,
        native_fp8=spec.native_fp8,
        ridge_tokens=spec.ridge_tokens,
        measured=_measured(spec.measured),
    )


def _measured(told: AcceleratorMeasured | None) -> Measured | None:
    if told is None:
        return None
    return Measured(
        bandwidth_share=_times(told.memory_bandwidth_percent, 0.01),
        compute_share=_times(told.compute_percent, 0.01),
        step_seconds=_times(told.step_microseconds, 1e-6),
        draft_pass_seconds=_times(told.draft_pass_microseconds, 1e-6),
    )


def _times(value: int | None, unit: float) -> float | None:
    return None if value is None else value * unit


@cache
def load_catalogue() -> Catalogue:
    """Return the catalogue of the data file that comes with the package."""
    text = files("ridgeline.settings").joinpath(DATA_FILE).read_text(encoding="utf-8")
    return parse_catalogue(yaml.safe_load(text))


def parse_catalogue(content: object) -> Catalogue:
    """Return the catalogue that a data file holds.

    Raises:
        ValueError: A row is not as it must be, or two have one name.
    """
    data = _File.model_validate(content)
    entries = tuple(_entry(row, data.sources) for row in data.accelerators)
    names = [each.accelerator.name for each in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two rows have the name {twice[0]!r}: rename one")
    return Catalogue(
        entries=entries, fractional_instance_types=data.fractional_instance_types, refused={}
    )


def _entry(row: _Row, sources: Mapping[str, str]) -> Entry:
    if row.source not in sources:
        raise ValueError(f"{row.name}: source {row.source!r} is not described under `sources`")
    figures = row.model_dump(exclude={"labels", "compute_capability", "mig", "source", "as_of"})
    return Entry(
        accelerator=Accelerator(**figures, source=sources[row.source], as_of=row.as_of.isoformat()),
        labels=LabelForms(**row.labels.model_dump()),
        compute_capability=row.compute_capability,
        mig=row.mig,
    )


def _overlaid(known: Entry | None, override: AcceleratorOverride) -> Entry:
    if known is None:
        accelerator, labels = _new(override), LabelForms(claimed=override.product_names)
        return Entry(accelerator=accelerator, labels=labels)
    labels = replace(known.labels, claimed=known.labels.claimed + override.product_names)
    return replace(known, accelerator=_changed(known.accelerator, override), labels=labels)


def _new(override: AcceleratorOverride) -> Accelerator:
    needed = {
        "memoryBandwidthGBps": override.bandwidth_gb_s,
        "denseBF16TFLOPS": override.bf16_tflops,
    }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise ValueError(
            f"the catalogue has no {override.name!r} to take {' and '.join(missing)} from: "
            "set them, or use a name of the catalogue"
        )
    return Accelerator(
        name=override.name,
        memory_gib=_or(override.memory_gib, _MEMORY_NOT_TOLD),
        bandwidth_gb_s=_or(override.bandwidth_gb_s, 0.0),
        bf16_tflops=_or(override.bf16_tflops, 0.0),
        fp8_tflops=override.fp8_tflops,
        fp4_tflops=override.fp4_tflops,
        # Not told is taken for PCIe, the slowest: it doubts more than NVLink would.
        link=override.link or Link.PCIE,
        link_gb_s=_or(override.link_gb_s, _PCIE4_GB_S),
        native_fp8=_native_fp8(override, default=override.fp8_tflops is not None),
        source=f"AcceleratorProfile {override.name}",
        as_of="",
        checked=True,
        ridge_tokens=override.ridge_tokens,
        measured=override.measured,
    )


_PCIE4_GB_S: Final = 32.0
"""PCIe 4.0 with 16 lanes in one direction."""

_MEMORY_NOT_TOLD: Final = 1.0
"""The cut-offs do not look at memory; one GiB shows that nobody told it."""


def _changed(known: Accelerator, override: AcceleratorOverride) -> Accelerator:
    measured = override.bandwidth_gb_s is not None and override.bf16_tflops is not None
    fp8 = override.fp8_tflops if override.fp8_tflops is not None else known.fp8_tflops
    native = _native_fp8(override, default=known.native_fp8 or override.fp8_tflops is not None)
    return replace(
        known,
        memory_gib=_or(override.memory_gib, known.memory_gib),
        bandwidth_gb_s=_or(override.bandwidth_gb_s, known.bandwidth_gb_s),
        bf16_tflops=_or(override.bf16_tflops, known.bf16_tflops),
        fp8_tflops=fp8 if native else None,
        fp4_tflops=override.fp4_tflops if override.fp4_tflops is not None else known.fp4_tflops,
        link=override.link or known.link,
        link_gb_s=_or(override.link_gb_s, known.link_gb_s),
        link_span=None if override.link else known.link_span,
        native_fp8=native,
        source=f"AcceleratorProfile {override.name} over: {known.source}",
        checked=known.checked or measured,
        ridge_tokens=(
            override.ridge_tokens if override.ridge_tokens is not None else known.ridge_tokens
        ),
        measured=override.measured or known.measured,
    )


def _native_fp8(override: AcceleratorOverride, *, default: bool) -> bool:
    return default if override.native_fp8 is None else override.native_fp8


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)
