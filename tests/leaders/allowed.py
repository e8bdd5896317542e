"""Which fields of which objects the operators may write, whatever they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.leaders.audit import Entry, Object
from tests.leaders.rules import Rules

DEPLOYMENTS = "deployments.apps"
SERVING_STATUS = "speculativeservings.ridgeline.dev/status"
LEASES = "leases.coordination.k8s.io"
EVENTS = "events.events.k8s.io"

_ANY = object()
_NAMED: Object = {"apiVersion": _ANY, "kind": _ANY}
_META: Object = {"name": _ANY, "namespace": _ANY, "uid": _ANY, "resourceVersion": _ANY}

_ENV_ITEM = {"name": "SPECULATION_CONFIG", "value": _ANY}
_TARGET: Object = {
    **_NAMED,
    "metadata": {**_META, "annotations": {"ridgeline.dev/serving": _ANY}},
    "spec": {
        "paused": True,
        "template": {
            "metadata": {"labels": {"ridgeline.dev/profile": _ANY}},
            "spec": {"containers": [{"name": _ANY, "env": [_ENV_ITEM]}]},
        },
    },
}
_STATUS: Object = {**_NAMED, "metadata": _META, "status": _ANY}
_MANAGERS = {DEPLOYMENTS: "ridgeline-profile", SERVING_STATUS: "ridgeline-status"}
_MAY_FORCE = {DEPLOYMENTS: False, SERVING_STATUS: True}
_BODIES = {DEPLOYMENTS: _TARGET, SERVING_STATUS: _STATUS}


def beyond(entry: Entry, rules: Rules) -> Iterator[str]:
    """Tell what of an operator's request is not the operator's to write."""
    if entry.resource == LEASES:
        if entry.verb not in ("create", "update") or entry.key != rules.lease:
            yield f"{entry.verb} of a Lease that is not theirs"
    elif entry.resource == EVENTS:
        if entry.verb != "create":
            yield f"{entry.verb} of an Event"
    elif entry.resource in _BODIES and entry.verb == "patch":
        yield from _apply_beyond(entry)
    else:
        yield f"{entry.verb} of {entry.resource}"


def unfenced(entry: Entry) -> Iterator[str]:
    """Tell what a write lacks that would keep it from landing where it was not meant."""
    if entry.resource in _BODIES and entry.verb == "patch":
        meta = entry.body.get("metadata") or {}
        yield from (
            f"no metadata.{each}" for each in ("uid", "resourceVersion") if not meta.get(each)
        )


def _apply_beyond(entry: Entry) -> Iterator[str]:
    manager = entry.query.get("fieldManager")
    if manager != _MANAGERS[entry.resource]:
        yield f"field manager {manager!r}"
    if entry.query.get("force") == "true" and not _MAY_FORCE[entry.resource]:
        yield "by force"
    if not entry.body:
        yield "a body that the log does not tell"
    yield from _outside(entry.body, _BODIES[entry.resource], "")


def _outside(found: Any, allowed: Any, way: str) -> Iterator[str]:
    """Tell the paths of what stands in `found` and not in `allowed`."""
    if allowed is _ANY:
        return
    if isinstance(allowed, dict) and isinstance(found, dict):
        for key, value in found.items():
            here = f"{way}.{key}"
            if key in allowed:
                yield from _outside(value, allowed[key], here)
            else:
                yield here
    elif isinstance(allowed, list) and isinstance(found, list) and len(found) <= len(allowed):
        for one, form in zip(found, allowed, strict=False):
            yield from _outside(one, form, f"{way}[]")
    elif found != allowed:
        yield f"{way} = {found!r}"
