"""Who owns which field of an object: its `managedFields`, as server-side apply keeps them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ridgeline.terms.names import PROFILE_ENV, PROFILE_MANAGER

Entry = Mapping[str, Any]

PAUSED: Final = ("f:spec", "f:paused")


_CONTAINERS: Final = ("f:spec", "f:template", "f:spec", "f:containers")


def env_item(container: str) -> tuple[str, ...]:
    """Return the way to the env item that carries a profile, in a Deployment's managed fields."""
    return (*_CONTAINERS, key_of(container), "f:env", key_of(PROFILE_ENV))


def args_of(container: str) -> tuple[str, ...]:
    """Return the way to a container's argument list, in a Deployment's managed fields."""
    return (*_CONTAINERS, key_of(container), "f:args")


def owns(entry: Entry, way: Sequence[str]) -> bool:
    """Tell whether a manager's entry has the field that `way` leads to."""
    fields = entry.get("fieldsV1") or {}
    for step in way:
        if step not in fields:
            return False
        fields = fields[step]
    return True


def ours(entries: Iterable[Entry]) -> Entry:
    """Return the entry of what we own, an empty one when we own nothing."""
    return next((each for each in entries if is_ours(each)), {})


def is_ours(entry: Entry) -> bool:
    """Tell whether an entry is that of what we own in the object itself."""
    return entry.get("manager") == PROFILE_MANAGER and not entry.get("subresource")


def key_of(name: str) -> str:
    """Return how managed fields name an item of a list that is keyed by name."""
    return "k:" + json.dumps({"name": name}, separators=(",", ":"))
