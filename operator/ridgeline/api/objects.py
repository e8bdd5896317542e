"""What all kinds share: their metadata, and how a body from the API server or a file is read."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from pydantic import Field, ValidationError

from ridgeline.api.errors import InvalidObject, invalid_objects
from ridgeline.api.fields import ApiModel, Timestamp
from ridgeline.terms.names import API_VERSION


class ApiVersion(StrEnum):
    """API versions that this operator reads."""

    V1ALPHA1 = API_VERSION


class ObjectMeta(ApiModel):
    """What the operator needs of an object's metadata.

    A body from a file carries a name at most; `uid` and `resource_version` are empty and
    `generation` is 0 then. The namespace of a cluster-scoped object is empty.
    """

    name: str = Field(min_length=1)
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None


Object = TypeVar("Object", bound=ApiModel)


def read_object(
    model: type[Object], refusal: type[InvalidObject], body: Mapping[str, Any], *, strict: bool
) -> Object:
    """Read an object of a kind.

    Args:
        model: The kind's model.
        refusal: What is raised when the body is none of that kind.
        body: The object as the API server or a YAML file gives it.
        strict: Refuse unknown fields.

    Raises:
        InvalidObject: Of the type `refusal`, on the first field that holds what it must not.
    """
    try:
        return _validated(model, body, strict=strict)
    except ValidationError as error:
        raise invalid_objects(error, refusal)[0] from None


def findings_of(
    model: type[ApiModel], refusal: type[InvalidObject], body: Mapping[str, Any], *, strict: bool
) -> tuple[InvalidObject, ...]:
    """Return every finding about an object; none when `read_object` would read it."""
    try:
        _validated(model, body, strict=strict)
    except ValidationError as error:
        return invalid_objects(error, refusal)
    return ()


def _validated(model: type[Object], body: Mapping[str, Any], *, strict: bool) -> Object:
    return model.model_validate(
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
