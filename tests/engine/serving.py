"""One real server at a time: started with the arguments that the operator renders, asked, ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.engine.environment import environment, model, python

READY_SECONDS = 1800
"""On two busy cores a start takes one to four minutes, and longer where others work."""
STOP_SECONDS = 300
FLAGS = ("--max-model-len", "1024", "--max-num-seqs", "64", "--enforce-eager")


class NotReadyError(Exception):
    """The server ended, or did not answer in time; the text is the end of what it said."""


@dataclass
class Server:
    """A server that answers.

    Attributes:
        url: Where.
        target: The served model.
        ready_seconds: From start to the first answer of /health.
        log: File of what it writes.
    """

    url: str
    target: str
    process: subprocess.Popen[bytes]
    log: Path
    ready_seconds: float = 0.0
    exit_code: int | None = field(default=None)

    def get(self, path: str) -> str:
        """Return the answer to a GET."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            text: str = answer.read().decode()
        return text

    def complete(self, prompt: Sequence[int], tokens: int) -> str:
        """Return the greedy answer to a prompt of token ids, of exactly so many tokens."""
        asked = {"model": self.target, "prompt": list(prompt), "max_tokens": tokens}
        asked |= {"temperature": 0, "ignore_eos": True}
        request = urllib.request.Request(
            self.url + "/v1/completions",
            data=json.dumps(asked).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            text: str = json.loads(answer.read())["choices"][0]["text"]
        return text

    def load(self, *, requests: int, at_once: int, tokens: int) -> list[str]:
        """Return the answers to many prompts, so many of them asked at the same time."""
        prompts = [[3 + (7 * number + place) % 200 for place in range(32)] for number in
                   range(requests)]  # fmt: skip
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(lambda prompt: self.complete(prompt, tokens), prompts))


@contextmanager
def served(words: Sequence[str], *, log: Path, target: str = "target") -> Iterator[Server]:
    """Serve a model with these arguments beside the usual ones; end the server afterwards.

    Raises:
        NotReadyError: It ended before it was ready, or was not ready in time.
    """
    port = _free_port()
    served_model = model(target)
    command = [str(python()), "-m", "vllm.entrypoints.cli.main", "serve", served_model]
    command += ["--host", "127.0.0.1", "--port", str(port), *FLAGS, *words]
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["nice", *command], env=environment(), stdout=out, stderr=out, start_new_session=True
        )
    server = Server(url=f"http://127.0.0.1:{port}", target=served_model, process=process, log=log)
    try:
        server.ready_seconds = _wait(server)
        yield server
    finally:
        server.exit_code = _end(process)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def _wait(server: Server) -> float:
    started = time.monotonic()
    while time.monotonic() - started < READY_SECONDS:
        code = server.process.poll()
        if code is not None:
            raise NotReadyError(f"exit code {code}:\n{last_lines(server.log)}")
        try:
            server.get("/health")
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return time.monotonic() - started
    raise NotReadyError(f"not ready after {READY_SECONDS} s:\n{last_lines(server.log)}")


def _end(process: subprocess.Popen[bytes]) -> int:
    """Ask the server to stop, then end its whole group; return the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    code = process.wait()
    # Its engine core is a process of the same group.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return code


def last_lines(log: Path, count: int = 12) -> str:
    """Return the end of what a server said."""
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(line[:400] for line in lines[-count:])
