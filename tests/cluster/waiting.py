"""Waiting for what a cluster does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    done: Callable[[], object], what: str, *, timeout_s: float = 60.0, every_s: float = 0.2
) -> None:
    """Ask `done()` until its answer is true.

    Raises:
        TimeoutError: it did not become true in time; names `what`.
    """
    end = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(every_s)
