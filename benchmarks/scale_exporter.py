"""A process that looks to Prometheus like the metrics pages of many vLLM servers.

    python -m benchmarks.scale_exporter --port P --servings N --replicas M --shelves 100,200,…

`/page/I` holds the series of `PER_PAGE` servings with the labels that a PodMonitor adds, to be
scraped with `honor_labels`. Every replica has about 60 series: all that the named queries read,
three histograms of ten buckets among them. Counters grow as under steady load, at a pace of each
replica's own. The label `shelf` tells from which size of the fleet on a replica belongs to it, so
that one Prometheus can answer for every size.
"""

from __future__ import annotations

import argparse
import bisect
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Final

from benchmarks.scale_answers import QuietServer
from benchmarks.scale_fleet import Member, members

PER_PAGE: Final = 25
SEED: Final = 12
MODEL: Final = "meta-llama/Meta-Llama-3-8B-Instruct"

CONCURRENCY: Final = 8.0
STEPS: Final = 100.0
"""Engine steps per second; each has one request-step of every request in decode."""
ACCEPTED: Final = (0.60, 0.33, 0.12, 0.05)
ANSWER: Final = 250.0
PROMPT: Final = 400.0
_BOUNDS: Final = {
    "vllm:inter_token_latency_seconds": ("0.01", "0.025", "0.05", "0.075", "0.1", "0.15", "0.3"),
    "vllm:request_time_per_output_token_seconds": (
        *("0.01", "0.025", "0.05", "0.075", "0.1", "0.15", "0.3"),
    ),
    "vllm:e2e_request_latency_seconds": ("0.3", "0.5", "1.0", "2.5", "5.0", "10.0", "60.0"),
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One series: a counter by its pace, a gauge by its level."""

    name: str
    labels: str = ""
    pace: float = 0.0
    level: float = 0.0


def lines() -> tuple[Line, ...]:
    """Every series of one replica."""
    request_steps = CONCURRENCY * STEPS
    tokens = request_steps * (1.0 + sum(ACCEPTED))
    finished = tokens / ANSWER
    counters = {
        "vllm:generation_tokens_total": tokens,
        "vllm:prompt_tokens_total": finished * PROMPT,
        "vllm:iteration_tokens_total_count": STEPS,
        "vllm:spec_decode_num_drafts_total": request_steps,
        "vllm:spec_decode_num_draft_tokens_total": request_steps * len(ACCEPTED),
        "vllm:num_preemptions_total": 0.0,
        "vllm:request_queue_time_seconds_sum": 0.0,
        "vllm:request_prompt_tokens_sum": finished * PROMPT,
        "vllm:request_prompt_tokens_count": finished,
        "vllm:request_generation_tokens_sum": finished * ANSWER,
        "vllm:request_generation_tokens_count": finished,
        "vllm:time_to_first_token_seconds_sum": finished * 0.08,
        "vllm:time_to_first_token_seconds_count": finished,
    }
    gauges = {
        "vllm:num_requests_running": CONCURRENCY,
        "vllm:num_requests_waiting": 0.0,
        "vllm:kv_cache_usage_perc": 0.25,
        "vllm:generation_tokens_created": 1.75e9,
    }
    reasons = {"stop": 0.9, "length": 0.1, "abort": 0.0, "error": 0.0, "repetition": 0.0}
    return (
        *(Line(name=name, pace=pace) for name, pace in counters.items()),
        *(Line(name=name, level=level) for name, level in gauges.items()),
        *(
            Line(
                name="vllm:spec_decode_num_accepted_tokens_per_pos_total",
                labels=f',position="{position}"',
                pace=request_steps * share,
            )
            for position, share in enumerate(ACCEPTED)
        ),
        *(
            Line(
                name="vllm:request_success_total",
                labels=f',finished_reason="{reason}"',
                pace=finished * share,
            )
            for reason, share in reasons.items()
        ),
        *(
            Line(name="vllm:num_requests_waiting_by_reason", labels=f',reason="{reason}"')
            for reason in ("capacity", "deferred")
        ),
        Line(
            name="vllm:prompt_tokens_by_source_total",
            labels=',source="local_compute"',
            pace=finished * PROMPT,
        ),
        *_histogram("vllm:inter_token_latency_seconds", request_steps, 1.0 / STEPS),
        *_histogram("vllm:request_time_per_output_token_seconds", finished, CONCURRENCY / tokens),
        *_histogram("vllm:e2e_request_latency_seconds", finished, ANSWER * CONCURRENCY / tokens),
    )


def _histogram(name: str, pace: float, mean: float) -> Iterator[Line]:
    """Sum, count and buckets, values spread evenly from nothing to twice the mean."""
    yield Line(name=f"{name}_sum", pace=pace * mean)
    yield Line(name=f"{name}_count", pace=pace)
    for bound in (*_BOUNDS[name], "+Inf"):
        share = min(1.0, float(bound) / (2.0 * mean))
        yield Line(name=f"{name}_bucket", labels=f',le="{bound}"', pace=pace * share)


class Page:
    """The series of some servings, rendered anew for each scrape."""

    def __init__(self, served: Sequence[Member], shelves: Sequence[int]) -> None:
        kinds = lines()
        numbers = random.Random(f"{SEED} {served[0].number}" if served else SEED)
        texts, self._paces, self._levels = [], list[float](), list[float]()
        for member in served:
            shelf = shelf_of(member.number, shelves)
            for pod in member.pods:
                own = numbers.uniform(0.999, 1.001)
                who = f'namespace="{member.namespace}",pod="{pod}",engine="0",shelf="{shelf}"'
                for kind in kinds:
                    texts.append(f'{kind.name}{{{who},model_name="{MODEL}"{kind.labels}}} %.3f\n')
                    self._paces.append(kind.pace * own)
                    self._levels.append(kind.level)
        self._text = "".join(texts)

    def render(self, age: float) -> bytes:
        """The page of servers that have been under load for `age` seconds."""
        values = [level + pace * age for level, pace in zip(self._levels, self._paces, strict=True)]
        return (self._text % tuple(values)).encode()


def shelf_of(number: int, shelves: Sequence[int]) -> int:
    """The smallest size of the fleet that a serving belongs to."""
    return shelves[bisect.bisect_right(shelves, number)]


def pages_for(servings: int) -> int:
    """How many pages that many servings fill."""
    return -(-servings // PER_PAGE)


def main(arguments: list[str] | None = None) -> int:
    """Serve until ended."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale_exporter", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--servings", type=int, required=True)
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--shelves", type=lambda text: sorted(map(int, text.split(","))))
    chosen = parser.parse_args(arguments)
    shelves = chosen.shelves or [chosen.servings]
    pages = [
        Page(
            members(first, min(first + PER_PAGE, chosen.servings), chosen.replicas),
            shelves,
        )
        for first in range(0, chosen.servings, PER_PAGE)
    ]
    QuietServer(("127.0.0.1", chosen.port), _handler(pages)).serve_forever()
    return 0


def _handler(pages: Sequence[Page]) -> type[BaseHTTPRequestHandler]:
    began = time.time() - 3600.0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = self.path.removeprefix("/page/")
            if not number.isdecimal() or int(number) >= len(pages):
                self.send_error(404)
                return
            body = pages[int(number)].render(time.time() - began)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


if __name__ == "__main__":
    raise SystemExit(main())
