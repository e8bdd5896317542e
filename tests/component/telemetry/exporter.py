"""A scripted exporter: many replicas on one port, each replaying a recorded load at its own pace.

A replica's counters run straight on from the page before the load to the page after it, so the
rates that a correct reader must find are known exactly: differences of the two pages over
`LOAD_SECONDS`.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.component.telemetry.made_up import MADE_UP, made_up_page
from tests.component.telemetry.stand_in_pages import stand_in_pages

LOAD_SECONDS = 20.0
"""How long the recorded load ran between the two pages; a made-up one runs as long."""

_PAGES = Path(__file__).with_name("pages")
_LINE = re.compile(r"(?P<series>[^ ]+) (?P<value>[^ ]+)")
_UNREAD = re.compile(
    r"vllm:(?!inter_token|time_per_output|request_time_per_output|e2e_request)\w+_bucket{"
)
"""Many series that no query reads; left out, or the exporter could not keep up with its scrapes."""
_GAUGE = re.compile(r"vllm:(num_requests_|kv_cache_usage_perc)|\w+_created")


@cache
def page(source: str, moment: str) -> Mapping[str, float]:
    """Series → value of a page, in its order: committed, made up, or a recording elsewhere.

    A source with a `/` in it is the path of a recording without `-before.prom` or `-after.prom`,
    and `stand-in-VERSION` is the stand-in server.
    """
    if source in MADE_UP:
        return {s: v * (moment == "after") for s, v in made_up_page(MADE_UP[source]).items()}
    if source.startswith("stand-in-"):
        lines = _stand_in(source.removeprefix("stand-in-"))[moment].splitlines()
    else:
        stem = source if "/" in source else str(_PAGES / source)
        lines = Path(f"{stem}-{moment}.prom").read_text().splitlines()
    found = (_LINE.fullmatch(line) for line in lines if line.startswith("vllm:"))
    named = {match["series"]: float(match["value"]) for match in found if match}
    return {series: value for series, value in named.items() if not _UNREAD.match(series)}


@cache
def _stand_in(version: str) -> Mapping[str, str]:
    return stand_in_pages(version, LOAD_SECONDS)


def recorded_rate(source: str, series: str) -> float:
    """Increase per second of `series` (with its labels, engine 0) while the load ran."""
    name, _, labels = series.partition("{")
    named = ('engine="0"', 'model_name="/models/target"', labels[:-1])
    inner = ",".join(sorted(part for part in named if part))
    key = f"vllm:{name}{{{inner}}}"
    return (page(source, "after")[key] - page(source, "before")[key]) / LOAD_SECONDS


@dataclass(kw_only=True)
class Replica:
    """What one path of the exporter serves; every time is seconds since the exporter started.

    Attributes:
        source: Recorded or made-up load.
        paces: Speed of each engine, 1 as recorded.
        serves_from, serves_until: Outside of these it answers 503.
        reset_at: The server restarts then: its counters begin at 0.
        created: Creation time of the server's series.
        rewrite: Last change of the page's text.
    """

    source: str
    paces: tuple[float, ...] = (1.0,)
    serves_from: float = 0.0
    serves_until: float = float("inf")
    reset_at: float | None = None
    created: float = 1_700_000_000.0
    rewrite: Callable[[str], str] = field(default=lambda text: text)

    def text(self, seconds: float) -> str | None:
        """The page at this time, `None` while the replica does not serve."""
        if not self.serves_from <= seconds < self.serves_until:
            return None
        return self.rewrite(
            "".join(self._engine(seconds, number, pace) for number, pace in enumerate(self.paces))
        )

    def _engine(self, seconds: float, number: int, pace: float) -> str:
        before, after = page(self.source, "before"), page(self.source, "after")
        restarted = self.reset_at is not None and seconds >= self.reset_at
        share = pace * (seconds - (self.reset_at or 0.0) * restarted) / LOAD_SECONDS
        lines = []
        for series, start in before.items():
            value = (0.0 if restarted else start) + (after.get(series, start) - start) * share
            if _GAUGE.search(series):
                value = self.created if "_created" in series else after.get(series, start)
            labelled = series.replace('engine="0"', f'engine="{number}"')
            lines.append(f"{labelled} {value!r}\n")
        return "".join(lines)


class Exporter:
    """Serves `/<replica>/metrics` on a free loopback port while it is entered."""

    def __init__(self, replicas: Mapping[str, Replica]) -> None:
        self.replicas = dict(replicas)
        for replica in replicas.values():
            # Made before the first scrape, which would not wait for it.
            page(replica.source, "before")
            page(replica.source, "after")
        self.started = time.monotonic()
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept

            def do_GET(self) -> None:
                replica = exporter.replicas[self.path.split("/")[1]]
                text = replica.text(exporter.seconds())
                body = (text or "not now").encode()
                self.send_response(503 if text is None else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._server.server_port}"

    def seconds(self) -> float:
        """Seconds since it started."""
        return time.monotonic() - self.started

    def wait_until(self, seconds: float) -> None:
        """Sleep until so many seconds after the start."""
        time.sleep(max(0.0, seconds - self.seconds()))

    def __enter__(self) -> Self:
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
        self._thread.join()
