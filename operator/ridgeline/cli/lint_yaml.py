"""What is wrong with a text that should be YAML of Kubernetes objects, in words of a person."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import yaml

from ridgeline.engine.spelling_quotes import on_one_line

NOT_A_VALUE: Final = (ValueError, OverflowError, RecursionError, TypeError)
"""What reading raises beside errors of YAML itself."""

YAML_ENDINGS: Final = frozenset({".yaml", ".yml", ".json"})
NO_OBJECTS: Final = (
    "is no YAML of Kubernetes objects: give manifests (Deployments, servings, policies, "
    "ConfigMaps), folders of them, or - for standard input"
)

_SOURCE: Final = '"<unicode string>"'
"""What the parser calls every text that it did not open itself."""

_MERGE: Final = "<<"
"""The key that takes over another mapping's keys; it may stand several times."""


def not_yaml(error: yaml.YAMLError, text: str, name: str) -> str:
    """Return why a text is not YAML.

    Args:
        error: What the parser says.
        text: The text.
        name: The file as a person knows it.
    """
    told = " ".join(str(error).replace(_SOURCE, name).split())
    if "{{" in text:
        way_out = "it looks like a template: render it first, as in helm template …"
        return f"{name} is not YAML: {told}; {way_out} | ridgeline lint -"
    ending = PurePath(name).suffix
    if ending and ending not in YAML_ENDINGS:
        return f"{name} {NO_OBJECTS} ({told})"
    return f"{name} is not YAML: {told}"


def not_a_value(error: Exception) -> str:
    """Return why a value cannot be read: a date that no calendar has, brackets without end."""
    told = str(error)
    if "set_int_max_str_digits" in told:
        return "a number has thousands of digits: put it in quotes if it is a text"
    return on_one_line(told, limit=120)


def doubled_key(root: yaml.Node) -> str | None:
    """Return that a key stands twice in one mapping, the first in the text; `None` without one.

    YAML forbids it. Some readers refuse it, and the others go by the last and forget the first.
    """
    found = sorted(
        (again.start_mark.line + 1, before.start_mark.line + 1, on_one_line(again.value))
        for mapping in _mappings(root)
        for before, again in _doubled(mapping)
    )
    if not found:
        return None
    line, first, key = found[0]
    return (
        f"line {line}: the key {key} stands there again, after line {first}, and only one of the "
        "two would count: remove one"
    )


def _doubled(mapping: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.ScalarNode]]:
    first: dict[str, yaml.ScalarNode] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or key.value == _MERGE:
            continue
        before = first.setdefault(key.value, key)
        if before is not key:
            yield before, key


def _mappings(root: yaml.Node) -> Iterator[yaml.MappingNode]:
    """Yield every mapping of a document, once: aliases may make it hold itself."""
    seen: set[int] = set()
    left = [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            left.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            left.extend(node.value)
