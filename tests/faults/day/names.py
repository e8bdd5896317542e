"""A name server that knows one zone, and can be told to fail."""

from __future__ import annotations

import enum
import socket
import struct
import threading

ZONE = "bad-day.test"
"""Names under it are of this machine: the top-level domain is one that nobody can own."""

_PORT = 53
_ANSWERS, _REFUSED_BY_FAILURE = 0x8180, 0x8182


class Mood(enum.Enum):
    """How it answers."""

    WELL = "well"
    SILENT = "silent"
    FAILING = "failing"
    """Answers SERVFAIL."""


class NameServer:
    """Listens on a loopback address of its own; use as a context manager.

    Attributes:
        address: Where it listens.
        asked: How many questions it got.
    """

    def __init__(self, address: str, to: str = "127.0.0.1") -> None:
        self.address, self._to = address, to
        self.asked = 0
        self.mood = Mood.WELL
        self._over = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> NameServer:
        self._socket.bind((self.address, _PORT))
        self._socket.settimeout(0.2)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=10)
        self._socket.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                question, whose = self._socket.recvfrom(512)
            except TimeoutError:
                continue
            self.asked += 1
            if self.mood is not Mood.SILENT:
                self._socket.sendto(self._answer(question), whose)

    def _answer(self, question: bytes) -> bytes:
        number = struct.unpack("!H", question[:2])[0]
        end = question.index(b"\0", 12) + 5
        asked, kind = question[12:end], struct.unpack("!H", question[end - 4 : end - 2])[0]
        known = self.mood is Mood.WELL and kind == 1
        flags = _ANSWERS if self.mood is Mood.WELL else _REFUSED_BY_FAILURE
        head = struct.pack("!HHHHHH", number, flags, 1, int(known), 0, 0)
        if not known:
            return head + asked
        # The name by a pointer to the question, type A, class IN, no time to live.
        return head + asked + struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(self._to)
