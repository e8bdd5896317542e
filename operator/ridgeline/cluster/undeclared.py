"""Fields that the API server's schema has no place for, and an object without them.

Server-side apply refuses an object whole for one field that the CRD does not declare, with status
500 and the field's path (seen on Kubernetes 1.34). A CRD that is older than the operator does that.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_UNDECLARED: Final = re.compile(r"(\.\S+): field not declared in schema")
_STEP: Final = re.compile(r"\.([A-Za-z0-9_-]+)")
_ITEM: Final = re.compile(r"\[(?:[^\]\"]|\"[^\"]*\")*\]")

Path = tuple[str, ...]


def undeclared_fields(message: str) -> tuple[Path, ...]:
    """Return the fields that an answer names as not declared, without the items of lists."""
    paths = (_ITEM.sub("", found) for found in _UNDECLARED.findall(message))
    return tuple(tuple(_STEP.findall(path)) for path in paths)


def without(document: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """Return a copy of a document without fields; on the way into a list, of all its items."""
    heads = {path[0] for path in paths if len(path) == 1}
    return {
        key: _below(value, [path[1:] for path in paths if path[:1] == (key,)])
        for key, value in document.items()
        if key not in heads
    }


def _below(value: Any, paths: Sequence[Path]) -> Any:
    if not paths:
        return value
    if isinstance(value, Mapping):
        return without(value, paths)
    if isinstance(value, list | tuple):
        return [_below(each, paths) for each in value]
    return value
