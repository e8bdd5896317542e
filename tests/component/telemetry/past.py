"""A Prometheus that holds hours of a made-up past, scraped once with its times.

Pods come, go and change their load at known moments, so what must be read back is known exactly.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ridgeline.telemetry.endpoint import Endpoint
from tests.cluster.prometheus import RunningPrometheus, start_prometheus

NAMESPACE = "inference"
SAMPLE_SECONDS = 15
HOURS = 4
STEP_SECONDS = 0.02
TOKENS_PER_STEP = 2.5
STOPPED = 0.8
"""Share of requests that end by themselves."""


@dataclass(frozen=True, kw_only=True)
class PastPod:
    """A Pod that lived from one moment to another, in seconds after the beginning.

    Attributes:
        name: Its name.
        concurrency: Requests in decode, from these seconds on.
        born, dies: When its samples begin and end.
        engines: Engines, all alike.
        drafts: Whether it speculates.
    """

    name: str
    concurrency: tuple[tuple[float, float], ...]
    born: float = 0.0
    dies: float = HOURS * 3600.0
    engines: int = 1
    drafts: bool = True

    def decoded(self, since_birth: float) -> float:
        """Inter-token seconds that one engine has counted by then."""
        total = 0.0
        for number, (begins, level) in enumerate(self.concurrency):
            ends = self.concurrency[number + 1][0] if number + 1 < len(self.concurrency) else 1e9
            total += level * max(0.0, min(since_birth + self.born, ends) - max(begins, self.born))
        return total

    def counters(self, since_birth: float) -> dict[str, float]:
        """Counters of one engine by then; a request is 100 tokens and takes up to 60 s."""
        seconds = self.decoded(since_birth)
        steps = seconds / STEP_SECONDS
        tokens = steps * (TOKENS_PER_STEP if self.drafts else 1.0)
        requests = tokens / 100
        found = {
            "vllm:inter_token_latency_seconds_sum": seconds,
            "vllm:inter_token_latency_seconds_count": steps,
            "vllm:generation_tokens_total": tokens + requests,
            "vllm:time_to_first_token_seconds_count": requests,
            "vllm:iteration_tokens_total_count": since_birth / STEP_SECONDS,
            'vllm:request_success_total{finished_reason="stop"}': requests * STOPPED,
            'vllm:request_success_total{finished_reason="length"}': requests * (1 - STOPPED),
            'vllm:e2e_request_latency_seconds_bucket{le="30.0"}': 0.0,
            'vllm:e2e_request_latency_seconds_bucket{le="60.0"}': requests,
            'vllm:e2e_request_latency_seconds_bucket{le="+Inf"}': requests,
            "vllm:e2e_request_latency_seconds_count": requests,
        }
        if self.drafts:
            found["vllm:spec_decode_num_drafts_total"] = steps
        return found


TURN = 2 * 3600.0
"""Seconds after the beginning at which `llama` was rolled, and its load rose."""

PODS = (
    PastPod(name="llama-7c9f8d6b5-x2z4q", concurrency=((0, 4.0),), dies=TURN),
    PastPod(name="llama-7c9f8d6b5-bbbbb", concurrency=((0, 8.0),), dies=TURN + 300),
    PastPod(name="llama-66d9c4bf7-ccccc", concurrency=((0, 24.0),), born=TURN, drafts=False),
    PastPod(name="llama-66d9c4bf7-ddddd", concurrency=((0, 30.0),), born=TURN, drafts=False),
    PastPod(name="llama-70b-5f6d7c8b9-x2z4q", concurrency=((0, 2.0), (TURN, 3.0)), engines=2),
    PastPod(name="bare", concurrency=((0, 1.0),)),
)


def page(beginning: float) -> str:
    """The whole past as one page with times."""
    lines = []
    for pod in PODS:
        first = -(-pod.born // SAMPLE_SECONDS) * SAMPLE_SECONDS
        moments = range(int(first), int(pod.dies) + 1, SAMPLE_SECONDS)
        for engine in range(pod.engines):
            labels = f'namespace="{NAMESPACE}",pod="{pod.name}",engine="{engine}"'
            for metric in pod.counters(1.0):
                name, _, more = metric.partition("{")
                series = f"{name}{{{labels},{more}" if more else f"{name}{{{labels}}}"
                for moment in moments:
                    value = pod.counters(moment - pod.born)[metric]
                    stamp = round((beginning + moment) * 1000)
                    lines.append(f"{series} {value!r} {stamp}\n")
    return "".join(lines)


@dataclass(frozen=True, kw_only=True)
class Past:
    """A running Prometheus with a past.

    Attributes:
        url: Its address.
        beginning: Epoch seconds of the first samples; a multiple of five minutes.
    """

    url: str
    beginning: int

    @property
    def end(self) -> int:
        """Epoch seconds of the last samples."""
        return self.beginning + HOURS * 3600

    def endpoint(self, **fields: object) -> Endpoint:
        """It as a telemetry endpoint."""
        return Endpoint(**({"name": "past", "url": self.url} | fields))  # type: ignore[arg-type]


@contextmanager
def past_prometheus(folder: Path, binary: Path) -> Iterator[Past]:
    """Run a Prometheus that has swallowed the past, while entered."""
    now = int(time.time())
    beginning = now // 300 * 300 - HOURS * 3600
    with _served(page(beginning).encode()) as address:
        config = {
            # Long ago means out of order, once the scrape's own series are as of now.
            "storage": {"tsdb": {"out_of_order_time_window": "30d"}},
            "scrape_configs": [
                {
                    "job_name": "past",
                    "scrape_interval": "5s",
                    "scrape_timeout": "5s",
                    "honor_labels": True,
                    "static_configs": [{"targets": [address]}],
                }
            ],
        }
        prometheus = start_prometheus(json.dumps(config), folder, binary=binary)
        try:
            past = Past(url=prometheus.url, beginning=beginning)
            _wait_for(past, prometheus)
            yield past
        finally:
            prometheus.stop()


def _wait_for(past: Past, prometheus: RunningPrometheus) -> None:
    connect = past.endpoint().as_prometheus_connect()
    deadline = time.monotonic() + 60
    query = f"count_over_time(vllm:generation_tokens_total[{HOURS + 1}h])"
    wanted = sum(
        each.engines * len(range(int(each.born), int(each.dies) + 1, SAMPLE_SECONDS))
        for each in PODS
    )
    while True:
        found = connect.custom_query(f"sum({query})", params={"time": past.end})
        if found and float(found[0]["value"][1]) >= wanted:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{prometheus.url} did not take the past: {found}, want {wanted}")
        time.sleep(0.2)


@contextmanager
def _served(body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
