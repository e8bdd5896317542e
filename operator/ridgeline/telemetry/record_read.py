"""Reads records: damage costs what is damaged, and is told."""

import logging
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ridgeline.telemetry.record import (
    RecordedTick,
    RecordError,
    RecordHeader,
    UnreadableRecordError,
)
from ridgeline.telemetry.record_lines import LineReader
from ridgeline.telemetry.record_write import record_files

log = logging.getLogger(__name__)

OnDamage = Callable[[str], None]
"""Is told, in one line, what was left out and why."""

MAX_MEMBER_BYTES: Final = 256 * 1024 * 1024
"""A member that unpacks to more is refused: records come with bug reports, from anywhere."""

_GZIP: Final = b"\x1f\x8b"
_NEXT_MEMBER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""How every member begins that we write: deflate, no name, no time."""

_CHUNK: Final = 64 * 1024


class _Unpacked(NamedTuple):
    """A member: its text as far as it is sound, where the next one begins, and what is wrong."""

    text: bytes
    end: int
    trouble: str | None


def read_record(path: Path, *, on_damage: OnDamage | None = None) -> Iterator[RecordedTick]:
    """Read a file, or all records of a folder, tick by tick, the oldest file first.

    What is damaged is left out and told: a line, the member around a broken piece, the last line
    of a file that was cut.

    Args:
        path: A record or a folder of them.
        on_damage: Is told of damage; the log is, when it is `None`.

    Raises:
        RecordError: The file cannot be read, is no record, or is of a newer format.
    """
    for file in _files(path):
        for read in _read_file(file, on_damage or log.warning):
            if isinstance(read, RecordedTick):
                yield read


def read_header(path: Path) -> RecordHeader:
    """Return the first header of a file or folder.

    Raises:
        RecordError: It cannot be read, or holds none.
    """
    for file in _files(path):
        for read in _read_file(file, lambda _: None):
            if isinstance(read, RecordHeader):
                return read
    raise RecordError(f"{path} holds no header that can be read")


def _files(path: Path) -> list[Path]:
    if not os.path.isdir(path):
        return [path]
    files = record_files(path)
    if not files:
        raise UnreadableRecordError(f"{path} holds no record (record-*.jsonl.gz)")
    return files


def _read_file(path: Path, on_damage: OnDamage) -> Iterator[RecordedTick | RecordHeader]:
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise UnreadableRecordError(f"{path} cannot be read ({error.strerror})") from error
    if not packed:
        raise UnreadableRecordError(f"{path} is no record: the file is empty")
    if not packed.startswith(_GZIP):
        yield from _read_plain(packed, path, on_damage)
        return
    start = 0
    while start < len(packed):
        member = _unpack(packed, start)
        if member.trouble is not None:
            on_damage(f"{path}: {member.trouble}")
        yield from _read_member(member.text, path, on_damage)
        start = member.end


def _read_plain(
    text: bytes, path: Path, on_damage: OnDamage
) -> Iterator[RecordedTick | RecordHeader]:
    """Read a record that somebody unpacked already."""
    if not text.lstrip().startswith(b"{"):
        raise UnreadableRecordError(
            f"{path} is no record: give a file that ridgeline wrote (record-*.jsonl.gz), as it is "
            "or unpacked"
        )
    yield from _read_member(text, path, on_damage)


def _read_member(
    text: bytes, path: Path, on_damage: OnDamage
) -> Iterator[RecordedTick | RecordHeader]:
    lines = LineReader()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            tick = lines.read(line)
        except RecordError as error:
            raise RecordError(f"{path}: {error}") from error
        except ValueError as error:
            on_damage(f"{path}: line {number} of a member is left out: {error}"[:300])
            continue
        if tick is not None:
            yield tick
        elif lines.header is not None:
            yield lines.header


def _unpack(packed: bytes, start: int) -> _Unpacked:
    """Unpack the member that begins here; of a damaged one nothing is sure, so it is left out."""
    unpacker = zlib.decompressobj(wbits=31)
    text, position = bytearray(), start
    try:
        while not unpacker.eof and position < len(packed):
            chunk = packed[position : position + _CHUNK]
            position += len(chunk)
            text += unpacker.decompress(chunk, MAX_MEMBER_BYTES + 1 - len(text))
            if len(text) > MAX_MEMBER_BYTES:
                return _damaged(packed, start, f"it unpacks to more than {MAX_MEMBER_BYTES} bytes")
    except zlib.error as error:
        return _damaged(packed, start, str(error))
    if unpacker.eof:
        return _Unpacked(bytes(text), position - len(unpacker.unused_data), None)
    if packed.find(_NEXT_MEMBER, start + 1) >= 0:
        return _damaged(packed, start, "it has no end")
    # The text so far is sound, save for a last line that is not whole.
    whole = bytes(text[: text.rfind(b"\n") + 1])
    return _Unpacked(whole, len(packed), "the file is cut: what came after its last line is lost")


def _damaged(packed: bytes, start: int, why: str) -> _Unpacked:
    following = packed.find(_NEXT_MEMBER, start + 1)
    end = following if following >= 0 else len(packed)
    return _Unpacked(b"", end, f"{end - start} bytes from byte {start} on are left out: {why}")
