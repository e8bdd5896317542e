"""Operators that share a Lease: each its own process, account and name."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.scene.operator_process import OperatorProcess


class Replica(OperatorProcess):
    """One of several operators; every life of it has another name, as every Pod has.

    Attributes:
        name: Its account.
        identity: Name of its present life, by which it holds the Lease.
    """

    def __init__(self, name: str, kubeconfig: Path, prometheus_url: str, **changes: Any) -> None:
        super().__init__(kubeconfig, prometheus_url, **changes)
        self.name = name
        self.identity = ""
        self._lives = itertools.count(1)

    def start(self, prefix: Sequence[str] = ()) -> None:
        """Start it, again after it was ended; `prefix` goes before its command line."""
        self.identity = f"{self.name}-{next(self._lives)}"
        super().start(("env", f"POD_NAME={self.identity}", *prefix))

    def stop(self, timeout_s: float = 30.0) -> int:
        """SIGTERM, also to one that stands still; return its exit code.

        Raises:
            TimeoutError: It does not end, and was killed; tells its last words.
        """
        self.go_on()
        try:
            return super().stop(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{self.identity} does not end:\n{self.log_tail()}") from error

    @property
    def leads(self) -> bool:
        """Whether it says that it holds the Lease."""
        return self.metric("ridgeline_leader") == 1.0

    def stand_still(self) -> None:
        """SIGSTOP: it does nothing any more, and keeps its connections."""
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
