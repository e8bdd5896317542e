"""One fault struck at every step at once, and what became of each roll."""

from __future__ import annotations

from tests.cluster.handle import Cluster
from tests.faults.faults import FAULTS
from tests.faults.promise import Ending, ending
from tests.faults.sight import Sight
from tests.faults.stage import Stage, rest, staged

SETTLE_S = 300.0
"""A canary may wait three minutes for its verdict, and what follows takes its time too."""

_QUIET_S = 8.0
"""What is well must still be well after a rate window and some ticks."""


def strike(cluster: Cluster, fault: str) -> dict[str, Ending]:
    """Bring a crowd to its steps, strike, and return how each roll ended.

    Raises:
        TimeoutError: A serving does not come to its step.
    """
    with staged(cluster) as stage:
        FAULTS[fault](stage)
        wait_well(stage)
        for note in stage.notes:
            print(f"  {note}")
        endings = _endings(stage, stage.look())
        if any(each.broken() for each in endings.values()):
            print(stage.story())
        return endings


def wait_well(stage: Stage) -> None:
    """Wait until every promise is kept and stays so, or the time is up."""
    left = SETTLE_S
    while left > 0:
        if _all_well(stage):
            rest(_QUIET_S)
            if _all_well(stage):
                return
            left -= _QUIET_S
        rest(1.0)
        left -= 1.0


def _all_well(stage: Stage) -> bool:
    seen = stage.look()
    return seen.keys() == stage.before.keys() and not any(
        each.broken() for each in _endings(stage, seen).values()
    )


def _endings(stage: Stage, seen: dict[str, Sight]) -> dict[str, Ending]:
    return {name: ending(stage.before[name], sight) for name, sight in seen.items()}
