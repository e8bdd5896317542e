"""The accelerator of a serving: what a person named, else what its Pods' nodes have."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.policy.facts import Problem
from ridgeline.settings.catalogue import (
    AcceleratorOverride,
    Catalogue,
    load_catalogue,
    override_of,
    plain,
)
from ridgeline.settings.node_labels import HOSTNAME, Found, identify
from ridgeline.terms.reasons import Reason

__all__ = [
    "AcceleratorOverride",
    "Catalogue",
    "ResolvedAccelerator",
    "load_catalogue",
    "override_of",
    "resolve_accelerator",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAccelerator:
    """The accelerator of a serving, and how it is known.

    Attributes:
        accelerator: The GPU, undivided, or a MIG slice of one.
        found_by: `spec.accelerator`, or the node label that told it.
        certain: Whether it may be acted on; `False` means recommend only.
        reasons: What a person should know, such as figures that nobody checked.
    """

    accelerator: Accelerator
    found_by: str
    certain: bool = True
    reasons: tuple[str, ...] = ()


def resolve_accelerator(
    nodes_labels: Sequence[Mapping[str, str]],
    catalogue: Catalogue,
    override: str | None,
    *,
    scale_slices: bool = False,
) -> ResolvedAccelerator | Problem:
    """Return the accelerator of a serving, or why it is not known.

    Args:
        nodes_labels: Labels of the nodes that the target's Pods run on, one mapping a Pod or a
            node; empty when no node could be read.
        catalogue: The GPUs that are known.
        override: `spec.accelerator`; it wins over every label, shared and mixed GPUs included.
        scale_slices: Take a MIG slice for a small GPU of its own instead of refusing it.
    """
    if override is not None:
        return _named(override, catalogue)
    if not nodes_labels:
        return Problem(
            reason=Reason.ACCELERATOR_NOT_READABLE,
            message="spec.accelerator is not set, and no node of the target's Pods can be read (no "
            "right to read nodes, or no Pod is bound to one): set spec.accelerator to one of "
            f"{_names(catalogue)}, or let the operator's account list nodes",
        )
    found: dict[str, Found] = {}
    nodes: dict[str, set[str]] = defaultdict(set)
    for labels in nodes_labels:
        one = identify(labels, catalogue, scale_slices=scale_slices)
        node = labels.get(HOSTNAME, "")
        if isinstance(one, Problem):
            where = f"node {node}: " if node else ""
            return Problem(reason=one.reason, message=where + one.message)
        name = one.accelerator.name
        # What is less certain speaks for its type.
        if name not in found or found[name].certain:
            found[name] = one
        nodes[name].add(node)
    if len(found) > 1:
        return _mixed(nodes)
    only = next(iter(found.values()))
    return _resolved(only.accelerator, only.label, catalogue, only.notes, certain=only.certain)


def _named(override: str, catalogue: Catalogue) -> ResolvedAccelerator | Problem:
    accelerator = catalogue.named(override)
    if accelerator is not None:
        return _resolved(accelerator, "spec.accelerator", catalogue, ())
    refused = catalogue.refused.get(plain(override))
    return Problem(
        reason=Reason.ACCELERATOR_UNKNOWN,
        message=refused
        or f"spec.accelerator: the catalogue has no {override!r}; use one of {_names(catalogue)}, "
        "or add an AcceleratorProfile of that name",
    )


def _resolved(
    accelerator: Accelerator,
    found_by: str,
    catalogue: Catalogue,
    notes: tuple[str, ...],
    *,
    certain: bool = True,
) -> ResolvedAccelerator:
    reasons = list(notes)
    if not accelerator.checked:
        reasons.append(
            f"the figures of {accelerator.name} are {accelerator.source} and were not checked: "
            "an AcceleratorProfile of that name replaces them"
        )
    refused = catalogue.refused.get(plain(accelerator.name))
    if refused:
        reasons.append(f"{refused}; the catalogue's own figures stand, to recommend only")
    return ResolvedAccelerator(
        accelerator=accelerator,
        found_by=found_by,
        certain=certain and not refused,
        reasons=tuple(reasons),
    )


def _mixed(nodes: Mapping[str, set[str]]) -> Problem:
    told = "; ".join(f"{name} {_on(nodes[name])}".rstrip() for name in sorted(nodes))
    return Problem(
        reason=Reason.ACCELERATOR_MIXED,
        message=f"the target's Pods run on several types of GPU, each with a cut-off of its own: "
        f"{told}; pin the Deployment to one type with a nodeSelector, or set spec.accelerator to "
        "the one whose cut-off all shall follow",
    )


_NODES_SHOWN = 3


def _on(names: set[str]) -> str:
    """Name the first nodes and count the rest."""
    known = sorted(names - {""})
    if not known:
        return ""
    more = len(known) - _NODES_SHOWN
    return f"on {', '.join(known[:_NODES_SHOWN])}" + (f" and {more} more" if more > 0 else "")


def _names(catalogue: Catalogue) -> str:
    return ", ".join(catalogue.names)
