"""The kinds of values that fields have, each bounded as the API server's cost limit asks."""

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    StrictBool,
    StrictInt,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ridgeline.api.rules import VALIDATIONS, Rule

UNSET_MEANS: Final = "x-ridgeline-unset-means"
"""Schema key, for the docs only: what `settings` puts in where a field is not set."""

LABEL_LENGTH: Final = 63
"""Longest DNS label (RFC 1123), and longest value of a Kubernetes label."""


class ApiModel(BaseModel):
    """A part of a resource: frozen, camelCase outside and snake_case inside.

    `RULES` holds the rules that see several fields of the object; they are part of its schema.
    """

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        extra="ignore",
    )
    RULES: ClassVar[tuple[Rule[Any], ...]] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for rule in self.RULES:
            rule.check(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(schema)
        if cls.RULES:
            own = handler.resolve_ref_schema(reference)
            own[VALIDATIONS] = [rule.validation() for rule in cls.RULES]
        return reference

    def document(self) -> dict[str, Any]:
        """Return the object as the API server takes it: JSON values, nothing unset."""
        return self.model_dump(mode="json", exclude_none=True)


def when_not_set(meaning: object) -> str:
    """Return the sentence that ends the description of a field which `settings` resolves."""
    return f" When not set: {meaning}."


def resolved(description: str, *, unset_means: object) -> Any:
    """Describe an optional field that has no schema default and is resolved by `settings`.

    Args:
        description: What the field means.
        unset_means: What holds while nobody sets it.
    """
    return Field(
        default=None,
        description=description + when_not_set(unset_means),
        json_schema_extra={UNSET_MEANS: str(unset_means)},
    )


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Timestamp = Annotated[AwareDatetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""A moment; written in UTC and whole seconds, as the API server writes its own."""

DnsLabel = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=LABEL_LENGTH, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
    ),
]
DnsSubdomain = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
]
ModelReference = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=512, pattern=r"^[A-Za-z0-9._/][A-Za-z0-9._/:@+=,-]*$"
    ),
]
"""A Hugging Face id, a path or a URI. The kubelet would expand `$(…)` in an env item's value into
other variables of the container, so `$` and brackets are no part of it."""

ReasonName = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    ),
]
"""The shape of a reason in metav1.Condition. Not the enum: an older operator must be able to read
what a newer one wrote."""

Message = Annotated[str, StringConstraints(max_length=32768)]
"""The bound of metav1.Condition."""

Bool = StrictBool
_INT32: Final = {"format": "int32"}
_INT64: Final = {"format": "int64"}
Lookahead = Annotated[StrictInt, Field(ge=1, le=32, json_schema_extra=_INT32)]
PromptLookup = Annotated[StrictInt, Field(ge=1, le=32, json_schema_extra=_INT32)]
Concurrency = Annotated[StrictInt, Field(ge=1, le=100_000, json_schema_extra=_INT32)]
DwellSeconds = Annotated[StrictInt, Field(ge=0, le=86_400, json_schema_extra=_INT32)]
CooldownSeconds = Annotated[StrictInt, Field(ge=0, le=604_800, json_schema_extra=_INT32)]
SwitchesPerDay = Annotated[StrictInt, Field(ge=1, le=10, json_schema_extra=_INT32)]
AcceptancePercent = Annotated[StrictInt, Field(ge=0, le=100, json_schema_extra=_INT32)]
ModelSize = Annotated[StrictInt, Field(ge=1, le=100_000_000, json_schema_extra=_INT32)]
"""A width, a count or a number of millions of some model's parts."""
Count = Annotated[StrictInt, Field(ge=0, le=2**31 - 1, json_schema_extra=_INT32)]
Generation = Annotated[StrictInt, Field(ge=0, json_schema_extra=_INT64)]
