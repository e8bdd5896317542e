"""Lines that tell a person what is being done and for how long."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console


class Progress:
    """Reports steps with elapsed seconds; a live spinner on a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begin = time.monotonic()
        self._console = Console(file=self._stream, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """One line, stamped with the seconds since this report began."""
        line = f"[{time.monotonic() - self._begin:6.1f} s] {text}"
        if self._console.is_terminal:
            self._console.print(line, markup=False)
        else:
            print(line, file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Show a step while it lasts; one line with its seconds when it has succeeded."""
        begin = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(f"{text} …"):
                yield
        else:
            yield
        self.say(f"{text} ({time.monotonic() - begin:.1f} s)")


class Silent(Progress):
    """Says nothing; for callers that show their own progress."""

    def say(self, text: str) -> None:
        """Drop the line."""
