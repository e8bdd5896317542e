"""Processes that this package started: kept apart from every other by pid and start time."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
HELD_BACK = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask a command to end."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class ProcessId:
    """A process for ever: a pid alone may be given to another process after its end."""

    pid: int
    start_ticks: int
    """Clock ticks since boot at which it started (field 22 of /proc/PID/stat)."""

    def alive(self) -> bool:
        """Whether this very process runs (a zombie does not)."""
        return _stat(self.pid) == (self.start_ticks, True)

    def kill(self, number: signal.Signals) -> None:
        """Send the signal if this very process still runs."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def stop(self, *, grace_s: float) -> None:
        """SIGTERM, then SIGKILL when it has not ended within the grace; returns once it ended."""
        self.kill(signal.SIGTERM)
        if not self.wait_gone(timeout_s=grace_s):
            self.kill(signal.SIGKILL)
            self.wait_gone(timeout_s=10)

    def wait_gone(self, *, timeout_s: float) -> bool:
        """Whether it ended within the time."""
        end = time.monotonic() + timeout_s
        while self.alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True


def identify(pid: int) -> ProcessId | None:
    """The identity of a running process; None when there is none with this pid."""
    stat = _stat(pid)
    return ProcessId(pid=pid, start_ticks=stat[0]) if stat and stat[1] else None


def _stat(pid: int) -> tuple[int, bool] | None:
    """Start time, and whether it still runs."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name stands in parentheses and may hold spaces and parentheses itself.
    fields = text.rpartition(")")[2].split()
    return int(fields[19]), fields[0] not in "ZX"


def die_with_parent() -> None:
    """For `preexec_fn`: the kernel kills this process when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def children(pid: int) -> list[int]:
    """The pids of the direct children, as this process sees them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return sorted(found)


def inner_pids(namespace_member: int) -> dict[int, int]:
    """Pid inside → pid outside, for every process in the member's pid namespace."""
    wanted = os.readlink(f"/proc/{namespace_member}/ns/pid")
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "ns" / "pid") != wanted:
                continue
            status = (entry / "status").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        line = next(line for line in status.splitlines() if line.startswith("NSpid:"))
        found[int(line.split()[-1])] = int(entry.name)
    return found
