"""Which GPU a node has, by its labels: pure, and never a guess that does not say so.

Asked in this order, the first that names a GPU of the catalogue decides:

1. a name that an AcceleratorProfile gives, on any label below;
2. the maker's labeller: `nvidia.com/gpu.product`, `amd.com/gpu.product-name` and its older forms;
3. the cloud's label: `cloud.google.com/gke-accelerator`, `karpenter.k8s.aws/instance-gpu-name`;
4. the instance type;
5. the CUDA compute capability: the GPU of that family with the lowest knee, to recommend only.

Where one name stands for several GPUs, the memory label tells them apart. A shared or sliced GPU is
never taken for a whole one: after 1 nothing but a person can say what a part of a GPU is worth, or,
where the caller asks for it, the profile of a MIG slice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerator_slices import mig_slice, name_and_profile
from ridgeline.settings.catalogue import Catalogue, Entry, plain, plain_amd
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason

HOSTNAME: Final = "kubernetes.io/hostname"

_PRODUCT: Final = "nvidia.com/gpu.product"
_MEMORY: Final = "nvidia.com/gpu.memory"
_SHARING: Final = "nvidia.com/gpu.sharing-strategy"
_REPLICAS: Final = "nvidia.com/gpu.replicas"
_VGPU: Final = "nvidia.com/vgpu.present"
_MAJOR: Final = "nvidia.com/gpu.compute.major"
_MINOR: Final = "nvidia.com/gpu.compute.minor"
_GKE: Final = "cloud.google.com/gke-accelerator"
_GKE_PARTITION: Final = "cloud.google.com/gke-gpu-partition-size"
_GKE_SHARING: Final = "cloud.google.com/gke-gpu-sharing-strategy"
_GKE_CLIENTS: Final = "cloud.google.com/gke-max-shared-clients-per-gpu"
_KARPENTER: Final = "karpenter.k8s.aws/instance-gpu-name"
_KARPENTER_MEMORY: Final = "karpenter.k8s.aws/instance-gpu-memory"
_AMD: Final = ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
_AMD_VRAM: Final = ("amd.com/gpu.vram", "beta.amd.com/gpu.vram")
_AMD_PARTITION: Final = "amd.com/compute-memory-partition"
_INSTANCE_TYPES: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")

_NAMING: Final = (_PRODUCT, *_AMD, _GKE, _KARPENTER, *_INSTANCE_TYPES)
_WHOLE_WHEN: Final[dict[str, tuple[str, ...]]] = {
    _SHARING: ("", "none"),
    _REPLICAS: ("", "0", "1"),
    _VGPU: ("", "false"),
    _GKE_PARTITION: ("",),
    _GKE_SHARING: ("", "none"),
    _GKE_CLIENTS: ("", "0", "1"),
}
"""Values of these labels that leave the GPU whole."""

_MEMORIES: Final = (_MEMORY, _KARPENTER_MEMORY, *_AMD_VRAM)
_LOOKED_AT: Final = frozenset(
    (*_NAMING, *_WHOLE_WHEN, *_MEMORIES, _MAJOR, _MINOR, _AMD_PARTITION),
)
_MIG_PREFIX: Final = "nvidia.com/mig-"
_AMD_COUNTED: Final = tuple(f"{key}." for key in _AMD)
"""An older labeller puts the name into the key, `….product-name.NAME`, and a count as the value."""

_PREFIXES: Final = (_MIG_PREFIX, *_AMD_COUNTED)

_MEMORY_TOLERANCE: Final = 0.1
"""Labels tell memory less what error correction and firmware take, up to 8 % (T4, L4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The GPU of a node.

    Attributes:
        accelerator: The GPU.
        label: What told it, as `key=value`.
        certain: Whether it may be acted on; else it is a family's default, to recommend only.
        notes: What a person should know about how it was found.
    """

    accelerator: Accelerator
    label: str
    certain: bool = True
    notes: tuple[str, ...] = ()


def identify(
    labels: Mapping[str, str], catalogue: Catalogue, *, scale_slices: bool = False
) -> Found | Problem:
    """Return the GPU of a node, or why it is not known.

    Args:
        labels: Labels of the node.
        catalogue: The GPUs that are known.
        scale_slices: Take a MIG slice for a small GPU of its own, with its share of the whole
            one's figures, instead of refusing it as a part.
    """
    return _identify(frozenset(gpu_labels(labels).items()), catalogue, scale_slices)


def gpu_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that say something about GPUs."""
    told = {key: labels[key] for key in labels.keys() & _LOOKED_AT}
    told.update({key: labels[key] for key in labels if key.startswith(_PREFIXES)})
    return told


@lru_cache(maxsize=1024)  # a fleet has few kinds of nodes, and each is asked for every tick
def _identify(
    items: frozenset[tuple[str, str]], catalogue: Catalogue, scale_slices: bool
) -> Found | Problem:
    labels = _with_amd_names(dict(sorted(items)))
    known = _claimed(labels, catalogue)
    if known is None and scale_slices:
        known = _slice(labels, catalogue)
    if known is not None:
        return known
    shared = _shared(labels, catalogue)
    if shared:
        return Problem(
            reason=Reason.ACCELERATOR_SHARED,
            message=f"{shared}: a part of a GPU has not the figures of the whole "
            f"(found {_shown(labels)}); {_PART_WAY_OUT}",
        )
    notes: list[str] = []
    for key in _NAMING:
        if key not in labels:
            continue
        candidates = _called(key, labels[key], catalogue)
        if candidates:
            return _told_apart(candidates, key, labels, tuple(notes))
        if key not in _INSTANCE_TYPES:
            notes.append(f"{key}={labels[key]} names no GPU of the catalogue")
    return _by_family(labels, catalogue, tuple(notes)) or Problem(
        reason=Reason.ACCELERATOR_UNKNOWN,
        message=f"no label of the node names a GPU of the catalogue (found {_shown(labels)}); "
        f"{_WAY_OUT}",
    )


_WAY_OUT: Final = "set spec.accelerator, or add an AcceleratorProfile that matches the label"
_PART_WAY_OUT: Final = (
    "describe the part in an AcceleratorProfile and name it in spec.accelerator, or give it whole "
    "GPUs"
)


def _with_amd_names(labels: dict[str, str]) -> dict[str, str]:
    """Turn `….product-name.NAME=8` into `….product-name=NAME`."""
    for counted, key in zip(_AMD_COUNTED, _AMD, strict=True):
        names = [each.removeprefix(counted) for each in labels if each.startswith(counted)]
        if len(names) == 1:
            labels.setdefault(key, names[0])
    return labels


def _claimed(labels: Mapping[str, str], catalogue: Catalogue) -> Found | None:
    for key in _NAMING:
        for entry in catalogue.entries if key in labels else ():
            if plain(labels[key]) in map(plain, entry.labels.claimed):
                note = f"AcceleratorProfile {entry.accelerator.name} claims {key}={labels[key]}"
                return Found(
                    accelerator=entry.accelerator, label=f"{key}={labels[key]}", notes=(note,)
                )
    return None


def _shared(labels: Mapping[str, str], catalogue: Catalogue) -> str | None:
    """Return what says that GPUs of the node are shared or sliced."""
    product = labels.get(_PRODUCT, "").upper()
    if "-MIG-" in product:
        return "the GPU is sliced (MIG)"
    if product.endswith("-SHARED"):
        return "the GPU is shared"
    for key, whole in _WHOLE_WHEN.items():
        if key in labels and labels[key].strip().casefold() not in whole:
            return f"{key}={labels[key]} says that the GPU is shared or sliced"
    for key in labels:
        if key.startswith(_MIG_PREFIX) and key.endswith(".count") and labels[key] != "0":
            return f"the node has MIG slices ({key}={labels[key]})"
    if _AMD_PARTITION in labels and not labels[_AMD_PARTITION].casefold().startswith("spx"):
        return f"{_AMD_PARTITION}={labels[_AMD_PARTITION]} says that the GPU is partitioned"
    for key in _INSTANCE_TYPES:
        if _begins(labels.get(key, ""), catalogue.fractional_instance_types):
            return f"{key}={labels[key]} has a part of a GPU"
    return None


def _slice(labels: Mapping[str, str], catalogue: Catalogue) -> Found | None:
    """Return the MIG slice that the labels name; `None` for none, or one that is shared again."""
    whole = dict(labels)
    key, parted = _PRODUCT, name_and_profile(labels.get(_PRODUCT, ""))
    if parted is not None:
        whole[_PRODUCT] = parted[0]
    elif labels.get(_GKE_PARTITION):
        key, parted = _GKE, (labels.get(_GKE, ""), labels[_GKE_PARTITION])
        del whole[_GKE_PARTITION]
    if parted is None or _shared(whole, catalogue):
        return None
    candidates = _called(key, parted[0], catalogue)
    if len(candidates) != 1:
        return None
    entry = candidates[0]
    sliced = mig_slice(entry.accelerator, entry.mig, parted[1])
    if sliced is None:
        return None
    return Found(
        accelerator=sliced,
        label=f"{key}={labels[key]}",
        notes=(f"{sliced.name} is a slice: {sliced.source}",),
    )


def _called(key: str, value: str, catalogue: Catalogue) -> tuple[Entry, ...]:
    return tuple(each for each in catalogue.entries if _is_called(each, key, value))


def _is_called(entry: Entry, key: str, value: str) -> bool:
    forms = entry.labels
    if key in _INSTANCE_TYPES:
        return _begins(value, forms.instance_types)
    if key in _AMD:
        return plain_amd(value) in map(plain_amd, forms.amd)
    known = {_PRODUCT: forms.nvidia, _GKE: forms.gke, _KARPENTER: forms.karpenter}[key]
    return plain(value) in map(plain, known)


def _begins(instance_type: str, known: Sequence[str]) -> bool:
    """Whether an instance type is a known one, or of a known family (`p5.48xlarge`: `p5`)."""
    value = plain(instance_type)
    family = value.partition(".")[0]
    forms = [plain(each) for each in known]
    return any(value == form or family == form or value.startswith(f"{form}-") for form in forms)


def _told_apart(
    candidates: Sequence[Entry], key: str, labels: Mapping[str, str], notes: tuple[str, ...]
) -> Found | Problem:
    """Take the candidate whose memory the node tells."""
    label = f"{key}={labels[key]}"
    memory = _memory_gib(key, labels)
    fitting = [each for each in candidates if memory is None or _fits(each, memory)]
    if len(fitting) == 1:
        told = tuple(f"{note}; {label} does" for note in notes)
        return Found(accelerator=fitting[0].accelerator, label=label, notes=told)
    names = " or ".join(each.accelerator.name for each in candidates)
    if memory is not None and all(memory < _least_gib(each) for each in candidates):
        return Problem(
            reason=Reason.ACCELERATOR_SHARED,
            message=f"the node tells {memory:.1f} GiB, less than {names} has: a part of a GPU "
            f"(found {_shown(labels)}); {_PART_WAY_OUT}",
        )
    told_memory = "no memory label" if memory is None else f"{memory:.1f} GiB"
    return Problem(
        reason=Reason.ACCELERATOR_UNKNOWN,
        message=f"{label} may be {names}, and {told_memory} does not tell which "
        f"(found {_shown(labels)}); {_WAY_OUT}",
    )


def _fits(entry: Entry, memory_gib: float) -> bool:
    known = entry.accelerator.memory_gib
    return _least_gib(entry) <= memory_gib <= known * (1 + _MEMORY_TOLERANCE)


def _least_gib(entry: Entry) -> float:
    return entry.accelerator.memory_gib * (1 - _MEMORY_TOLERANCE)


def _memory_gib(key: str, labels: Mapping[str, str]) -> float | None:
    """Return the memory of one GPU that the node tells: MiB, or `192G` on AMD."""
    if key in _AMD:
        text = next((labels[each] for each in _AMD_VRAM if each in labels), "")
        number = text.upper().removesuffix("IB").removesuffix("B").removesuffix("G")
        return float(number) if number.isdecimal() and number.isascii() else None
    own = labels.get(_KARPENTER_MEMORY) if key == _KARPENTER else None
    text = own or labels.get(_MEMORY, "")
    return int(text) / 1024 if text.isdecimal() and text.isascii() and text != "0" else None


def _by_family(
    labels: Mapping[str, str], catalogue: Catalogue, notes: tuple[str, ...]
) -> Found | None:
    """Take the GPU of the node's compute capability (and memory) that has the lowest knee."""
    if _MAJOR not in labels:
        return None
    capability = f"{labels[_MAJOR]}.{labels.get(_MINOR, '0')}"
    memory = _memory_gib(_PRODUCT, labels)
    family = [
        each.accelerator
        for each in catalogue.entries
        if each.compute_capability == capability and (memory is None or _fits(each, memory))
    ]
    if not family:
        return None
    lowest = min(family, key=lambda each: (each.knee_tokens(Precision.BF16), each.name))
    return Found(
        accelerator=lowest,
        label=f"compute capability {capability}",
        certain=False,
        notes=(
            *notes,
            f"only the compute capability {capability} tells the GPU (found {_shown(labels)}): "
            f"taken for {lowest.name}, the one of its family with the lowest knee, to recommend "
            f"only; {_WAY_OUT}",
        ),
    )


def _shown(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no GPU label"
