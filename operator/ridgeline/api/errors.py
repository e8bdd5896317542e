"""An object that cannot be read, in one message for a person."""

import json
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_SHOWN_CHARACTERS: Final = 120

_RFC3339: Final = "use a time with its zone, like 2026-01-31T12:00:00Z"

_WAYS_OUT: Final = {
    "missing": "set it",
    "extra_forbidden": "remove it, or correct its spelling",
    "enum": "use {expected}",
    "literal_error": "use {expected}",
    "int_type": "use a whole number",
    "bool_type": "use true or false",
    "string_type": "use a string",
    "tuple_type": "use a list",
    "model_type": "use an object",
    "model_attributes_type": "use an object",
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "string_too_short": "use at least {min_length} characters",
    "string_too_long": "use at most {max_length} characters",
    "string_pattern_mismatch": "use a value that matches {pattern}",
    "too_short": "list at least {min_length}",
    "too_long": "list at most {max_length}",
    "datetime_type": _RFC3339,
    "datetime_parsing": _RFC3339,
    "datetime_from_date_parsing": _RFC3339,
    "timezone_aware": _RFC3339,
    "rule": "{message}",
}


class InvalidObject(ValueError):  # noqa: N818 (the name says what is wrong)
    """A field of an object holds what it must not.

    Attributes:
        field: Path of the field, as a person would write it: `spec.profiles[1].model`.
        value: What it holds, `None` when it is missing.
        way_out: What to do about it.
    """

    def __init__(self, field: str, value: object, way_out: str) -> None:
        self.field = field
        self.value = value
        self.way_out = way_out
        super().__init__(f"{field} {_shown(value)}: {way_out}")


class InvalidServing(InvalidObject):
    """A field of a serving holds what it must not."""


class InvalidPolicy(InvalidObject):
    """A field of a policy holds what it must not."""


class InvalidAccelerator(InvalidObject):
    """A field of an accelerator profile holds what it must not."""


Refusal = TypeVar("Refusal", bound=InvalidObject)


def invalid_objects(error: ValidationError, refusal: type[Refusal]) -> tuple[Refusal, ...]:
    """Return every finding of a validation as that refusal; there is at least one."""
    return tuple(_finding(details, refusal) for details in error.errors(include_url=False))


def _finding(details: ErrorDetails, refusal: type[Refusal]) -> Refusal:
    context: dict[str, Any] = details.get("ctx", {})
    location = (*details["loc"], *context.get("below", ()))
    kind = details["type"]
    value = details["input"]
    if kind == "missing":
        value = None
    elif kind == "rule":
        value = context["offence"]
    template = _WAYS_OUT.get(kind if value is not None else "missing")
    way_out = template.format(**context) if template else details["msg"]
    return refusal(_path(location), value, way_out)


def _path(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".") or "the object"


def _shown(value: object) -> str:
    if value is None:
        return "is missing"
    text = json.dumps(value, default=str, ensure_ascii=False)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 1] + "…"
    return f"is {text}"
