"""SpeculativeServing as a whole."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from ridgeline.api.cutoff import Cutoff, CutoffRange
from ridgeline.api.errors import InvalidObject, InvalidServing
from ridgeline.api.fields import ApiModel
from ridgeline.api.objects import ApiVersion, ObjectMeta, findings_of, read_object
from ridgeline.api.profiles import Profile
from ridgeline.api.roll_status import RolloutStatus
from ridgeline.api.spec import Injection, Model, PolicyRef, SpeculativeServingSpec, TargetRef
from ridgeline.api.status import (
    AcceleratorStatus,
    Condition,
    CutoffStatus,
    CutoffTableRow,
    LastDecision,
    NextSchedule,
    PolicyStatus,
    SpeculativeServingStatus,
    SwitchRecord,
    TargetStatus,
)
from ridgeline.api.tuning import StabilizationPolicy
from ridgeline.terms.names import SERVING_KIND

__all__ = [
    "AcceleratorStatus",
    "Condition",
    "Cutoff",
    "CutoffRange",
    "CutoffStatus",
    "CutoffTableRow",
    "Injection",
    "InvalidServing",
    "LastDecision",
    "Model",
    "NextSchedule",
    "ObjectMeta",
    "PolicyRef",
    "PolicyStatus",
    "Profile",
    "RolloutStatus",
    "SpeculativeServing",
    "SpeculativeServingSpec",
    "SpeculativeServingStatus",
    "StabilizationPolicy",
    "SwitchRecord",
    "TargetRef",
    "TargetStatus",
    "invalid_fields",
    "parse_serving",
]


class Kind(StrEnum):
    """Kinds that are read here."""

    SPECULATIVE_SERVING = SERVING_KIND


class SpeculativeServing(ApiModel):
    """One target, its profiles, when to use which, and what the operator sees of it."""

    api_version: ApiVersion = ApiVersion.V1ALPHA1
    kind: Kind = Kind.SPECULATIVE_SERVING
    metadata: ObjectMeta
    spec: SpeculativeServingSpec
    status: SpeculativeServingStatus = Field(default_factory=SpeculativeServingStatus)


def parse_serving(body: Mapping[str, Any], *, strict: bool = False) -> SpeculativeServing:
    """Read a serving.

    Args:
        body: The object as the API server or a YAML file gives it.
        strict: Refuse unknown fields (lint). Otherwise they are ignored, so that an operator
            tolerates the fields of a newer one.

    Raises:
        InvalidServing: On the first field that holds what it must not.
    """
    return read_object(SpeculativeServing, InvalidServing, body, strict=strict)


def invalid_fields(body: Mapping[str, Any], *, strict: bool = False) -> tuple[InvalidObject, ...]:
    """Return every finding about a serving; none when `parse_serving` would read it."""
    return findings_of(SpeculativeServing, InvalidServing, body, strict=strict)
