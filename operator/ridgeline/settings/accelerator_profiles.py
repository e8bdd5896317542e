"""An AcceleratorProfile as the watch store holds it → what the catalogue takes."""

from collections.abc import Mapping
from typing import Any

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.errors import InvalidAccelerator
from ridgeline.policy.facts import Problem
from ridgeline.settings.catalogue import AcceleratorOverride, override_of
from ridgeline.terms.names import ACCELERATOR_KIND
from ridgeline.terms.reasons import Reason


def named_override(name: str, spec: Mapping[str, Any]) -> AcceleratorOverride | Problem:
    """Return what an AcceleratorProfile says, or why it cannot be read.

    Args:
        name: Its name, the one of the GPU.
        spec: Its spec as the API server gives it.
    """
    try:
        return override_of(parse_accelerator({"metadata": {"name": name}, "spec": spec}))
    except InvalidAccelerator as refused:
        return Problem(reason=Reason.SPEC_INVALID, message=f"{ACCELERATOR_KIND} {name}: {refused}")
