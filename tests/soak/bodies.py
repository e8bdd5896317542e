"""What the operator may send, written down once more and without its code: field by field."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

CRD: Final = Path(__file__).parents[2] / "crds" / "ridgeline.dev_speculativeservings.yaml"

_ENV: Final = "SPECULATION_CONFIG"
_LABEL: Final = "ridgeline.dev/profile"
_ANNOTATION: Final = "ridgeline.dev/serving"

_DEPLOYMENT: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.resourceVersion",
        f"metadata.annotations.{_ANNOTATION}",
        "spec.paused",
        f"spec.template.metadata.labels.{_LABEL}",
        "spec.template.spec.containers[].name",
        "spec.template.spec.containers[].env[].name",
        "spec.template.spec.containers[].env[].value",
    }
)
_STATUS: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.resourceVersion",
    }
)
_MOST_NOTE_BYTES: Final = 1024


def wrong_with_apply(body: Mapping[str, Any], query: Mapping[str, str]) -> Iterator[str]:
    """Tell what is wrong with an apply to a Deployment."""
    leaves = dict(_leaves(body))
    yield from (f"it names the field {path}" for path in sorted(leaves.keys() - _DEPLOYMENT))
    yield from _unguarded(body)
    if query.get("fieldManager") != "ridgeline-profile" or query.get("force") != "false":
        yield f"it is made with {dict(query)}"
    if leaves.get("spec.paused", True) is not True:
        yield "it writes spec.paused with another value than true"
    if leaves.get("spec.template.spec.containers[].env[].name", _ENV) != _ENV:
        yield "it writes another env item"


def wrong_with_status(body: Mapping[str, Any]) -> Iterator[str]:
    """Tell what is wrong with an apply of a status."""
    rest = {key: value for key, value in body.items() if key != "status"}
    paths = {path for path, _ in _leaves(rest)}
    yield from (f"it names the field {path}" for path in sorted(paths - _STATUS))
    yield from _unguarded(body)
    status = body.get("status") or {}
    for path, value in _leaves(status):
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{path} is {value}"
    for error in _status_schema().iter_errors(status):
        yield f"{error.json_path}: {error.message[:200]}"


def wrong_with_event(body: Mapping[str, Any]) -> Iterator[str]:
    """Tell what is wrong with an Event."""
    note = body.get("note") or ""
    if not note or not body.get("reason"):
        yield "it has no note or no reason"
    if len(note.encode()) > _MOST_NOTE_BYTES:
        yield "its note is too long"


def _unguarded(body: Mapping[str, Any]) -> Iterator[str]:
    metadata = body.get("metadata") or {}
    for key in ("uid", "resourceVersion"):
        if not metadata.get(key):
            yield f"it does not carry metadata.{key}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, f"{path}[]")
    else:
        yield path, value


@cache
def _status_schema() -> Draft202012Validator:
    versions = yaml.safe_load(CRD.read_text(encoding="utf-8"))["spec"]["versions"]
    schema = versions[0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    return Draft202012Validator(_strict(json.loads(json.dumps(schema))))


def _strict(schema: Any) -> Any:
    """Return a schema that refuses what the API server would prune."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(each) for key, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        strict["properties"] = {key: _strict(each) for key, each in schema["properties"].items()}
        strict.setdefault("additionalProperties", False)
    return strict
