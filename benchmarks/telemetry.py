"""What reading telemetry costs at scale: parse and join, beside decoding the same answers alone.

    python -m benchmarks.telemetry [--replicas 20000] [--cycles 3] [--json]

A cycle is five ticks: the five fast queries in each and the slow ones in one of them, answered with
what Prometheus would send for so many speculating replicas. Reading (`TelemetryReader.read`, then
one look-up for every Pod) and decoding the same bytes with the faster of orjson and msgspec into
plain Python objects are measured in one process, turn by turn, and the ratio of the medians is what
counts: the machine cancels out. No time of the network is in it. Memory is that of a process which
only reads: its peak, less what it had before the first read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import orjson

from ridgeline.telemetry.client import Credentials, PrometheusClient
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.parse import Answer, parse_answer
from ridgeline.telemetry.queries import (
    ENGINE_LABEL,
    FAST,
    POSITION_LABEL,
    REASON_LABEL,
    REGISTRY,
    SLOW,
)
from ridgeline.telemetry.reader import TelemetryReader

NOW = 1_800_000_000.0
TICK_SECONDS = 15.0
TICKS_PER_CYCLE = 5
LOOKAHEAD = 4
REASONS = ("stop", "length", "abort", "error", "repetition")
SERVINGS = (1, 10, 100, 1000)
REPLICAS_PER_SERVING = 20
SEED = 6
GOAL_RATIO = 3.0
GOAL_SECONDS = 1.0
DECODERS: Mapping[str, Callable[[bytes], object]] = {
    "orjson": orjson.loads,
    "msgspec": msgspec.json.decode,
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Means over the ticks of a cycle; the median over cycles.

    Attributes:
        replicas: Pods with one speculating engine each.
        cpu_seconds_per_tick: Parse and join.
        bare_decoding_seconds_per_tick: Decoding the same answers and doing nothing.
        bare_decoder: The faster of the decoders.
        ratio_to_bare_decoding: The first divided by the second.
        slowest_tick_seconds: Parse and join of the tick that also asks the slow queries.
        peak_memory_mib: What a reading process needs more than one that has not begun.
        queries_per_tick: Mean number of queries by number of servings.
    """

    replicas: int
    cpu_seconds_per_tick: float
    bare_decoding_seconds_per_tick: float
    bare_decoder: str
    ratio_to_bare_decoding: float
    slowest_tick_seconds: float
    peak_memory_mib: float
    queries_per_tick: dict[int, float]


class CannedClient(PrometheusClient):
    """Answers each query with the same bytes, from a file where told."""

    def __init__(self, endpoint: Endpoint, bodies: Mapping[str, bytes | Path]) -> None:
        super().__init__(endpoint)
        self.bodies = bodies
        self.asked = 0
        self.names: dict[str, str] = {}

    def credentials(self) -> Credentials:
        return Credentials(headers={}, secrets=())

    async def query(
        self, promql: str, *, time: float, deadline: float, credentials: Credentials
    ) -> Answer:
        del time, deadline, credentials
        self.asked += 1
        body = self.bodies[self.names[promql]]
        if isinstance(body, Path):
            body = body.read_bytes()
        return parse_answer(body, max_series=self.endpoint.max_series)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.telemetry", description=__doc__)
    parser.add_argument("--replicas", type=int, default=20_000)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.memory_of:
        print(peak_memory_mib(chosen.memory_of, chosen.replicas))
        return 0
    outcome = measure(chosen.replicas, chosen.cycles)
    print(json.dumps(asdict(outcome)) if chosen.json else table(outcome))
    return 0


def measure(replicas: int, cycles: int) -> Outcome:
    """Measure everything."""
    bodies = answers(pod_names(replicas))
    ticks = asyncio.run(read_cycles(bodies, replicas, cycles))
    bare = {name: bare_decoding(bodies, decode, cycles) for name, decode in DECODERS.items()}
    decoder = min(bare, key=lambda name: bare[name])
    per_tick = statistics.median(statistics.fmean(cycle) for cycle in ticks)
    return Outcome(
        replicas=replicas,
        cpu_seconds_per_tick=per_tick,
        bare_decoding_seconds_per_tick=bare[decoder],
        bare_decoder=decoder,
        ratio_to_bare_decoding=per_tick / bare[decoder],
        slowest_tick_seconds=statistics.median(map(max, ticks)),
        peak_memory_mib=memory_in_a_process_of_its_own(bodies, replicas),
        queries_per_tick={n: asyncio.run(queries_per_tick(n)) for n in SERVINGS},
    )


def reader_of(bodies: Mapping[str, bytes | Path]) -> tuple[TelemetryReader, CannedClient]:
    """A reader whose endpoint answers so."""
    endpoint = Endpoint(name="canned", url="http://127.0.0.1:9090", max_series=1_000_000)
    client = CannedClient(endpoint, bodies)
    reader = TelemetryReader(endpoint, client=client)
    client.names = {promql: name for name, promql in reader.promql.items()}
    return reader, client


async def read_cycles(
    bodies: Mapping[str, bytes | Path], replicas: int, cycles: int
) -> list[list[float]]:
    """CPU seconds of every tick, by cycle; a first cycle is not counted."""
    reader, _ = reader_of(bodies)
    pods = pod_names(replicas)
    measured = []
    for cycle in range(cycles + 1):
        ticks = []
        for tick in range(TICKS_PER_CYCLE):
            now = NOW + (cycle * TICKS_PER_CYCLE + tick) * TICK_SECONDS
            began = time.process_time()
            snapshot = await reader.read(now)
            joined = sum(1 for pod in pods if snapshot.engines.get(pod))
            ticks.append(time.process_time() - began)
            if joined != replicas or snapshot.error:
                raise AssertionError(f"{joined} of {replicas} Pods joined: {snapshot.error}")
        measured.append(ticks)
    return measured[1:]


