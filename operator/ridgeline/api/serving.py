"""SpeculativeServing as a whole, and how a body from the API server or a file is read."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import Field, ValidationError

from ridgeline.api.cutoff import Cutoff, CutoffRange
from ridgeline.api.errors import InvalidServing, invalid_servings
from ridgeline.api.fields import ApiModel, Timestamp
from ridgeline.api.profiles import Profile
from ridgeline.api.spec import Injection, SpeculativeServingSpec, StabilizationPolicy, TargetRef
from ridgeline.api.status import (
    Condition,
    CutoffTableRow,
    LastDecision,
    RolloutStatus,
    SpeculativeServingStatus,
    SwitchRecord,
    TargetStatus,
)
from ridgeline.terms.names import API_VERSION, SERVING_KIND

__all__ = [
    "Condition",
    "Cutoff",
    "CutoffRange",
    "CutoffTableRow",
    "Injection",
    "InvalidServing",
    "LastDecision",
    "ObjectMeta",
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


class ApiVersion(StrEnum):
    """API versions that this operator reads."""

    V1ALPHA1 = API_VERSION


class Kind(StrEnum):
    """Kinds that are read here."""

    SPECULATIVE_SERVING = SERVING_KIND


class ObjectMeta(ApiModel):
    """What the operator needs of an object's metadata.

    A body from a file carries a name at most; `uid` and `resource_version` are empty and
    `generation` is 0 then.
    """

    name: str = Field(min_length=1)
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None


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
    try:
        return _validated(body, strict=strict)
    except ValidationError as error:
        raise invalid_servings(error)[0] from None


def invalid_fields(body: Mapping[str, Any], *, strict: bool = False) -> tuple[InvalidServing, ...]:
    """Return every finding about a serving; none when `parse_serving` would read it."""
    try:
        _validated(body, strict=strict)
    except ValidationError as error:
        return invalid_servings(error)
    return ()


def _validated(body: Mapping[str, Any], *, strict: bool) -> SpeculativeServing:
    return SpeculativeServing.model_validate(
        _with_known_metadata(body),
        extra="forbid" if strict else "ignore",
        by_alias=True,
        by_name=False,
    )


def _with_known_metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the metadata that belongs to Kubernetes and is none of ours to check."""
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(body)
    return {**body, "metadata": {key: metadata[key] for key in _METADATA if key in metadata}}


_METADATA: Final = tuple(field.alias or "" for field in ObjectMeta.model_fields.values())
