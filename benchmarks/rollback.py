"""How fast a bad profile is taken back, and what it costs, beside the least that is possible.

A fleet of four replicas is rolled to a profile whose servers fail, on the simulated cluster with
the whole controller, in virtual time. For each kind of failure, with a surge Pod and without:

- `seconds`: from the first crash until every replica runs what it ran before;
- `least_seconds`: the same if the old template were written in the moment in which the failure is
  certain (the first crash when the engine says that it refuses its config, else the second), which
  leaves the time in which Pods that were taken away start again;
- `lost`: replica-seconds that were missing of four serving replicas since the first crash;
- `least_lost`: the same for that writer.

python -m benchmarks.rollback [--json]
"""

import argparse
import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from ridgeline.sim.fate import Fate, crashes, out_of_memory
from ridgeline.sim.pace import Pace
from ridgeline.sim.template import Template
from tests.component.controller.world import LOW, World, container, spec

REPLICAS: Final = 4
STARTUP_SECONDS: Final = 120.0
STEP_SECONDS: Final = 0.5
LONGEST_SECONDS: Final = 3600.0

FAILURES: Final[dict[str, tuple[Callable[[], Fate], int]]] = {
    "refuses its config": (lambda: crashes("ValidationError: 1 validation error", after=20.0), 1),
    "crashes": (lambda: crashes(after=60.0), 2),
    "out of memory": (lambda: out_of_memory(after=90.0), 2),
}
"""What happens to servers of the bad profile, and which of their crashes makes it certain."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One failure under one strategy; times in seconds, losses in replica-seconds."""

    failure: str
    surge: bool
    seconds: float
    least_seconds: float
    lost: float
    least_lost: float


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks.rollback")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    rows = [
        asyncio.run(measure(failure, surge=surge))
        for failure in FAILURES
        for surge in (True, False)
    ]
    if chosen.json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}))
        return 0
    print(f"{'failure':20} {'surge':6} {'s':>8} {'least s':>8} {'lost':>8} {'least':>8}")
    for row in rows:
        told = "yes" if row.surge else "no"
        numbers = (row.seconds, row.least_seconds, row.lost, row.least_lost)
        print(f"{row.failure:20} {told:6} " + " ".join(f"{each:8.1f}" for each in numbers))
    return 0


async def measure(failure: str, *, surge: bool) -> Row:
    """Roll to the bad profile and watch it being taken back.

    Raises:
        RuntimeError: It was not taken back in an hour.
    """
    fate, certain_crash = FAILURES[failure]
    pace = Pace(
        max_surge=1 if surge else 0,
        max_unavailable=0 if surge else 1,
        startup_seconds=STARTUP_SECONDS,
        fate=lambda template: _fate_of(template, fate),
    )
    world = World()
    world.deploy(users=LOW, containers=[container(None)], pace=pace, replicas=REPLICAS)
    world.cluster.create_serving("llama", spec())
    world.start()
    first, certain, lost = None, None, 0.0
    end = world.cluster.now + LONGEST_SECONDS
    while world.cluster.now < end:
        await world.run(STEP_SECONDS, step=STEP_SECONDS)
        now, crashed = world.cluster.now, _crashes(world)
        first = first if first is not None or crashed < 1 else now
        certain = certain if certain is not None or crashed < certain_crash else now
        if first is None:
            continue
        lost += STEP_SECONDS * (REPLICAS - _serving(world))
        if world.roll() == "Restored" and _serving(world) == REPLICAS:
            break
    if first is None or certain is None or world.roll() != "Restored":
        raise RuntimeError(f"{failure}: the profile was not taken back")
    again = 0.0 if surge else STARTUP_SECONDS
    return Row(
        failure=failure,
        surge=surge,
        seconds=world.cluster.now - first,
        least_seconds=certain - first + again,
        lost=lost,
        least_lost=0.0 if surge else certain - first + again,
    )


def _fate_of(template: Template, fate: Callable[[], Fate]) -> Fate | None:
    return fate() if template.profile == "eagle2" else None


def _crashes(world: World) -> int:
    """Return the most crashes of any one Pod of the bad profile."""
    most = 0
    for pod in world.cluster.pods_of("llama"):
        status = world.cluster.pod_body("llama", pod.name).get("status") or {}
        for each in status.get("containerStatuses") or ():
            waiting = ((each.get("state") or {}).get("waiting") or {}).get("reason")
            # A crash is counted when the container is started again.
            crashed = int(each.get("restartCount") or 0) + (waiting == "CrashLoopBackOff")
            most = max(most, crashed)
    return most


def _serving(world: World) -> int:
    return min(REPLICAS, sum(1 for pod in world.cluster.pods_of("llama") if pod.serves))


if __name__ == "__main__":
    raise SystemExit(main())
