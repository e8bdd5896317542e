"""What one operator costs at scale: 1,000 servings of 20 replicas on a real API server.

    python -m benchmarks.scale [--servings 1000] [--replicas 20] [--sizes 100,200,500,1000]
                               [--ticks 10] [--scraped 100] [--live]
                               [--json FILE] [--plot FILE]

The operator is the process that users run, with the rights that an installation gives it, beside a
real kube-apiserver with etcd. Nodes and Pods are objects that no kubelet stands behind. A real
Prometheus scrapes about 60 series of every replica; unless `--live` is given it is asked once for
each query, and what it answered is repeated with the time moved on, so that a small machine need
not run both at once. With `--scraped N` it scrapes N servings only, and answers for a larger fleet
repeat theirs under other names: a busy machine cannot take in 1.2 million series.

At each size the operator is started anew on servings that nobody has looked at. CPU is that of its
process over whole ticks, once it has come to rest. Bare decoding is that of the same answers, as
often as they were asked for, by the faster of orjson and msgspec, in this process in the same run.
The full run takes an hour or more on two cores; Prometheus needs gigabytes for its series.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks import scale_fleet as fleet
from benchmarks import scale_stage as stage
from benchmarks.scale_answers import Answers, record, repeated
from benchmarks.scale_copies import Models, enlarge
from benchmarks.scale_objects import Heartbeats, forget_decisions, furnish, reasons
from benchmarks.scale_process import Call, Journal, most_at_once, throttled
from benchmarks.scale_table import Measured, chart, document, table
from benchmarks.scale_watch import Settings, Start, Ticks, Watcher, bare_decoding, load_average
from ridgeline.render.plots import svg
from ridgeline.telemetry.queries import FAST
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.progress import Progress
from tests.e2e.accounts import kubeconfig_of
from tests.scene.operator_process import OperatorProcess

HEARTBEAT_SECONDS: Final = 300.0
"""How often a kubelet reports a node that has not changed."""
STOP_SECONDS: Final = 300.0
SLOW_EVERY: Final = 5
"""Ticks from one in which slow queries are asked to the next."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write what was asked for."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    settings = _settings(parser, chosen)
    began = datetime.datetime.now(datetime.UTC)
    sizes: list[Measured] = []
    told: dict[str, Any] = {}
    try:
        for each in measure(settings, Progress()):
            sizes.append(each)
            if len(sizes) > 1:
                # From the second on, so that a run that is cut short has told something.
                told = document(sizes, surroundings(settings, began))
                write(told, chosen.json, chosen.plot)
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    print(table(told))
    return 0


