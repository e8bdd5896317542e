"""From a pydantic model to a structural schema, as a CustomResourceDefinition wants it.

Pydantic's schema has references, titles, `anyOf` with null and other things that the API server
does not take. Everything that is left is checked: no floats, every list and string bounded, every
field described.
"""

from typing import Any, Final

from ridgeline.api.fields import UNSET_MEANS, ApiModel
from ridgeline.api.rules import VALIDATIONS

Schema = dict[str, Any]

_KEPT: Final = frozenset(
    {
        "type",
        "description",
        "default",
        "enum",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "items",
        "properties",
        "required",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        VALIDATIONS,
        UNSET_MEANS,
    }
)
_DROPPED: Final = frozenset({"title", "additionalProperties", "$defs"})
_TYPES: Final = frozenset({"object", "array", "string", "integer", "boolean"})


class NotStructural(ValueError):  # noqa: N818 (the name says what is wrong)
    """A model has a field that a CustomResourceDefinition of ours must not have."""


def structural_schema(model: type[ApiModel]) -> Schema:
    """Return the structural schema of a model, with `UNSET_MEANS` left in for the docs.

    Raises:
        NotStructural: On a float, an unbounded list or string, a field without a description, or
            a keyword that has no place in a structural schema.
    """
    schema = model.model_json_schema(by_alias=True, mode="validation")
    definitions = schema.get("$defs", {})
    return _node(schema, definitions, model.__name__)


def without_notes(schema: Schema) -> Schema:
    """Return the schema without what only the docs need."""
    return {
        key: _mapped(key, value, without_notes)
        for key, value in schema.items()
        if key != UNSET_MEANS
    }


def _mapped(key: str, value: Any, change: Any) -> Any:
    if key == "items":
        return change(value)
    if key == "properties":
        return {name: change(inner) for name, inner in value.items()}
    return value


def _node(schema: Schema, definitions: dict[str, Schema], path: str) -> Schema:
    node = _one_value_enum(_inlined(schema, definitions, path))
    node = _inclusive(node)
    if node.get("default") in (None, []):  # how Python says "not set"
        node.pop("default", None)
    unknown = node.keys() - _KEPT - _DROPPED
    if unknown:
        raise NotStructural(f"{path}: {', '.join(sorted(unknown))} has no place in a CRD")
    kept = {key: value for key, value in node.items() if key in _KEPT}
    _check(kept, path)
    if "properties" in kept:
        kept["properties"] = {
            name: _property(inner, definitions, f"{path}.{name}")
            for name, inner in kept["properties"].items()
        }
    if "items" in kept:
        kept["items"] = _node(kept["items"], definitions, f"{path}[]")
    return kept


def _property(schema: Schema, definitions: dict[str, Schema], path: str) -> Schema:
    if "description" not in schema:
        raise NotStructural(f"{path}: describe the field")
    return _node(schema, definitions, path)


def _inlined(schema: Schema, definitions: dict[str, Schema], path: str) -> Schema:
    """Put a reference's target, or the one choice besides null, in its place."""
    around = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in schema:
        inner = definitions[schema["$ref"].rsplit("/", 1)[1]]
    elif "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
        if len(choices) != 1:
            raise NotStructural(f"{path}: a field has one type")
        inner = choices[0]
    else:
        return around
    return {**_inlined(inner, definitions, path), **around}


def _one_value_enum(schema: Schema) -> Schema:
    if "const" not in schema:
        return schema
    return {**{k: v for k, v in schema.items() if k != "const"}, "enum": [schema["const"]]}


def _inclusive(schema: Schema) -> Schema:
    """Say the bounds of a whole number with `minimum` and `maximum`."""
    node = dict(schema)
    if "exclusiveMinimum" in node:
        node["minimum"] = node.pop("exclusiveMinimum") + 1
    if "exclusiveMaximum" in node:
        node["maximum"] = node.pop("exclusiveMaximum") - 1
    return node


def _check(node: Schema, path: str) -> None:
    kind = node.get("type")
    if kind not in _TYPES:
        raise NotStructural(f"{path}: a field is one of {', '.join(sorted(_TYPES))}, not {kind}")
    bounded_string = {"maxLength", "enum"} & node.keys() or node.get("format") == "date-time"
    if kind == "string" and not bounded_string:
        raise NotStructural(f"{path}: bound the string (maxLength, enum or date-time)")
    if kind == "array" and "maxItems" not in node:
        raise NotStructural(f"{path}: bound the list (maxItems)")
    if kind == "array" and "x-kubernetes-list-type" not in node:
        raise NotStructural(f"{path}: say how the list is merged (ListMap, AtomicList)")
    if kind == "integer" and "format" not in node:
        raise NotStructural(f"{path}: say the width of the number (int32, int64)")
    if kind == "object" and "properties" not in node:
        raise NotStructural(f"{path}: name the properties of the object")
