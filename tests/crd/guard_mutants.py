"""Objects that differ from another one in a single field, made from the OpenAPI of a Deployment."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.chart.rendering import Object
from tests.tools.guard_schema import ITEM, KEY, Leaf, Path, Schema, schema_at

LIKELY: dict[str, tuple[Any, ...]] = {
    "apiVersion": ("v1", "v2"),
    "accessModes": ("ReadWriteOnce", "ReadOnlyMany"),
    "cachingMode": ("None", "ReadOnly"),
    "endpoint": ("one",),
    "controller": (False, True),
    "dnsPolicy": ("Default", "None", "ClusterFirstWithHostNet"),
    "effect": ("NoSchedule", "NoExecute"),
    "finalizers": ("example.com/one", "example.com/two"),
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "imagePullPolicy": ("Never", "Always", "IfNotPresent"),
    "ip": ("10.0.0.1", "10.0.0.2"),
    "mountPropagation": ("HostToContainer", "None", "Bidirectional"),
    "name": ("one", "linux", "windows", "cpu"),
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "operator": ("Exists", "DoesNotExist", "In", "Equal", "NotIn"),
    "pathPrefix": ("/", "/a"),
    "nameservers": ("10.0.0.1", "10.0.0.2"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "procMount": ("Default", "Unmasked"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "pullPolicy": ("Always", "IfNotPresent", "Never"),
    "recursiveReadOnly": ("Disabled", "IfPossible", "Enabled"),
    "resource": ("limits.cpu", "limits.memory"),
    "resourceName": ("cpu", "memory"),
    "restartPolicy": ("Always", "NotRequired", "RestartContainer", "Never", "OnFailure"),
    "scheme": ("HTTP", "HTTPS"),
    "seLinuxChangePolicy": ("Recursive", "MountOption"),
    "stopSignal": ("SIGTERM", "SIGINT"),
    "storageMode": ("ThinProvisioned", "ThickProvisioned"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    "type": ("RuntimeDefault", "Recreate", "Unconfined", "DirectoryOrCreate", "Localhost"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "fieldPath": ("metadata.name", "metadata.namespace"),
}
"""Values that the API server takes for fields whose schema says only that they are texts."""

TOGETHER: dict[str, Object] = {
    "divisor": {"resource": "limits.cpu"},
    "containerName": {"resource": "limits.cpu", "containerName": "vllm"},
    "localhostProfile": {"type": "Localhost"},
    "tolerationSeconds": {"effect": "NoExecute", "operator": "Exists", "key": "one"},
    "value": {"operator": "Equal", "key": "one"},
    "values": {"operator": "In", "key": "one"},
}
"""Fields that are taken only beside others, where those exist at their place."""

MISSING = object()


def values(path: Path, schema: Schema) -> Iterator[Any]:
    """Values that a leaf may take, the likelier first; of none of them it is sure that it may."""
    yield from LIKELY.get(path[-1] if path[-1] not in (ITEM, KEY) else path[-2], ())
    kinds = _kinds(schema)
    if "boolean" in kinds:
        yield from (True, False)
    if "integer" in kinds:
        yield from (1, 2, 65532)
    if "string" in kinds:
        if schema.get("format") == "byte":
            yield from ("AAAA", "BBBB")
        if schema.get("format") == "date-time":
            yield from ("2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z")
        yield from ("one", "two", "/one", "1", "2Gi", "500m", "25%")
    if "number" in kinds:
        yield from ("1", "2")
    if "object" in kinds:
        yield from ({}, {"f:one": {}})


def _kinds(schema: Schema) -> set[str]:
    if "oneOf" in schema:
        return {kind for each in schema["oneOf"] for kind in _kinds(each)}
    found = schema.get("type", "object")
    return set(found) if isinstance(found, list) else {found}


def get(body: Any, path: Path) -> Any:
    """The value at a path, in the first items that have it; `MISSING` when there is none."""
    if not path:
        return body
    step, *rest = path
    if step == ITEM:
        below = body if isinstance(body, list) else []
    elif step == KEY:
        below = list(body.values()) if isinstance(body, dict) else []
    else:
        below = [body[step]] if isinstance(body, dict) and step in body else []
    found = (get(each, tuple(rest)) for each in below)
    return next((each for each in found if each is not MISSING), MISSING)


def change(body: Any, path: Path, value: Any) -> Any:
    """The object with another value where `get` finds one; without it, for `MISSING`."""
    step, *rest = path
    changed = copy.copy(body)
    keys = [step] if step not in (ITEM, KEY) else list(_keys(body))
    for key in keys:
        if get(body[key], tuple(rest)) is MISSING:
            continue
        if rest:
            changed[key] = change(body[key], tuple(rest), value)
        elif value is MISSING:
            del changed[key]
        else:
            changed[key] = value
        return changed
    raise AssertionError(f"nothing at {path}")


def _keys(body: Any) -> Iterator[Any]:
    return iter(range(len(body))) if isinstance(body, list) else iter(body)


def branch(minor: str, path: Path, rest: Path, value: Any) -> Any:
    """The smallest thing at a path that holds a value further down, with what is required."""
    if not rest:
        return value
    step = rest[0]
    below = branch(minor, (*path, step), rest[1:], value)
    if step == ITEM:
        return [below]
    if step == KEY:
        return {"one": below}
    schema = schema_at(minor, path)
    required = {name: smallest(minor, (*path, name)) for name in schema.get("required", ())}
    along = {k: v for k, v in TOGETHER.get(step, {}).items() if k in schema["properties"]}
    return {**required, **along, step: below}


def smallest(minor: str, path: Path) -> Any:
    """The smallest thing that may stand at a path."""
    schema = schema_at(minor, path)
    if "properties" in schema:
        return {name: smallest(minor, (*path, name)) for name in schema.get("required", ())}
    if "items" in schema:
        return [smallest(minor, (*path, ITEM))]
    if isinstance(schema.get("additionalProperties"), dict):
        return {}
    return next(iter(values(path, schema)))


def additions(minor: str, body: Any, leaf: Leaf, value: Any) -> Iterator[Any]:
    """The object with the leaf added in every way: beside what is there, or in its place.

    The gentlest come first: into the lists that are there, then as a further item, then in the
    place of whatever holds it, from the bottom up.
    """
    for extend in (False, True):
        yield _added(minor, body, (), leaf.path, value, extend=extend)
    for size in range(len(leaf.path) - 1, 3, -1):
        above, below = leaf.path[:size], leaf.path[size:]
        if above[-1] in (ITEM, KEY) or get(body, above) is MISSING:
            continue
        yield change(body, above, branch(minor, above, below, value))


def _added(minor: str, body: Any, path: Path, rest: Path, value: Any, *, extend: bool) -> Any:
    if not rest:
        return value
    step, below = rest[0], rest[1:]
    if step == ITEM:
        if extend and path[-1] not in ("containers", "initContainers"):
            return [*body, *_named_apart(branch(minor, path, rest, value), len(body))]
        items = list(body) or [smallest(minor, (*path, ITEM))]
        fits = max(range(len(items)), key=lambda n: _depth(items[n], below))
        items[fits] = _added(minor, items[fits], (*path, ITEM), below, value, extend=extend)
        return items
    key = "one" if step == KEY else step
    if key not in body:
        return {**branch(minor, path, rest, value), **body}
    return {**body, key: _added(minor, body[key], (*path, step), below, value, extend=extend)}


def _depth(body: Any, path: Path) -> int:
    """How far down a path there is something."""
    return next(size for size in range(len(path), -1, -1) if get(body, path[:size]) is not MISSING)


def _named_apart(items: list[Any], number: int) -> list[Any]:
    """New items of a list, not called like those that stand there."""
    apart: Object = {
        **dict.fromkeys(("name", "topologyKey", "uid"), f"n{number}"),
        **dict.fromkeys(("mountPath", "devicePath"), f"/n{number}"),
        "containerPort": 1000 + number,
        "ip": f"10.0.1.{number}",
    }
    for each in items:
        if isinstance(each, dict):
            each.update({key: value for key, value in apart.items() if key in each})
    return items


def complete(minor: str, path: Path = ()) -> Object:
    """An object with every field of a minor, whatever they mean together."""
    found: Object = _complete(minor, path, ())
    return found


def _complete(minor: str, path: Path, above: tuple[int, ...]) -> Any:
    schema = schema_at(minor, path)
    if "properties" in schema:
        if id(schema) in above:
            return MISSING
        below = {
            name: _complete(minor, (*path, name), (*above, id(schema)))
            for name in schema["properties"]
        }
        return {name: value for name, value in below.items() if value is not MISSING}
    if "items" in schema:
        item = _complete(minor, (*path, ITEM), above)
        return MISSING if item is MISSING else [item]
    if isinstance(schema.get("additionalProperties"), dict):
        return {"one": _complete(minor, (*path, KEY), above)}
    return next(iter(values(path, schema)))
