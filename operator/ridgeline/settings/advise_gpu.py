"""A GPU by the name that people use in talk: `H100` is a family with several members."""

import difflib
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.settings.catalogue import Catalogue, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGpu:
    """A GPU that a person named.

    Attributes:
        accelerator: The GPU.
        note: What a person should know of how the name was read; empty for an exact name.
    """

    accelerator: Accelerator
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownGpu:
    """A name that no GPU has.

    Attributes:
        name: The name.
        nearest: Names of the catalogue that look like it, the likest first.
        message: The same for a person, with what to fill in.
    """

    name: str
    nearest: tuple[str, ...]
    message: str


TO_FILL_IN: Final = "memoryGiB, memoryBandwidthGBps, denseBF16TFLOPS"
"""Fields of an AcceleratorProfile without which a new GPU cannot be reckoned with."""


_SHOWN: Final = 3
_ALIKE: Final = 0.6


def gpu_of(name: str, catalogue: Catalogue) -> FoundGpu | UnknownGpu:
    """Return the GPU of a name, of a node label, or the first member of a family.

    Args:
        name: What a person wrote.
        catalogue: The GPUs that are known.
    """
    exact = catalogue.named(name)
    if exact is not None:
        return FoundGpu(accelerator=exact)
    family = family_of(name, catalogue)
    found = catalogue.named(family[0]) if family else None
    if found is not None:
        others = ", ".join(family[1:])
        note = f"{name} is taken for {found.name}" + (
            f"; the catalogue has {others} as well" if others else ""
        )
        return FoundGpu(accelerator=found, note=note)
    return _unknown(name, catalogue)


def family_of(name: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the members of a family that a name is of: `H100` has h100-sxm and others."""
    start = f"{plain(name)}-"
    return tuple(each for each in catalogue.names if plain(each).startswith(start))


def _likeness(wanted: str, name: str) -> float:
    """Return how like two names are, 0 to 1: as a whole, or the family of one of them."""
    return max(
        difflib.SequenceMatcher(None, wanted, each).ratio()
        for each in (name, name.partition("-")[0])
    )


def _unknown(name: str, catalogue: Catalogue) -> UnknownGpu:
    wanted = plain(name)
    likeness = {each: _likeness(wanted, plain(each)) for each in catalogue.names}
    ranked = sorted(catalogue.names, key=lambda each: -likeness[each])
    nearest = tuple(each for each in ranked[:_SHOWN] if likeness[each] >= _ALIKE)
    like = f"; nearest are {', '.join(nearest)}" if nearest else ""
    refused = catalogue.refused.get(wanted)
    return UnknownGpu(
        name=name,
        nearest=nearest,
        message=refused
        or f"the catalogue has no GPU {name!r}{like}; take one of them, or describe yours in an "
        f"AcceleratorProfile (fill in {TO_FILL_IN} from its data sheet, and link for more "
        "than one GPU)",
    )
