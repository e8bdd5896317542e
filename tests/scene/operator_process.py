"""The operator as a process of this machine: `ridgeline run` with a configuration of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.prometheus import free_ports

WINDOW_SECONDS = 8


def operator_config(prometheus_url: str, port: int, **changes: Any) -> dict[str, Any]:
    """Return a configuration with short times, for a Prometheus that scrapes every second."""
    config: dict[str, Any] = {
        "tickSeconds": 2,
        "rateWindowSeconds": WINDOW_SECONDS,
        "staleAfterSeconds": 15,
        "relistSeconds": 20,
        "port": port,
        "lease": {"namespace": "default", "name": "ridgeline", "durationSeconds": 5},
        "telemetry": [{"name": "default", "url": prometheus_url}],
    }
    return {**config, **changes}


class OperatorProcess:
    """One `ridgeline run`; ends with the block that started it."""

    def __init__(
        self, kubeconfig: Path, prometheus_url: str, *, log_level: str = "info", **changes: Any
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ridgeline-operator-")
        self.port = free_ports(1)[0]
        self._config = Path(self._folder.name) / "config.yaml"
        self._settings = operator_config(prometheus_url, self.port, **changes)
        self.configure()
        self.log_path = Path(self._folder.name) / "operator.log"
        self._kubeconfig = kubeconfig
        self._log_level = log_level
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OperatorProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def configure(self, **changes: Any) -> None:
        """Change fields of its configuration file, also while it runs, at one stroke."""
        self._settings.update(changes)
        written = self._config.with_suffix(".new")
        written.write_text(yaml.safe_dump(self._settings))
        written.replace(self._config)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def ended(self) -> bool:
        """Whether it was started and has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int:
        """Its process, or the last that it was."""
        assert self._process is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit code of the process that ended by itself; None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self, prefix: Sequence[str] = ()) -> None:
        """Start it (again, after `stop` or `kill`); `prefix` goes before its command line."""
        command = [
            *prefix,
            *(sys.executable, "-m", "ridgeline.cli", "run"),
            *("--config", str(self._config)),
            *("--kubeconfig", str(self._kubeconfig)),
            *("--log-level", self._log_level),
        ]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )

    def stop(self, timeout_s: float = 30.0) -> int:
        """End it as Kubernetes would; return its exit code."""
        return self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> int:
        """End it as the kernel would: nothing is cleaned up."""
        return self._end(signal.SIGKILL, 10.0)

    def _end(self, by: signal.Signals, timeout_s: float) -> int:
        process = self._process
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(by)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        self._process = None
        return code

    def wait_ready(self, timeout_s: float = 60.0) -> None:
        """Wait until the first listing is in."""
        end = time.monotonic() + timeout_s
        while self.page("/readyz") is None:
            if not self.running:
                raise RuntimeError(f"the operator ended:\n{self.log_tail()}")
            if time.monotonic() > end:
                raise TimeoutError(f"the operator is not ready:\n{self.log_tail()}")
            time.sleep(0.2)

    def page(self, path: str) -> str | None:
        """One of its own pages; None when it does not answer, or not with 200."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    def metric(self, name: str, **labels: str) -> float | None:
        """The sum of a metric's samples that have these labels; None without a sample."""
        return self.metrics(**labels).get(name)

    def metrics(self, **labels: str) -> dict[str, float]:
        """The samples that have these labels, summed by name; empty when it does not answer."""
        page = self.page("/metrics")
        found: dict[str, float] = {}
        if page is None:
            return found
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                if labels.items() <= sample.labels.items():
                    found[sample.name] = found.get(sample.name, 0.0) + sample.value
        return found

    def log(self) -> list[str]:
        """Every line that it has written, over all its lives."""
        return self.log_path.read_text(errors="replace").splitlines()

    def log_tail(self, lines: int = 30) -> str:
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])
