"""The supervisor's children: started, watched, and reaped in one place."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.component import Component
from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.processes import die_with_parent

_POLL_S = 0.05


class Stopping(Exception):  # noqa: N818 - a request, not an error
    """Somebody asked the supervisor to end."""


class Children:
    """Programs by name. Not thread-safe: one loop starts, waits and stops."""

    def __init__(self, logs: Path, stopping: Callable[[], bool]) -> None:
        self._logs = logs
        self._stopping = stopping
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, int] = {}

    def start(self, component: Component) -> None:
        """Start the program; its output is appended to its log."""
        with self.log(component.name).open("ab") as output:
            self._running[component.name] = subprocess.Popen(
                component.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
                start_new_session=True,
            )
        self._ended.pop(component.name, None)

    def log(self, name: str) -> Path:
        """The program's log file."""
        return self._logs / f"{name}.log"

    def pids(self) -> dict[str, int]:
        """Name → pid of what runs."""
        return {name: process.pid for name, process in self._running.items()}

    def reap(self) -> list[str]:
        """Collect ended processes; returns the names of those programs that ended just now."""
        just_ended = []
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is not None:
                del self._running[name]
                self._ended[name] = code
                just_ended.append(name)
        # As first process of a pid namespace this one inherits every orphan, container shims
        # among them. WNOWAIT looks without taking, so that a program's end is left to its Popen.
        while (info := _any_ended()) is not None:
            if info in {process.pid for process in self._running.values()}:
                break
            os.waitpid(info, 0)
        return just_ended

    def wait_until(self, done: Callable[[], bool], what: str, *, timeout_s: float) -> None:
        """Wait, and watch the programs meanwhile.

        Raises:
            ClusterError: a program ended, or the time is up; with the end of a log.
            Stopping: the supervisor was asked to end.
        """
        end = time.monotonic() + timeout_s
        while not done():
            self._check(self.reap())
            if time.monotonic() > end:
                raise ClusterError(f"{what}: not within {timeout_s:.0f} s\n{self._all_tails()}")
            time.sleep(_POLL_S)

    def wait_for_ends(self, names: list[str], what: str, *, timeout_s: float) -> None:
        """Wait until these short programs ended well; the others must go on running.

        Raises:
            ClusterError: one of them failed, another program ended, or the time is up.
            Stopping: the supervisor was asked to end.
        """
        end = time.monotonic() + timeout_s
        while any(name in self._running for name in names):
            self._check([name for name in self.reap() if name not in names])
            if time.monotonic() > end:
                raise ClusterError(f"{what}: not within {timeout_s:.0f} s")
            time.sleep(_POLL_S)
        self._check([name for name in names if self._ended[name] != 0])

    def stop(self, name: str, *, grace_s: float = 5.0) -> None:
        """SIGTERM, then SIGKILL after the grace."""
        process = self._running.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_all(self) -> None:
        """SIGKILL for all: nothing of a cluster that goes is worth saving."""
        for process in self._running.values():
            process.send_signal(signal.SIGKILL)
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def _check(self, ended: list[str]) -> None:
        if self._stopping():
            raise Stopping
        if ended:
            name = ended[0]
            text = f"{name} ended with code {self._ended[name]}"
            raise ClusterError(with_log_tail(text, self.log(name).read_bytes()))

    def _all_tails(self) -> str:
        return "\n".join(
            with_log_tail(name, self.log(name).read_bytes(), lines=6) for name in self._running
        )


def _any_ended() -> int | None:
    """The pid of some ended child, left in place."""
    try:
        info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return info.si_pid if info is not None else None
