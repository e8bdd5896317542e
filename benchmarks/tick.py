"""What a tick costs at scale: CPU of deciding every serving, beside decoding the answers alone.

    python -m benchmarks.tick [--servings 1000] [--replicas 20] [--rounds 3] [--strategy Goodput]
                              [--json]

Both are measured in one process, turn by turn, and the ratio of the medians is what counts: the
machine cancels out. The answers are what Prometheus would send for the five fast queries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from ridgeline.cluster.objects import DeploymentObject, PodObject, ServingObject
from ridgeline.cluster.store import WatchStore
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.options import Options
from ridgeline.controller.ports import AlwaysLeader
from ridgeline.controller.reconciler import Reconciler
from ridgeline.engine.container import Container, EnvItem
from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.snapshot import TelemetrySnapshot

NOW = 1_800_000_000.0
TICK = 15.0
FAST_QUERIES = 5
STRATEGIES = ("Fixed", "Goodput")
EAGLE = {"name": "eagle", "method": "Eagle", "model": "org/head", "numSpeculativeTokens": 4}
SPEC: dict[str, Any] = {
    "mode": "Automatic",
    "profiles": [EAGLE, {"name": "none", "method": "Disabled"}],
    "accelerator": "h100-sxm",
}
CUTOFFS: dict[str, dict[str, Any]] = {
    "Fixed": {"ranges": [{"profile": "eagle", "upToConcurrency": 20}, {"profile": "none"}]},
    "Goodput": {"strategy": "Goodput"},
}
CONFIG = '{"method":"eagle","model":"org/head","num_speculative_tokens":4}'


class SilentReports:
    """Keeps statuses as the API server would, and sends no Events."""

    def __init__(self) -> None:
        self.writes = 0

    async def apply_status(self, serving: ServingObject, status: Any) -> ServingObject:
        self.writes += 1
        version = str(int(serving.resource_version) + 1)
        return replace(serving, status=dict(status), resource_version=version)

    async def send_event(self, serving: ServingObject, event: Any, now: float) -> None:
        self.writes += 1


class NoTargets:
    """Refuses to be called: a fleet at rest writes nothing."""

    async def read(self, namespace: str, name: str) -> DeploymentObject:
        raise AssertionError("a fleet at rest reads no target")

    async def apply(self, write: Any, *, dry_run: bool = False) -> DeploymentObject:
        raise AssertionError("a fleet at rest writes no target")

    async def release(self, deployment: Any, *, exact: bool = False) -> DeploymentObject:
        raise AssertionError("a fleet at rest lets nothing go")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Seconds of CPU; `ratio` is deciding ÷ decoding."""

    servings: int
    replicas: int
    decide_seconds: float
    decode_seconds: float
    ratio: float
    writes_at_rest: int
    strategy: str


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks.tick")
    parser.add_argument("--servings", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--strategy", choices=STRATEGIES, default="Goodput")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    outcome = asyncio.run(measure(chosen.servings, chosen.replicas, chosen.rounds, chosen.strategy))
    if chosen.json:
        print(json.dumps(asdict(outcome)))
        return 0
    print(
        f"{outcome.servings} servings × {outcome.replicas} replicas, {outcome.strategy}: deciding "
        f"a tick takes {outcome.decide_seconds:.2f} s of CPU, decoding its five answers "
        f"{outcome.decode_seconds:.2f} s (× {outcome.ratio:.2f}); "
        f"writes at rest: {outcome.writes_at_rest}"
    )
    return 0


async def measure(servings: int, replicas: int, rounds: int, strategy: str) -> Outcome:
    """Measure deciding and decoding turn by turn."""
    store = fleet(servings, replicas, strategy)
    reports = SilentReports()
    reconciler = Reconciler(
        store=store,
        targets=NoTargets(),
        reports=reports,
        leader=AlwaysLeader(),
        options=Options(stale_after_seconds=60.0, max_concurrent_rolls=3),
        metrics=OperatorMetrics(),
    )
    snapshot = reading(servings, replicas)
    text = answer(servings, replicas)
    keys = [(each.namespace, each.name) for each in store.servings.all()]
    for first in range(3):  # the first passes write every status, and learn from a window
        await tick(reconciler, keys, replace(snapshot, taken_at=NOW + first * TICK))
    reports.writes = 0
    decide, decode = [], []
    for number in range(rounds):
        now = NOW + (3 + number) * TICK
        current = replace(snapshot, taken_at=now, answered_at=now)
        began = time.process_time()
        await tick(reconciler, keys, current)
        decide.append(time.process_time() - began)
        began = time.process_time()
        for _ in range(FAST_QUERIES):
            json.loads(text)
        decode.append(time.process_time() - began)
    took, bare = statistics.median(decide), statistics.median(decode)
    return Outcome(
        servings=servings,
        replicas=replicas,
        decide_seconds=took,
        decode_seconds=bare,
        ratio=took / bare,
        writes_at_rest=reports.writes,
        strategy=strategy,
    )


async def tick(
    reconciler: Reconciler, keys: list[tuple[str, str]], snapshot: TelemetrySnapshot
) -> None:
    """Make a pass over every serving at the moment of a reading."""
    for key in keys:
        await reconciler.reconcile(key, lambda _: snapshot, snapshot.taken_at)


def fleet(servings: int, replicas: int, strategy: str) -> WatchStore:
    """A store full of servings at rest, each with its Deployment and Pods."""
    store = WatchStore()
    container = Container(
        name="vllm",
        args=("meta-llama/Llama-3.1-8B-Instruct", "--speculative-config=$(SPECULATION_CONFIG)"),
        env=(EnvItem(name="SPECULATION_CONFIG", value=CONFIG),),
        has_env_from=True,
    )
    for number in range(servings):
        name, namespace = f"serving-{number}", f"team-{number % 20}"
        store.put_serving(
            ServingObject(
                namespace=namespace,
                name=name,
                uid=f"s{number}",
                generation=1,
                resource_version="1",
                created_at=NOW - 86_400,
                deleting=False,
                spec={**SPEC, "cutoff": CUTOFFS[strategy], "targetRef": {"name": name}},
                status={},
            )
        )
        store.put_deployment(
            DeploymentObject(
                namespace=namespace,
                name=name,
                uid=f"d{number}",
                generation=2,
                resource_version="2",
                deleting=False,
                replicas=replicas,
                paused=False,
                template_profile="eagle",
                containers=(container,),
                marker=None,
                observed_generation=2,
                current_replicas=replicas,
                updated_replicas=replicas,
                ready_replicas=replicas,
                available_replicas=replicas,
                progress_deadline_exceeded=False,
            )
        )
        for pod in range(replicas):
            store.put_pod(
                PodObject(
                    namespace=namespace,
                    name=f"{name}-{pod}",
                    uid=f"p{number}-{pod}",
                    resource_version="3",
                    deployment=name,
                    profile="eagle",
                    ready_since=NOW - 3600,
                    deleting=False,
                )
            )
    return store


def reading(servings: int, replicas: int) -> TelemetrySnapshot:
    """What telemetry knows of that fleet: quiet, complete, fresh."""
    engine = EngineFacts(
        engine="0",
        age_seconds=5.0,
        decode_concurrency=8.0,
        request_steps_per_second=80.0,
        generated_tokens_per_second=170.0,
        acceptance_length=2.1,
        step_seconds=0.1,
        tpot_seconds=0.05,
        drafts_per_second=80.0,
        drafted_share=1.0,
        acceptance=(0.6, 0.33, 0.12, 0.05),
        prompt_tokens_per_second=60.0,
        mean_prompt_tokens=400.0,
        mean_output_tokens=250.0,
        waiting=0.0,
        waiting_for_capacity=0.0,
        queue_seconds_per_second=0.0,
        preemptions_per_second=0.0,
    )
    return TelemetrySnapshot(
        endpoint="default",
        taken_at=NOW,
        window_seconds=120.0,
        answered_at=NOW,
        engines={
            (f"team-{number % 20}", f"serving-{number}-{pod}"): (engine,)
            for number in range(servings)
            for pod in range(replicas)
        },
    )


def answer(servings: int, replicas: int) -> str:
    """One answer of Prometheus for that fleet."""
    result = [
        {
            "metric": {
                "namespace": f"team-{number % 20}",
                "pod": f"serving-{number}-{pod}",
                "engine": "0",
            },
            "value": [NOW, "8.123456789"],
        }
        for number in range(servings)
        for pod in range(replicas)
    ]
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data})


if __name__ == "__main__":
    raise SystemExit(main())
