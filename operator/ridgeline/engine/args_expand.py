"""`$(NAME)` in a container's command and arguments, as the kubelet expands it.

A name that nothing defines stays as it is, and `$$` is an escaped dollar sign (Kubernetes, "Define
Dependent Environment Variables"; `third_party/forked/golang/expansion`).
"""

import re
from collections.abc import Mapping
from typing import Final

_DOLLAR: Final = re.compile(r"\$(?:\$|\(([^)]*)\)|)", re.DOTALL)


def expanded(word: str, environment: Mapping[str, str]) -> str:
    """Return a word with its variables' values in place of their names."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name is not None:
            return environment.get(name, found[0])
        return "$"

    return _DOLLAR.sub(value, word) if "$" in word else word


def escaped(text: str) -> str:
    """Return the word that the kubelet expands to exactly this text."""
    return text.replace("$", "$$")


def undefined(word: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that a word refers to and nothing defines, in their order."""
    names = (found[1] for found in _DOLLAR.finditer(word))
    return tuple(name for name in names if name is not None and name not in environment)
