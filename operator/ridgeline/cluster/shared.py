"""Values that thousands of objects have alike, in memory once.

Every Pod that is read from the API server brings its own copy of the names of its namespace, its
Deployment and its node, of its ports and of what it asks for.
"""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import Final

_MOST: Final = 4096
"""Different values that are kept; beyond, the oldest are copied again when they come back."""

Ports = tuple[tuple[str, int], ...]


def shared_name(name: str | None) -> str | None:
    """Return the one text that all equal ones share; `None` for none."""
    return None if name is None else intern(str(name))


@lru_cache(maxsize=_MOST)
def shared_ports(ports: Ports) -> Ports:
    """Return the one value that all equal ones share."""
    return ports


def shared_amounts(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the one mapping that all equal ones share; nobody can change it."""
    return _amounts(tuple(sorted(amounts.items())))


@lru_cache(maxsize=_MOST)
def _amounts(items: Ports) -> Mapping[str, int]:
    return MappingProxyType(dict(items))
