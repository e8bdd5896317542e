"""A profile of the running operator: where its event loop is, a hundred times a second.

Samples are stacks of functions: file, function and line, never an argument, a variable or a
message, so that a profile holds no address and no secret. It is taken from another thread, which
also sees a loop that is stuck.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

INTERVAL_SECONDS: Final = 0.01

LONGEST_SECONDS: Final = 60

_DEPTH: Final = 128
"""Frames of a stack that are kept, from the innermost."""


class ProfileUnderWayError(Exception):
    """A profile is being taken already."""


class Profiler:
    """Samples one thread, by default the one that makes this object."""

    def __init__(self, thread: int | None = None) -> None:
        self._thread = thread if thread is not None else threading.get_ident()
        self._one = threading.Lock()

    def sample(self, seconds: float) -> str:
        """Return the stacks of the next `seconds`, folded: `outer;…;inner COUNT` a line.

        This is what speedscope and FlameGraph read. It blocks the caller, never the sampled thread.

        Raises:
            ProfileUnderWayError: Another caller samples it now.
        """
        if not self._one.acquire(blocking=False):
            raise ProfileUnderWayError
        try:
            return _text(self._stacks(seconds))
        finally:
            self._one.release()

    def _stacks(self, seconds: float) -> Counter[str]:
        stacks: Counter[str] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            frame = sys._current_frames().get(self._thread)
            if frame is not None:
                stacks[";".join(reversed(list(_named(frame))))] += 1
            time.sleep(INTERVAL_SECONDS)
        return stacks


def _named(frame: FrameType | None) -> Iterator[str]:
    for _ in range(_DEPTH):
        if frame is None:
            return
        code = frame.f_code
        yield f"{Path(code.co_filename).name}:{code.co_qualname}:{frame.f_lineno}"
        frame = frame.f_back


def _text(stacks: Counter[str]) -> str:
    return "".join(f"{stack} {count}\n" for stack, count in stacks.most_common())
