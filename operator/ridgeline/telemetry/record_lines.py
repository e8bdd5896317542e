"""Pure: ticks to lines and lines to ticks. One object of these classes knows one member.

A line is a JSON object. The first of a member has `header`; every other one is a tick, in which
`settings` and `memory` are left out where they are as in the line before of the same serving.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.telemetry.record import FORMAT, RecordedTick, RecordError, RecordHeader
from ridgeline.telemetry.record_codec import Codec

Key = tuple[str, str]
Said = Literal["settings", "memory"]

HEADER: Final = "header"
_SAID_ONCE: Final[tuple[Said, ...]] = ("settings", "memory")

_HEADERS: Final = Codec(RecordHeader)
_TICKS: Final = Codec(RecordedTick)


class LineWriter:
    """Writes the lines of one member."""

    def __init__(self) -> None:
        self._said: dict[Said, dict[Key, PolicySettings | Memory | None]]
        self._said = {field: {} for field in _SAID_ONCE}

    def header(self, header: RecordHeader) -> bytes:
        """Return the first line."""
        return _line({HEADER: _HEADERS.to_plain(header)})

    def tick(self, tick: RecordedTick) -> bytes:
        """Return the line of one tick.

        Raises:
            ValueError: A text of it cannot be written as UTF-8.
        """
        key = (tick.namespace, tick.serving)
        known = [
            field
            for field in _SAID_ONCE
            if key in self._said[field] and self._said[field][key] == getattr(tick, field)
        ]
        plain: dict[str, Any] = dict(_plain(tick))
        for field in known:
            del plain[field]
        line = _line(plain)
        self._said["settings"][key] = tick.settings
        self._said["memory"][key] = tick.memory
        return line


class LineReader:
    """Reads the lines of one member, the first one too."""

    def __init__(self) -> None:
        self.header: RecordHeader | None = None
        self._settings: dict[Key, PolicySettings | None] = {}
        self._memory: dict[Key, Memory | None] = {}

    def read(self, line: bytes) -> RecordedTick | None:
        """Return the tick of a line, `None` for the header.

        Raises:
            ValueError: The line is damaged, or depends on one that was.
            RecordError: It was written in a format that is not known here.
        """
        try:
            document = msgspec.json.decode(line)
        except msgspec.MsgspecError as error:
            raise ValueError(f"not JSON ({error})") from error
        if not isinstance(document, dict):
            raise ValueError(f"a JSON {type(document).__name__}, expected an object")  # noqa: TRY004
        if HEADER in document:
            self.header = _header(document[HEADER])
            return None
        return self._completed(_TICKS.from_plain(document), document)

    def _completed(self, tick: RecordedTick, document: dict[str, object]) -> RecordedTick:
        """Fill in what the line left out, and remember what it told."""
        key = (tick.namespace, tick.serving)
        if "settings" in document:
            self._settings[key] = tick.settings
        if "memory" in document:
            self._memory[key] = tick.memory
        if key not in self._settings or key not in self._memory:
            raise ValueError(
                f"settings or memory of {key[0]}/{key[1]} stood in a line that is lost"
            )
        return replace(tick, settings=self._settings[key], memory=self._memory[key])


def _header(document: object) -> RecordHeader:
    number = document.get("format") if isinstance(document, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise RecordError(
            f"its format is {number}, and this ridgeline reads up to {FORMAT}: use a newer one"
        )
    return _HEADERS.from_plain(document)


def _plain(tick: RecordedTick) -> dict[str, Any]:
    plain = _TICKS.to_plain(tick)
    if not isinstance(plain, dict):
        raise TypeError("a tick is always written field by field")
    return plain


def _line(plain: object) -> bytes:
    return msgspec.json.encode(plain, enc_hook=_mapping) + b"\n"


def _mapping(value: object) -> object:
    """Read-only mappings are the one thing in facts and settings that msgspec does not write."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a record")
