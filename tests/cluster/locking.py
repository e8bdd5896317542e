"""One builder at a time, and results that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cluster.progress import Progress


@contextlib.contextmanager
def exclusive(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock file; the kernel lets go of it however this process ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"waiting for another build of {lock.stem}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build_once(target: Path, build: Callable[[Path], None], progress: Progress) -> Path:
    """Return `target`, built by `build(scratch)` and renamed into place when it was absent.

    A build that fails or is interrupted leaves no target; its scratch folder goes with it, or at
    the next attempt when the process died hard.
    """
    if target.exists():
        return target
    with exclusive(target.with_name(f".{target.name}.lock"), progress):
        if target.exists():
            return target
        scratch = target.with_name(f".{target.name}.part")
        _remove(scratch)
        scratch.mkdir(parents=True)
        try:
            build(scratch)
            os.rename(scratch, target)
        finally:
            _remove(scratch)
    return target


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
