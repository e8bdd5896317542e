"""The supervisor's socket: stop and start components, ask for the state, end the cluster."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.cluster.errors import ClusterError


@dataclass(frozen=True, kw_only=True)
class Request:
    """`stop NAME`, `start NAME`, `status` or `shutdown`."""

    verb: str
    name: str
    connection: socket.socket

    def answer(self, message: dict[str, object]) -> None:
        """Reply and close; nothing happens when the asker has gone."""
        with self.connection, contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")


class ControlServer:
    """Takes one request at a time."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen()

    def __enter__(self) -> ControlServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def next_request(self, *, timeout_s: float) -> Request | None:
        """The next request, or None when none came in time."""
        readable, _, _ = select.select([self._socket], [], [], timeout_s)
        if not readable:
            return None
        connection, _ = self._socket.accept()
        connection.settimeout(2)
        try:
            verb, _, name = connection.makefile().readline().strip().partition(" ")
        except OSError:
            connection.close()
            return None
        return Request(verb=verb, name=name, connection=connection)


def ask(path: Path, request: str, *, timeout_s: float = 30.0) -> Any:
    """Send one request to a supervisor and return its answer.

    Raises:
        ClusterError: no supervisor answers there, or it refused.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            connection.sendall(request.encode() + b"\n")
            with connection.makefile() as reader:
                answer = json.loads(reader.readline() or "null")
    except OSError as error:
        raise ClusterError(
            f"the cluster's supervisor does not answer at {path}: {error}"
        ) from error
    if answer is None or "error" in answer:
        raise ClusterError(f"{request}: {answer['error'] if answer else 'no answer'}")
    return answer