def _settings(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Settings:
    sizes = chosen.sizes or default_sizes(chosen.servings)
    if len(sizes) < 2 or sizes[0] < 1:
        parser.error("growth needs two different numbers of servings, each at least 1")
    if chosen.ticks < 1 or chosen.ticks % SLOW_EVERY:
        parser.error(f"--ticks {chosen.ticks}: slow queries come every {SLOW_EVERY} ticks")
    scraped = min(chosen.scraped or sizes[-1], sizes[-1])
    if chosen.live and scraped < sizes[-1]:
        parser.error("--live needs every serving scraped: leave --scraped out")
    return Settings(
        sizes=sizes,
        replicas=chosen.replicas,
        tick_seconds=chosen.tick_seconds,
        window_seconds=chosen.window_seconds,
        scrape_seconds=chosen.scrape_seconds,
        ticks=chosen.ticks,
        quiet_ticks=chosen.quiet_ticks,
        live=chosen.live,
        scraped=scraped,
    )


def write(told: dict[str, Any], to_json: Path | None, to_plot: Path | None) -> None:
    """Write the document and the plot of what was measured so far."""
    if to_json:
        to_json.write_text(json.dumps(told, indent=1) + "\n")
    if to_plot:
        to_plot.write_text(svg(chart(told)))


def surroundings(settings: Settings, began: datetime.datetime) -> dict[str, Any]:
    """When, on what, and how it was measured."""
    return {
        "date": f"{began:%Y-%m-%d %H:%M} UTC",
        "cores": os.cpu_count(),
        "load_average": load_average(),
        "answers": "live" if settings.live else "recorded",
        "scraped": settings.scraped,
        "tick_seconds": settings.tick_seconds,
        "window_seconds": settings.window_seconds,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--servings", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument(
        "--sizes",
        type=lambda text: tuple(sorted(set(map(int, text.split(","))))),
        help="numbers of servings; a tenth, a fifth, half and all of --servings if not told",
    )
    parser.add_argument("--ticks", type=int, default=10, help="ticks looked at, a multiple of 5")
    parser.add_argument("--quiet-ticks", type=int, default=6, help="without a write, before")
    parser.add_argument("--tick-seconds", type=float, default=15.0)
    parser.add_argument("--window-seconds", type=int, default=120)
    parser.add_argument("--scrape-seconds", type=float, default=15.0)
    parser.add_argument("--scraped", type=int, help="servings that Prometheus scrapes; all")
    parser.add_argument("--live", action="store_true", help="let Prometheus answer the operator")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an SVG")
    return parser


def default_sizes(servings: int) -> tuple[int, ...]:
    """A tenth, a fifth, half and all of them; what is less than one is left out."""
    parts = {servings // 10, servings // 5, servings // 2, servings}
    return tuple(sorted(each for each in parts if each > 0))


def measure(settings: Settings, progress: Progress) -> Iterator[Measured]:
    """Measure size after size.

    Raises:
        ClusterError: Something did not come up, or never came to rest.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ridgeline-scale-") as name,
        contextlib.ExitStack() as telemetry,
        stage.control_plane(progress) as cluster,
    ):
        folder = Path(name)
        running = telemetry.enter_context(
            stage.prometheus(
                folder / "prometheus",
                settings.shelves,
                settings.replicas,
                settings.scrape_seconds,
                progress,
            )
        )
        models = asyncio.run(furnish(cluster, settings.replicas, progress))
        everyone = settings.scraped * settings.replicas
        stage.wait_for_samples(running, everyone, settings.window_seconds, progress)
        recorded = None if settings.live else _recorded(running.url, settings, progress)
        if recorded is not None:
            telemetry.close()
        for there, size in zip((0, *settings.sizes), settings.sizes, strict=False):
            grow(cluster, models, settings, there, size, progress)
            answers = Answers(running.url, None if recorded is None else recorded[size])
            found = _measure_size(cluster, settings, size, answers, folder, progress)
            progress.say(_line(found))
            yield found


def _line(measured: Measured) -> str:
    return (
        f"{measured.servings} servings: {measured.cpu_seconds_per_tick:.2f} s of CPU a tick, "
        f"{measured.ratio_to_bare_decoding:.1f} × decoding, "
        f"{measured.writes_at_steady_state} writes at rest, {dict(measured.reasons)}"
    )


def grow(
    cluster: Cluster, models: Models, settings: Settings, there: int, to: int, progress: Progress
) -> None:
    """Add servings, until there are as many."""
    joining = fleet.members(there, to, settings.replicas)
    nodes = range(*(fleet.nodes_for(each, settings.replicas) for each in (there, to)))
    with progress.step(f"{to} servings, {to * settings.replicas} Pods"):
        enlarge(cluster, models, joining, nodes)


def _recorded(
    prometheus_url: str, settings: Settings, progress: Progress
) -> dict[int, dict[str, bytes]]:
    """Answers by size of the fleet and PromQL."""
    names = partial(
        stage.queries_of, shelves=settings.shelves, window_seconds=settings.window_seconds
    )
    asked: dict[int, dict[str, bytes]] = {}
    for shelf in settings.shelves:
        with progress.step(f"answers for {shelf} servings recorded"):
            asked[shelf] = record(prometheus_url, names(shelf))
    found = {}
    for size in settings.sizes:
        scraped = min(size, settings.scraped)
        answers = asked[scraped]
        if scraped < size:
            rename = partial(fleet.namesakes, scraped=scraped, servings=size)
            answers = {name: repeated(body, rename) for name, body in answers.items()}
        found[size] = {names(size)[name]: body for name, body in answers.items()}
    return found


def _measure_size(
    cluster: Cluster,
    settings: Settings,
    size: int,
    answers: Answers,
    folder: Path,
    progress: Progress,
) -> Measured:
    everybody = fleet.members(0, size, settings.replicas)
    asyncio.run(forget_decisions(cluster, everybody, progress))
    if cluster.audit_log is None:
        raise ClusterError("this cluster has no audit log that can be read here")
    journal = Journal(cluster.audit_log, stage.USER)
    kubeconfig = kubeconfig_of(cluster, stage.NAMESPACE, stage.ACCOUNT, folder)
    queries = stage.queries_of(size, settings.shelves, settings.window_seconds)
    nodes = fleet.nodes_for(size, settings.replicas)
    with (
        answers,
        Heartbeats(cluster, nodes, HEARTBEAT_SECONDS),
        OperatorProcess(
            kubeconfig,
            answers.url,
            log_level="warning",
            **_configuration(settings, size, answers.url),
        ) as operator,
    ):
        watcher = Watcher(
            operator,
            answers,
            journal,
            tick_query=queries[FAST[0]],
            tick_seconds=settings.tick_seconds,
        )
        start = watcher.see_start(size, settings.patience_seconds, progress)
        watcher.see_rest(
            settings.quiet_ticks, settings.window_seconds, settings.patience_seconds, progress
        )
        with progress.step(f"{settings.ticks} ticks"):
            ticks = watcher.see_ticks(settings.ticks, settings.patience_seconds)
        # Here, with patience: on a busy machine a last batch takes a while.
        operator.stop(STOP_SECONDS)
    found = measured(settings, size, start, ticks, journal.calls(), answers.last)
    return replace(found, reasons=reasons(cluster))


def _configuration(settings: Settings, size: int, url: str) -> dict[str, Any]:
    matcher = stage.matcher_of(size, settings.shelves)
    chosen = {"label": matcher.label, "operator": matcher.operator, "value": matcher.value}
    return {
        "tickSeconds": settings.tick_seconds,
        "rateWindowSeconds": settings.window_seconds,
        "staleAfterSeconds": max(60.0, 4 * settings.scrape_seconds),
        "relistSeconds": 600,
        "lease": {"namespace": stage.NAMESPACE, "name": "ridgeline"},
        "telemetry": [{"name": "default", "url": url, "matchers": [chosen]}],
    }


def measured(
    settings: Settings,
    size: int,
    start: Start,
    ticks: Ticks,
    calls: Sequence[Call],
    bodies: Mapping[str, bytes],
) -> Measured:
    """Put together what was seen of one size."""
    decoder, bare = bare_decoding(bodies, ticks.asked)
    at_rest = [
        each for each in calls if ticks.began <= each.began < ticks.ended and not each.on_lease
    ]
    return Measured(
        servings=size,
        replicas=settings.replicas,
        ticks=ticks.number,
        cpu_seconds_per_tick=ticks.cpu_seconds / ticks.number,
        wall_seconds_per_tick=sum(ticks.phase_seconds.values()),
        phase_seconds=ticks.phase_seconds,
        bare_decoding_seconds_per_tick=bare / ticks.number,
        decoder=decoder,
        queries_per_tick=ticks.asked.queries.total() / ticks.number,
        bytes_read_per_tick=ticks.asked.plain_bytes / ticks.number,
        wire_bytes_per_tick=ticks.asked.wire_bytes / ticks.number,
        api_calls_per_tick=len(at_rest) / ticks.number,
        writes_at_steady_state=sum(1 for each in at_rest if each.writes),
        first_decision_ticks=start.seconds / settings.tick_seconds,
        start_cpu_seconds=start.cpu_seconds,
        peak_concurrent_requests=most_at_once(calls),
        throttled_requests=throttled(calls),
        resident_bytes=ticks.usage.resident_bytes,
        peak_bytes=ticks.usage.peak_bytes,
        reasons={},
    )


if __name__ == "__main__":
    # Also where a shell has it ignore an interrupt: a cluster is to be taken down in the end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
