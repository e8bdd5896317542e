"""The operator's own HTTP endpoints: /metrics, probes, explanations; /debug/profile, if it is on.

They run on threads of their own, so that a stuck event loop still answers, and says that it is.
"""

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ridgeline.controller.profiler import LONGEST_SECONDS, Profiler, ProfileUnderWayError

Probe = Callable[[], str | None]
"""Returns why the answer is no, `None` for yes."""

Explain = Callable[[str], tuple[HTTPStatus, bytes]]
"""Answers a path below `EXPLAIN`, in JSON."""

EXPLAIN: Final = "/explain/"


SILENCE_SECONDS: Final = 10.0
"""A connection that asks nothing for so long gives its thread back."""


class _DualStackServer(ThreadingHTTPServer):
    """Listens on IPv4 and IPv6: the kubelet probes the address family of the Pod."""

    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        """Bind, for both families where there are two."""
        if self.address_family is socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


class OwnEndpoints:
    """Serves metrics and probes from `start` until `stop`."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        port: int,
        alive: Probe,
        ready: Probe,
        profiler: Profiler | None = None,
        explain: Explain | None = None,
    ) -> None:
        pages: dict[str, Probe] = {"/healthz": alive, "/readyz": ready}

        class Handler(BaseHTTPRequestHandler):
            timeout = SILENCE_SECONDS

            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                if path == "/metrics":
                    self._answer(HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE_LATEST)
                elif path in pages:
                    trouble = pages[path]()
                    code = HTTPStatus.OK if trouble is None else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(code, f"{trouble or 'ok'}\n".encode(), "text/plain")
                elif path == "/debug/profile" and profiler is not None:
                    self._answer(*_profiled(profiler, query), "text/plain; charset=utf-8")
                elif path.startswith(EXPLAIN) and explain is not None:
                    self._answer(*explain(path), "application/json")
                else:
                    self._answer(HTTPStatus.NOT_FOUND, b"not found\n", "text/plain")

            def _answer(self, code: HTTPStatus, body: bytes, content_type: str) -> None:
                self.send_response(code)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Keep scrapes and probes out of the log."""

        self._server = _DualStackServer(("", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """The port that is served, also where the system chose it."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _profiled(profiler: Profiler, query: str) -> tuple[HTTPStatus, bytes]:
    """Return the answer to a wish for a profile of `seconds=N`."""
    wanted = parse_qs(query).get("seconds", ["10"])[-1]
    if wanted not in map(str, range(1, LONGEST_SECONDS + 1)):
        text = f"seconds must be a whole number from 1 to {LONGEST_SECONDS}\n"
        return HTTPStatus.BAD_REQUEST, text.encode()
    try:
        return HTTPStatus.OK, profiler.sample(int(wanted)).encode()
    except ProfileUnderWayError:
        return HTTPStatus.CONFLICT, b"a profile is being taken already: try again when it ends\n"
