"""What a tick costs at scale: reading, joining and deciding, beside decoding the answers alone.

    python -m benchmarks.tick [--servings 100,200,500,1000] [--replicas 20] [--cycles 2]
                              [--strategy Goodput] [--json]

A cycle is five ticks: the fast queries in each, the slow ones in one of them. All is measured in
one process, turn by turn, in CPU time: reading (`TelemetryReader.read`) and a pass over every
serving; the same passes with nothing kept from one to the next (`Options.remember`), which is what
being incremental saves; and decoding the same bytes with the faster of two decoders into plain
Python objects. Of two means of one process the machine cancels out, so the ratio counts. Numbers
differ from tick to tick as those of a steady load do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from benchmarks.telemetry import (
    DECODERS,
    GOAL_RATIO,
    GOAL_SECONDS,
    NOW,
    TICK_SECONDS,
    TICKS_PER_CYCLE,
    answers,
    pod_names,
    reader_of,
)
from benchmarks.tick_fleet import STRATEGIES, NoTargets, SilentReports, fleet
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.ports import AlwaysLeader
from ridgeline.controller.reconciler import Reconciler
from ridgeline.telemetry.queries import FAST, SLOW
from ridgeline.telemetry.snapshot import TelemetrySnapshot

GOAL_EXPONENT = 1.05
WARM_CYCLES = 2
"""The first passes write every status, and learn from a window."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Mean seconds of CPU per tick.

    Attributes:
        servings: How many there are.
        replicas: Of each.
        read_seconds: Decoding the answers and joining them by engine.
        decide_seconds: A pass over every serving.
        from_scratch_seconds: The same passes with nothing kept.
        bare_decoding_seconds: Decoding the same answers and doing nothing.
        ratio_to_bare_decoding: Reading and deciding, divided by that.
        writes_at_rest: Statuses and Events in all measured ticks.
        strategy: Of every serving.
    """

    servings: int
    replicas: int
    read_seconds: float
    decide_seconds: float
    from_scratch_seconds: float
    bare_decoding_seconds: float
    ratio_to_bare_decoding: float
    writes_at_rest: int
    strategy: str

    @property
    def seconds(self) -> float:
        """The whole tick."""
        return self.read_seconds + self.decide_seconds


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of each tick, by what they went into."""

    by_kind: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def on(self, kind: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.by_kind.setdefault(kind, []).append(time.process_time() - began)

    def mean(self, kind: str) -> float:
        return statistics.fmean(self.by_kind[kind])


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.tick",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--servings", default="100,200,500,1000")
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--cycles", type=int, default=2)
    parser.add_argument("--strategy", choices=STRATEGIES, default="Goodput")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    sizes = [int(each) for each in chosen.servings.split(",")]
    outcomes = [
        asyncio.run(measure(each, chosen.replicas, chosen.cycles, chosen.strategy))
        for each in sizes
    ]
    exponent = growth(outcomes)
    if chosen.json:
        told = {"growth_exponent": exponent, "sizes": [asdict(each) for each in outcomes]}
        print(json.dumps(told))
    else:
        print(table(outcomes, exponent))
    return 0


class Fleet:
    """A fleet at rest and the operator's passes over it."""

    def __init__(self, servings: int, replicas: int, strategy: str, *, remember: bool) -> None:
        store, around = fleet(servings, replicas, strategy)
        self.reports = SilentReports()
        self.keys = [(each.namespace, each.name) for each in store.servings.all()]
        self.reconciler = Reconciler(
            store=store,
            targets=NoTargets(),
            reports=self.reports,
            leader=AlwaysLeader(),
            options=Options(stale_after_seconds=60.0, max_concurrent_rolls=3, remember=remember),
            metrics=OperatorMetrics(),
            around=around,
        )

    async def look(self, snapshot: TelemetrySnapshot) -> None:
        """Make a pass over every serving at the moment of a reading."""
        for key in self.keys:
            await self.reconciler.reconcile(key, lambda _: snapshot, snapshot.taken_at)


async def measure(servings: int, replicas: int, cycles: int, strategy: str) -> Outcome:
    """Measure everything of one size, turn by turn."""
    pods = pod_names(servings * replicas, replicas)
    first, second = answers(pods), answers(pods, names=FAST, seed=7)
    reader, client = reader_of(first)
    kept = Fleet(servings, replicas, strategy, remember=True)
    anew = Fleet(servings, replicas, strategy, remember=False)
    spent = Spent()
    for tick in range((WARM_CYCLES + cycles) * TICKS_PER_CYCLE):
        if tick == WARM_CYCLES * TICKS_PER_CYCLE:
            spent, kept.reports.writes = Spent(), 0
        client.bodies = bodies = {**first, **second} if tick % 2 else first
        with spent.on("read"):
            snapshot = await reader.read(NOW + tick * TICK_SECONDS)
        with spent.on("decide"):
            await kept.look(snapshot)
        with spent.on("anew"):
            await anew.look(snapshot)
        slow = tick % TICKS_PER_CYCLE == 0
        for name, decode in DECODERS.items():
            with spent.on(name):
                for query in (*FAST, *(SLOW if slow else ())):
                    decode(bodies[query])
    bare = min(map(spent.mean, DECODERS))
    return Outcome(
        servings=servings,
        replicas=replicas,
        read_seconds=spent.mean("read"),
        decide_seconds=spent.mean("decide"),
        from_scratch_seconds=spent.mean("anew"),
        bare_decoding_seconds=bare,
        ratio_to_bare_decoding=(spent.mean("read") + spent.mean("decide")) / bare,
        writes_at_rest=kept.reports.writes,
        strategy=strategy,
    )


def growth(outcomes: Sequence[Outcome]) -> float | None:
    """Exponent of a tick's seconds over servings: the slope of logarithms, by least squares."""
    if len(outcomes) < 2:
        return None
    xs = [math.log(each.servings) for each in outcomes]
    return statistics.linear_regression(xs, [math.log(each.seconds) for each in outcomes]).slope


def table(outcomes: Sequence[Outcome], exponent: float | None) -> str:
    """The outcomes for a person."""
    lines = [
        "CPU seconds a tick, mean of five; the last three columns in units of bare decoding",
        f"{'servings':>8} {'bare':>7} {'read':>7} {'decide':>7} {'tick':>7} "
        f"{'anew':>7} {'tick':>6} {'anew':>6} {'writes':>6}",
    ]
    for each in outcomes:
        bare, anew = each.bare_decoding_seconds, each.read_seconds + each.from_scratch_seconds
        lines.append(
            f"{each.servings:8} {bare:7.3f} {each.read_seconds:7.3f} {each.decide_seconds:7.3f} "
            f"{each.seconds:7.3f} {anew:7.3f} {each.ratio_to_bare_decoding:6.2f} "
            f"{anew / bare:6.2f} {each.writes_at_rest:6}"
        )
    last = outcomes[-1]
    lines.append(
        f"{last.servings} servings × {last.replicas} replicas, {last.strategy}: {last.seconds:.2f} "
        f"s (goal {GOAL_SECONDS:g}), {last.ratio_to_bare_decoding:.2f} × bare decoding (goal "
        f"{GOAL_RATIO:g}); `anew` keeps nothing from pass to pass"
    )
    if exponent is not None:
        lines.append(f"growth exponent {exponent:.2f} (goal {GOAL_EXPONENT:g})")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
