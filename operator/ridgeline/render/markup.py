"""HTML and SVG from values, escaped by construction: only `Markup` gets in as it is."""

import re
from html import escape
from typing import Final

_UNPRINTABLE: Final = re.compile(
    # what no HTML document may hold, and what turns the direction of the text around it
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
    "|[\ud800-\udfff]"
)
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_ALONE: Final = frozenset({"meta", "br", "hr", "line", "rect", "path", "circle", "polyline"})
_EMPTY_ELEMENTS: Final = frozenset({"meta", "br", "hr"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as text of a document; what is markup already stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: Its name.
        children: Its content; texts are escaped.
        attributes: Its attributes: `class_` is `class`, and `_` within a name is `-`. `None` and
            `False` leave one out, `True` gives it without a value.

    Raises:
        ValueError: A name is none; names come from code, never from outside.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an element")
    parts = [name]
    for key, value in attributes.items():
        written = key.rstrip("_").replace("_", "-")
        if not _NAME.fullmatch(written):
            raise ValueError(f"{written!r} is no name of an attribute")
        if value is None or value is False:
            continue
        parts.append(written if value is True else f'{written}="{text(value)}"')
    opened = " ".join(parts)
    if not children and name in _ALONE:
        return Markup(f"<{opened}>" if name in _EMPTY_ELEMENTS else f"<{opened}/>")
    return Markup(f"<{opened}>{joined(*children)}</{name}>")


def joined(*parts: object) -> Markup:
    """Return parts one after the other; texts are escaped."""
    return Markup("".join(text(each) for each in parts))
