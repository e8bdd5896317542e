"""One fault struck at every step at once, and what became of each roll."""

from __future__ import annotations

import time

from tests.cluster.handle import Cluster
from tests.faults.faults import FAULTS
from tests.faults.promise import Ending, ending
from tests.faults.sight import Sight
from tests.faults.stage import Stage, rest, staged

SETTLE_S = 480.0
"""A canary may wait four minutes for its verdict, and what follows takes its time too."""

_QUIET_S = 8.0
"""What is well must still be well after a rate window and some ticks."""


class Stopwatch:
    """Tells when something was reached, so that a run shows where its time goes."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def tell(self, what: str) -> None:
        """Print what was reached, and after how long."""
        print(f"  {time.monotonic() - self._begin:.0f} s: {what}", flush=True)


def strike(cluster: Cluster, fault: str) -> dict[str, Ending]:
    """Bring a crowd to its steps, strike, and return how each roll ended.

    Raises:
        TimeoutError: A serving does not come to its step.
    """
    watch = Stopwatch()
    with staged(cluster) as stage:
        watch.tell("at their steps")
        FAULTS[fault](stage)
        watch.tell("struck and mended")
        wait_well(stage)
        watch.tell("settled")
        for note in stage.notes:
            print(f"  {note}")
        endings = _endings(stage, stage.look())
        if any(each.broken() for each in endings.values()):
            print(stage.story())
        return endings


def wait_well(stage: Stage) -> None:
    """Wait until every promise is kept and stays so, or the time is up."""
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        if stage.operator.ended:
            # As a kubelet would.
            stage.notes.append("the operator ended by itself and was started again")
            stage.start_operator()
        if _all_well(stage):
            rest(_QUIET_S)
            if _all_well(stage):
                return
        rest(1.0)


def _all_well(stage: Stage) -> bool:
    seen = stage.look()
    return seen.keys() == stage.before.keys() and not any(
        each.broken() for each in _endings(stage, seen).values()
    )


def _endings(stage: Stage, seen: dict[str, Sight]) -> dict[str, Ending]:
    return {name: ending(stage.before[name], sight) for name, sight in seen.items()}
