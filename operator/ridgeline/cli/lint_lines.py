"""The line that a finding is about: that of the field, the argument or the profile concerned."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import yaml

from ridgeline.terms.names import PROFILE_ENV

_STEP: Final = re.compile(r"[^.\[\]]+|\[[0-9]+\]")
_FLAG: Final = re.compile(r"-{1,2}[A-Za-z][\w.-]*")
_CONFIG_FLAG: Final = "--speculative-config"


def line_of(
    root: yaml.Node | None,
    flag: str,
    *,
    container: str = "",
    profiles: Sequence[str] = (),
    otherwise: int,
) -> int:
    """Return a line, from 1.

    Args:
        root: The object as it stands in the file; `None` when that is not known.
        flag: What is wrong: a path such as `spec.profiles[0].method`, a flag, a variable.
        container: The container that it is about; empty for none.
        profiles: The profiles that it is about.
        otherwise: The line when none is found.
    """
    if root is None:
        return otherwise
    inner = [*_named(root, "containers", (container,)), *_named(root, "profiles", profiles)]
    steps = _STEP.findall(flag)
    for each in (*inner, root):
        found, left = _walked(each, steps)
        if not left and found is not None:
            return found
    for each in inner:
        mentioned = _mentioned(each, flag)
        if mentioned is not None:
            return mentioned
    nearest, left = _walked(root, steps)
    if nearest is not None and len(left) < len(steps):
        return nearest
    return next((each.start_mark.line + 1 for each in inner), otherwise)


def _walked(node: yaml.Node, steps: Sequence[str]) -> tuple[int | None, Sequence[str]]:
    """Follow a path as far as it goes; return the line there, and what is left of it."""
    line: int | None = None
    for index, step in enumerate(steps):
        below = _below(node, step)
        if below is None:
            return line, steps[index:]
        line, node = below
    return line, ()


def _below(node: yaml.Node, step: str) -> tuple[int, yaml.Node] | None:
    if step.startswith("["):
        place = int(step[1:-1])
        if isinstance(node, yaml.SequenceNode) and place < len(node.value):
            item = node.value[place]
            return item.start_mark.line + 1, item
        return None
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return key.start_mark.line + 1, value
    return None


def _named(root: yaml.Node, listed: str, names: Sequence[str]) -> Iterator[yaml.Node]:
    """Yield the items of lists with a key, wherever they stand, that have one of the names."""
    seen: set[int] = set()
    left = [root]
    while left:
        node = left.pop()
        if id(node) in seen or not isinstance(node, yaml.MappingNode | yaml.SequenceNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left.extend(node.value)
            continue
        left.extend(value for _, value in node.value)
        below = _below(node, listed)
        if below is not None and isinstance(below[1], yaml.SequenceNode):
            yield from (each for each in below[1].value if names and _name_of(each) in names)


def _name_of(item: yaml.Node) -> str | None:
    below = _below(item, "name")
    return below[1].value if below is not None and isinstance(below[1], yaml.ScalarNode) else None


def _mentioned(container: yaml.Node, flag: str) -> int | None:
    """Return the line on which a container names a flag, or sets the profile's variable."""
    wanted = _FLAG.match(flag)
    if wanted is not None:
        for field in ("args", "command"):
            below = _below(container, field)
            for item in _items(below):
                line = _line_within(item, wanted.group())
                if line is not None:
                    return line
    if PROFILE_ENV in flag or (wanted is not None and wanted.group() == _CONFIG_FLAG):
        for item in _items(_below(container, "env")):
            if _name_of(item) == PROFILE_ENV:
                return item.start_mark.line + 1
    return None


def _items(below: tuple[int, yaml.Node] | None) -> Sequence[yaml.Node]:
    return below[1].value if below is not None and isinstance(below[1], yaml.SequenceNode) else ()


def _line_within(item: yaml.Node, flag: str) -> int | None:
    """Return the line of a word, or of a script's line, that has a flag in one of its spellings."""
    if not isinstance(item, yaml.ScalarNode):
        return None
    # A block begins on the line after its `|`; of other styles lines may have been joined.
    is_block = item.style == "|"
    for index, line in enumerate(item.value.splitlines()):
        words = (each.partition("=")[0].replace("_", "-") for each in line.split())
        if flag.replace("_", "-") in words:
            return int(item.start_mark.line) + (2 + index if is_block else 1)
    return None
