"""JSON that a template or shell has quoted once too often, and what it was meant to say.

A container's arguments reach the server as they stand: no shell takes quotes or backslashes off.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a text was meant to be.

    Attributes:
        what: What happened to it, for a person.
        text: The object as compact JSON.
    """

    what: str
    text: str


def on_one_line(text: str, limit: int = 80) -> str:
    """Return a text as a message bears it: without line breaks or other signs, and cut."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in short)


def repair(text: str) -> Repair | None:
    """Return what a text that is no JSON object was meant to be, `None` when nobody can tell.

    It is for messages: what a server reads is the text as it stands.
    """
    if len(text) > _LONGEST:
        return None
    tried = [(text.strip(), "")]
    for before, told in tried:
        for what, undo in _UNDO:
            after = undo(before)
            if after in (None, before) or len(told) > _FAR:
                continue
            so_far = f"{told}, and {what}" if told else what
            found = _object(after)
            if found is not None:
                return Repair(what=so_far, text=found)
            tried.append((after, so_far))
    return None


_LONGEST: Final = 10_000
_FAR: Final = 100
"""Of three mishaps at once, a message would help nobody."""


def _object(text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _within(text: str, quote: str) -> str | None:
    quoted = len(text) > 1 and text[0] == quote == text[-1]
    return text[1:-1] if quoted else None


def _unescaped(text: str) -> str | None:
    return text.replace('\\"', '"').replace("\\{", "{").replace("\\}", "}")


def _json_text(text: str) -> str | None:
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return inner if isinstance(inner, str) else None


def _single_braces(text: str) -> str | None:
    return text.replace("{{", "{").replace("}}", "}")


def _double_for_single(text: str) -> str | None:
    return text.replace("'", '"') if '"' not in text else None


def _requoted(text: str) -> str | None:
    """Put back the quotes that a shell took off: around every bare word but JSON's own."""
    if not text.startswith("{") or '"' in text or "'" in text:
        return None
    return _BARE_WORD.sub(r'"\1"', text)


def _straight(text: str) -> str | None:
    return text.translate(dict.fromkeys(map(ord, "“”„«»"), '"'))


_BARE_WORD: Final = re.compile(r"(?<=[{\[,:\s])(?!(?:true|false|null)\b)([A-Za-z_/][^\s,:{}\[\]]*)")

_UNDO: Final[tuple[tuple[str, Callable[[str], str | None]], ...]] = (
    ("the object is a JSON text once more", _json_text),
    ("quotes stand around the object", lambda text: _within(text, "'")),
    ("quotes stand around the object", lambda text: _within(text, '"')),
    ("its quotes are escaped", _unescaped),
    ("its quotes are doubled", lambda text: text.replace('""', '"')),
    ("its quotes are written for HTML", lambda text: text.replace("&quot;", '"')),
    ("its braces are doubled", _single_braces),
    ("its quotes are lost, as when a shell takes them off", _requoted),
    ("it has single quotes", _double_for_single),
    ("its quotes are typographic", _straight),
)
"""What happens to JSON on its way through templates, the more particular first."""
