"""Writes records: one file, or a folder of files that never takes more than it may."""

import gzip
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedWriter
from pathlib import Path
from typing import Final

from ridgeline.telemetry.record import RecordedTick, RecordError, RecordHeader
from ridgeline.telemetry.record_lines import LineWriter

PREFIX: Final = "record-"
SUFFIX: Final = ".jsonl.gz"

MEMBER_BYTES: Final = 512 * 1024
"""Text of one member. More compresses better, and more is lost with a damaged one."""

MEMBER_SECONDS: Final = 60.0
"""Time that one member covers at most: what a process that is killed has not yet written."""

FILES: Final = 8
"""Files that share the space of a folder; dropping the oldest loses an eighth."""

LIVE_LEVEL: Final = 1
"""Compression beside the loop: a third of the processor time of level 6, an eighth more bytes."""

FILE_LEVEL: Final = 6


class _Member:
    """The member under way, in memory."""

    def __init__(self, header: RecordHeader, seconds: float, level: int) -> None:
        self._header = header
        self._level = level
        self._seconds = seconds
        self._lines = LineWriter()
        self._text = bytearray()
        self._since: float | None = None

    def add(self, tick: RecordedTick) -> None:
        line = self._lines.tick(tick)
        if self._since is None:
            self._since = tick.at
            self._text += self._lines.header(self._header)
        self._text += line

    def is_full(self, at: float) -> bool:
        """Whether it is due to be written at this time."""
        late = self._since is not None and abs(at - self._since) >= self._seconds
        return late or len(self._text) >= MEMBER_BYTES

    def take(self) -> bytes:
        """Return it compressed, empty when there is nothing in it, and begin the next one."""
        if self._since is None:
            return b""
        # Without a time of its own: the same ticks give the same file.
        packed = gzip.compress(bytes(self._text), compresslevel=self._level, mtime=0)
        self._lines, self._since = LineWriter(), None
        self._text.clear()
        return packed


def write_record(
    path: Path,
    header: RecordHeader,
    ticks: Iterable[RecordedTick],
    *,
    member_seconds: float = math.inf,
) -> int:
    """Write one file, whole or not at all, and return the number of ticks.

    Args:
        path: Where to.
        header: What holds for all ticks.
        ticks: What to write.
        member_seconds: Time that one member covers at most; only its size counts if not told.

    Raises:
        RecordError: It cannot be written, or stands there already.
    """
    if os.path.exists(path):
        raise RecordError(f"{path} exists: name another file, or remove it first")
    part = path.with_name(f"{path.name}.part")
    count = 0
    try:
        with part.open("wb") as file:
            member = _Member(header, member_seconds, FILE_LEVEL)
            for tick in ticks:
                if member.is_full(tick.at):
                    file.write(member.take())
                member.add(tick)
                count += 1
            file.write(member.take())
        part.replace(path)
    except OSError as error:
        raise RecordError(f"{path} cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


class RecordFolder:
    """Appends ticks to files in a folder and drops the oldest file when space runs out.

    The folder belongs to one process: two that share it would drop each other's files early.
    """

    def __init__(self, directory: Path, header: RecordHeader, *, max_bytes: int) -> None:
        """Prepare; the folder is made at the first write.

        Raises:
            ValueError: `max_bytes` leaves no room for a file.
        """
        if max_bytes < FILES:
            raise ValueError(f"max_bytes is {max_bytes}: give at least {FILES}")
        self._directory = directory
        self._max_bytes = max_bytes
        self._file_bytes = max_bytes // FILES
        self._member = _Member(header, MEMBER_SECONDS, LIVE_LEVEL)
        self._file: BufferedWriter | None = None
        self._size = 0
        self._at = 0.0

    def add(self, tick: RecordedTick) -> None:
        """Add a tick; it reaches the disk with its member.

        Raises:
            ValueError: The tick cannot be written; nothing of it was.
            OSError: The disk is full, or the folder cannot be used.
        """
        if self._member.is_full(tick.at):
            self.flush()
        self._member.add(tick)
        self._at = tick.at

    def flush(self) -> None:
        """Write what was added.

        Raises:
            OSError: The disk is full, or the folder cannot be used.
        """
        packed = self._member.take()
        if not packed:
            return
        if self._file is None or self._size + len(packed) > self._file_bytes:
            self._begin_file(room_for=max(self._file_bytes, len(packed)))
        if self._file is not None:
            self._file.write(packed)
            self._file.flush()
            self._size += len(packed)

    def close(self) -> None:
        """Write what was added and close the file.

        Raises:
            OSError: The disk is full, or the folder cannot be used.
        """
        try:
            self.flush()
        finally:
            self._end_file()

    def abandon(self) -> None:
        """Close the file as it is; what was added since the last write is given up."""
        with suppress(OSError):
            self._end_file()

    def _begin_file(self, *, room_for: int) -> None:
        self._end_file()
        self._directory.mkdir(parents=True, exist_ok=True)
        self._make_room(room_for)
        self._file = self._new_file()
        self._size = 0

    def _new_file(self) -> BufferedWriter:
        stamp = datetime.fromtimestamp(self._at, UTC).strftime("%Y%m%dT%H%M%SZ")
        number = 0
        while True:
            path = self._directory / f"{PREFIX}{stamp}-{number:04}{SUFFIX}"
            try:
                return path.open("xb")
            except FileExistsError:
                number += 1

    def _end_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _make_room(self, wanted: int) -> None:
        """Drop the oldest files until a new one of this size fits."""
        files = [(path, path.stat().st_size) for path in record_files(self._directory)]
        total = sum(size for _, size in files)
        for path, size in files:
            if total + wanted <= self._max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def record_files(directory: Path) -> list[Path]:
    """Return the records in a folder, the oldest first."""
    return sorted(directory.glob(f"{PREFIX}*{SUFFIX}"))
