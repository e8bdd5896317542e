"""Evaluates the rules of a structural schema over an object, as an API server does."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import celpy

from ridgeline.api.rules import VALIDATIONS

Finding = tuple[str, str]
"""Path of the guarded field and the message of the broken rule."""


@cache
def _program(rule: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(rule))


def holds(rule: str, **variables: object) -> bool:
    """Whether a rule is true of `self`, and of `oldSelf` for a change."""
    activation = {name: celpy.json_to_cel(value) for name, value in variables.items()}
    return bool(_program(rule).evaluate(activation))


def with_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the object with the schema's defaults put in."""
    if isinstance(value, list):
        return [with_defaults(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, field in schema["properties"].items():
        if name not in filled and "default" in field:
            filled[name] = field["default"]
        if name in filled:
            filled[name] = with_defaults(field, filled[name])
    return filled


def broken_rules(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[Finding]:
    """Yield every rule of the schema that an object (defaults put in) breaks, changes aside."""
    for rule in schema.get(VALIDATIONS, ()):
        if "oldSelf" not in rule["rule"] and not holds(rule["rule"], self=value):
            yield path + rule.get("fieldPath", ""), rule["message"]
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from broken_rules(schema["items"], item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from broken_rules(schema["properties"][name], inner, f"{path}.{name}")


def all_rules(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the message of every rule of a schema."""
    for rule in schema.get(VALIDATIONS, ()):
        yield rule["message"]
    for inner in schema.get("properties", {}).values():
        yield from all_rules(inner)
    if "items" in schema:
        yield from all_rules(schema["items"])
