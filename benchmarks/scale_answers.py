"""Stands between the operator and a Prometheus: counts, keeps, and where told repeats its answers.

`Live` passes every query on. `Recorded` asks Prometheus for each query once, before the operator
is measured, and then gives the same answer with the time moved on: what a steady fleet would be
answered, however slow the Prometheus of a small machine is. Range queries of the past are answered
with nothing, as by a store that is new.
"""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.parse
import urllib.request
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final

_STAMP: Final = re.compile(rb'"value":\[([0-9.]+),')
_NOTHING: Final = b'{"status":"success","data":{"resultType":"matrix","result":[]}}'
_DEADLINE: Final = 600.0


@dataclass(kw_only=True)
class Asked:
    """What was asked since the count began.

    Attributes:
        queries: How often each PromQL was asked.
        plain_bytes: Of all answers, before compression.
        wire_bytes: As they were sent.
    """

    queries: Counter[str] = field(default_factory=Counter)
    plain_bytes: int = 0
    wire_bytes: int = 0


class Answers:
    """A server of Prometheus's query API on a loopback port, for as long as the block lasts."""

    def __init__(self, prometheus_url: str, recorded: Mapping[str, bytes] | None = None) -> None:
        """Prepare; nothing listens yet.

        Args:
            prometheus_url: Who is asked.
            recorded: Answer by PromQL; `None` to pass every query on.
        """
        self._prometheus_url = prometheus_url
        self._recorded = recorded
        self._lock = threading.Lock()
        self._asked = Asked()
        self._ever: Counter[str] = Counter()
        self.last: dict[str, bytes] = dict(recorded or {})
        self._server = QuietServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Answers:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count_anew(self) -> Asked:
        """Return what was asked since the last call, and begin again."""
        with self._lock:
            told, self._asked = self._asked, Asked()
        return told

    def times_asked(self, promql: str) -> int:
        """How often a query was answered since the beginning."""
        with self._lock:
            return self._ever[promql]

    @property
    def all_asked(self) -> int:
        """How many queries were answered since the beginning."""
        with self._lock:
            return self._ever.total()

    def answer(self, path: str, form: Mapping[str, str]) -> bytes:
        """The body for a query."""
        if self._recorded is None:
            return ask(self._prometheus_url, path, form)
        if not path.endswith("/query"):
            return _NOTHING
        return moved_on(self._recorded[form["query"]], float(form["time"]))

    def told(self, form: Mapping[str, str], body: bytes, sent: int) -> None:
        """Count an instant query that was answered."""
        with self._lock:
            self._asked.queries[form["query"]] += 1
            self._ever[form["query"]] += 1
            self._asked.plain_bytes += len(body)
            self._asked.wire_bytes += sent
            self.last[form["query"]] = body


class QuietServer(ThreadingHTTPServer):
    """A server that does not complain of clients who leave."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that is ended breaks its connections off."""


def ask(prometheus_url: str, path: str, form: Mapping[str, str]) -> bytes:
    """Ask Prometheus; errors of HTTP and of the network pass through."""
    data = urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(f"{prometheus_url}{path}", data=data)
    with urllib.request.urlopen(request, timeout=_DEADLINE) as answer:
        return bytes(answer.read())


def record(prometheus_url: str, queries: Mapping[str, str]) -> dict[str, bytes]:
    """Ask every query once; answers by name of the query."""
    now = f"{time.time():.3f}"
    return {
        name: ask(prometheus_url, "/api/v1/query", {"query": promql, "time": now})
        for name, promql in queries.items()
    }


def repeated(body: bytes, rename: Callable[[dict[str, str]], Iterable[dict[str, str]]]) -> bytes:
    """An instant answer of a larger fleet: each series again under other labels.

    Args:
        body: The answer.
        rename: Gives the labels of all series that stand for one, by its own.
    """
    told = json.loads(body)
    told["data"]["result"] = [
        {**series, "metric": labels}
        for series in told["data"]["result"]
        for labels in rename(series["metric"])
    ]
    # As Prometheus writes it: without blanks.
    return json.dumps(told, separators=(",", ":")).encode()


def moved_on(body: bytes, to: float) -> bytes:
    """An instant answer as of another time."""
    found = _STAMP.search(body)
    if found is None:
        return body
    stamp = json.dumps(round(to, 3)).encode()
    return body.replace(found[0], b'"value":[' + stamp + b",")


def gzipped(body: bytes) -> bytes:
    """Compress as quickly as can be."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


def _handler(answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
            self._send(self.path, form)

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            self._send(path, dict(urllib.parse.parse_qsl(query)))

        def _send(self, path: str, form: Mapping[str, str]) -> None:
            body = answers.answer(path, form)
            packs = "gzip" in self.headers.get("Accept-Encoding", "")
            sent = gzipped(body) if packs else body
            if path.endswith("/query"):
                answers.told(form, body, len(sent))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            if packs:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
