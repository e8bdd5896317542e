"""MIG slices: a part of a GPU with its share of the arithmetic, the memory and its bandwidth.

A profile `3g.40gb` names 3 parts of the arithmetic and, by its memory, 4 of the 8 parts of an 80 GB
GPU's memory, each with its own share of the bandwidth (NVIDIA MIG User Guide, supported profiles).
Slices reach no other slice: tensor parallelism ends at 1.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.terms.links import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class MigParts:
    """Parts that MIG divides a GPU into.

    Attributes:
        compute: Of the arithmetic.
        memory: Of the memory and its bandwidth.
    """

    compute: int
    memory: int


_NAME: Final = re.compile(
    r"(?P<whole>.+)-mig-(?P<profile>[1-9]g\.[0-9]{1,3}gb)(?:[.+-]me(?:\.all)?)?", re.IGNORECASE
)
"""A name with a profile; `me` (media engines) changes nothing here."""

_PROFILE: Final = re.compile(r"(?P<compute>[1-9])g\.(?P<gb>[0-9]{1,3})gb", re.IGNORECASE)

_TOLERANCE: Final = 0.1
"""Profiles round their memory to whole GB: 12 for a part of 11.75, 18 for one of 17.6."""


def name_and_profile(name: str) -> tuple[str, str] | None:
    """Split `h100-sxm-mig-3g.40gb` into GPU and profile; `None` where no slice is named."""
    found = _NAME.fullmatch(name.strip())
    return (found["whole"], found["profile"].casefold()) if found else None


def mig_slice(whole: Accelerator, parts: MigParts | None, profile: str) -> Accelerator | None:
    """Return a slice as a GPU of its own; `None` where the GPU has no such profile."""
    found = _PROFILE.fullmatch(profile.strip())
    if found is None or parts is None:
        return None
    compute, gigabytes = int(found["compute"]), int(found["gb"])
    part = whole.memory_gib / parts.memory
    memory = round(gigabytes / part)
    fits = abs(gigabytes - memory * part) <= _TOLERANCE * memory * part
    if not (compute <= parts.compute and 1 <= memory <= parts.memory and fits):
        return None
    arithmetic = compute / parts.compute
    share = memory / parts.memory
    return replace(
        whole,
        name=f"{whole.name}-mig-{profile.strip().casefold()}",
        memory_gib=whole.memory_gib * share,
        bandwidth_gb_s=whole.bandwidth_gb_s * share,
        bf16_tflops=whole.bf16_tflops * arithmetic,
        fp8_tflops=_scaled(whole.fp8_tflops, arithmetic),
        fp4_tflops=_scaled(whole.fp4_tflops, arithmetic),
        link=Link.NONE,
        link_gb_s=0.0,
        link_span=None,
        ridge_tokens=None,
        source=f"{compute}/{parts.compute} of the arithmetic and {memory}/{parts.memory} of the "
        f"memory of {whole.name}: {whole.source}",
    )


def _scaled(rate: float | None, share: float) -> float | None:
    return None if rate is None else rate * share
