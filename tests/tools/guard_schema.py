"""The OpenAPI of a Deployment, of every Kubernetes minor that the chart supports.

The schemas are those that `kubernetes-validate` brings along, so that nothing is downloaded.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

Schema = dict[str, Any]

MINORS: Final = tuple(f"1.{minor}" for minor in range(30, 38))
"""Supported minors, the oldest first: from the chart's `kubeVersion` to the newest schema."""

_DEPLOYMENT: Final = "io.k8s.api.apps.v1.Deployment"
ITEM: Final = "[]"
"""Step of a path into the items of a list."""
KEY: Final = "{}"
"""Step of a path into a map with free keys."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A field without fields of its own.

    Attributes:
        path: Names from the Deployment down, with `ITEM` and `KEY` for lists and maps.
        schema: What the field takes.
    """

    path: Path
    schema: Schema


@functools.cache
def definitions(minor: str) -> dict[str, Schema]:
    """Return every definition of a minor, by its name.

    Raises:
        FileNotFoundError: When there is no schema of that minor.
    """
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{minor}.0-local"
    found: dict[str, Schema] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return found


def schema_at(minor: str, path: Path) -> Schema:
    """Return the schema of a field of the Deployment; it has `properties` where it has fields.

    Raises:
        KeyError: When the minor has no such field.
    """
    node = definitions(minor)[_DEPLOYMENT]
    for step in path:
        node = _resolved(minor, _child(node, step))
    return node


def fields_at(path: Path, minors: tuple[str, ...] = MINORS) -> tuple[str, ...]:
    """Return the names of the fields below a path, in any of the minors, sorted."""
    names = {name for minor in minors for name in schema_at(minor, path)["properties"]}
    return tuple(sorted(names))


def leaves(minor: str) -> Iterator[Leaf]:
    """Every leaf of the Deployment of a minor, in the order of the schema.

    A definition that holds itself is followed once.
    """
    yield from _below(minor, definitions(minor)[_DEPLOYMENT], (), ())


def _below(minor: str, node: Schema, path: Path, above: tuple[str, ...]) -> Iterator[Leaf]:
    name = node.get("$ref", "")
    if name in above and name:
        return
    above = (*above, name) if name else above
    node = _resolved(minor, node)
    if properties := node.get("properties"):
        for step, child in properties.items():
            yield from _below(minor, child, (*path, step), above)
    elif "items" in node:
        yield from _below(minor, node["items"], (*path, ITEM), above)
    elif isinstance(node.get("additionalProperties"), dict):
        yield from _below(minor, node["additionalProperties"], (*path, KEY), above)
    else:
        yield Leaf(path=path, schema=node)


def _child(node: Schema, step: str) -> Schema:
    if step == ITEM:
        found: Schema = node["items"]
    elif step == KEY:
        found = node["additionalProperties"]
    else:
        found = node["properties"][step]
    return found


def _resolved(minor: str, node: Schema) -> Schema:
    while "$ref" in node:
        node = definitions(minor)[node["$ref"].rpartition("/")[2]]
    return node
