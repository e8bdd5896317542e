"""A wire to the API server that a test can cut or clog."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_CLOSING_SECONDS = 0.1
"""Sockets are closed a moment after their transports."""


class Wire:
    """Forwards connections to the API server.

    `cut` ends all connections and refuses new ones; `clog` lets nothing through and answers
    nothing, as a firewall that drops packets; `mend` ends either.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._open = asyncio.Event()
        self._open.set()
        self._refusing = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        self._refusing = True
        for writer in self._writers:
            writer.transport.abort()

    def clog(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._refusing = False
        self._open.set()

    def _is_cut(self) -> bool:
        return self._refusing

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut():
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
        if self._is_cut():  # meanwhile
            writer.transport.abort()
            there_writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        sink.close()

    async def end(self) -> None:
        self.mend()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(_CLOSING_SECONDS)


@contextlib.asynccontextmanager
async def wired(kubeconfig: Path, folder: Path) -> AsyncIterator[tuple[Wire, str]]:
    """Give a wire to the API server of a kubeconfig, and a kubeconfig that goes through it."""
    content = _content(kubeconfig)
    context = next(
        each["context"]
        for each in content["contexts"]
        if each["name"] == content["current-context"]
    )
    cluster = next(
        each["cluster"] for each in content["clusters"] if each["name"] == context["cluster"]
    )
    server = urlsplit(cluster["server"])
    wire = Wire(server.hostname or "", server.port or 443)
    listening = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    cluster["server"] = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    cluster.setdefault("tls-server-name", server.hostname)
    try:
        yield wire, _written(folder / f"kubeconfig-{uuid.uuid4().hex[:8]}", content)
    finally:
        listening.close()
        await wire.end()


def _content(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text())
    return content


def _written(file: Path, content: dict[str, Any]) -> str:
    file.write_text(yaml.safe_dump(content))
    return str(file)