def bare_decoding(
    bodies: Mapping[str, bytes], decode: Callable[[bytes], object], cycles: int
) -> float:
    """CPU seconds a tick of decoding what a cycle's queries answer."""
    taken = []
    for _ in range(cycles):
        began = time.process_time()
        for _ in range(TICKS_PER_CYCLE):
            for name in FAST:
                decode(bodies[name])
        for name in SLOW:
            decode(bodies[name])
        taken.append((time.process_time() - began) / TICKS_PER_CYCLE)
    return statistics.median(taken)


async def queries_per_tick(servings: int) -> float:
    """How many queries a tick asks in the mean, for so many servings."""
    reader, client = reader_of(answers(pod_names(servings * 2)))
    for tick in range(TICKS_PER_CYCLE):
        await reader.read(NOW + tick * TICK_SECONDS)
    return client.asked / TICKS_PER_CYCLE


def memory_in_a_process_of_its_own(bodies: Mapping[str, bytes], replicas: int) -> float:
    """Peak memory in MiB of a process that holds no answers but those it reads."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in bodies.items():
            (Path(folder) / name).write_bytes(body)
        words = ["--memory-of", folder, "--replicas", str(replicas)]
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.telemetry", *words],
            capture_output=True,
            check=True,
            text=True,
        )
    return float(told.stdout)


def peak_memory_mib(folder: Path, replicas: int) -> float:
    """Peak of resident memory over three cycles, less what there was before the first read."""
    bodies = {path.name: path for path in folder.iterdir()}
    before = _resident_kib("VmRSS")
    asyncio.run(read_cycles(bodies, replicas, 2))
    return (_resident_kib("VmHWM") - before) / 1024


def _resident_kib(field: str) -> int:
    """A field of /proc/self/status; `getrusage` would also count the parent's peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def pod_names(replicas: int, each: int = REPLICAS_PER_SERVING) -> list[tuple[str, str]]:
    """Namespace and name of every Pod, so many of each serving, named as by a Deployment."""
    return [(f"team-{n // each % 20}", f"serving-{n // each}-{n:010x}") for n in range(replicas)]


def answers(
    pods: list[tuple[str, str]], *, names: Iterable[str] = REGISTRY, seed: int = SEED
) -> dict[str, bytes]:
    """What Prometheus sends for each query, labels in its order and numbers in its length."""
    random_numbers = random.Random(seed)
    return {name: _answer(name, pods, random_numbers) for name in names}


def _answer(name: str, pods: list[tuple[str, str]], numbers: random.Random) -> bytes:
    labels = REGISTRY[name].labels
    parts = {POSITION_LABEL: LOOKAHEAD, REASON_LABEL: len(REASONS)}
    positions = range(max(parts.get(label, 1) for label in ("", *labels)))
    result = []
    for namespace, pod in pods:
        for position in positions:
            metric = {"namespace": namespace, "pod": pod}
            if ENGINE_LABEL in labels:
                metric = {ENGINE_LABEL: "0"} | metric
            if POSITION_LABEL in labels:
                metric[POSITION_LABEL] = str(position)
            if REASON_LABEL in labels:
                metric[REASON_LABEL] = REASONS[position]
            result.append({"metric": metric, "value": [NOW, _value(name, position, numbers)]})
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data}, separators=(",", ":")).encode()


def _value(name: str, position: int, numbers: random.Random) -> str:
    """A number that makes sense beside the others, with as many figures as a rate has."""
    middle = {
        "request_steps": 300.0,
        "generated_tokens": 800.0,
        "first_tokens": 5.0,
        "drafts": 300.0,
        "draft_tokens": 1200.0,
        "accepted_per_position": 200.0 / (position + 1),
        "finished": 5.0 / (position + 1),
        "longest_answer": 120.0,
        "longest_answer_beyond": 0.0,
        "scrapes": 1.0,
        "process_spread": 0.0,
        "tpot_p99_lower": 0.01,
        "tpot_p99": 0.02,
        "tpot_p99_upper": 0.025,
    }.get(name, 10.0)
    counted = name.startswith(
        ("scrapes", "process", "tpot_p99", "running", "waiting", "longest_answer")
    )
    return repr(middle) if counted else repr(middle * numbers.uniform(0.999, 1.001))


def table(outcome: Outcome) -> str:
    """The outcome for a person."""
    seconds, ratio = outcome.cpu_seconds_per_tick, outcome.ratio_to_bare_decoding
    queries = ", ".join(f"{n}: {each:g}" for n, each in outcome.queries_per_tick.items())
    kib = outcome.peak_memory_mib * 1024 / outcome.replicas
    rows = [
        ("parse and join, CPU s a tick", f"{seconds:.3f}", f"<= {GOAL_SECONDS:g}"),
        (f"the same answers, {outcome.bare_decoder} alone", f"{_bare(outcome):.3f}", ""),
        ("ratio", f"{ratio:.2f}", f"<= {GOAL_RATIO:g}"),
        ("a tick with slow queries, CPU s", f"{outcome.slowest_tick_seconds:.3f}", ""),
        ("peak memory, MiB", f"{outcome.peak_memory_mib:.0f} ({kib:.1f} KiB a replica)", "< 25 kB"),
        ("queries a tick by servings", queries, "constant"),
    ]
    lines = [f"{'':34} {'measured':38} goal  ({outcome.replicas} replicas)"]
    return "\n".join([*lines, *(f"{name:34} {value:38} {goal}" for name, value, goal in rows)])


def _bare(outcome: Outcome) -> float:
    return outcome.bare_decoding_seconds_per_tick


if __name__ == "__main__":
    raise SystemExit(main())
