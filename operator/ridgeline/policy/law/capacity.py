"""What the fleet can carry in each phase of a roll, and so what demand is safe to roll at.

A rolling update of N replicas with surge s and unavailable u replaces s + u at a time and keeps
N − u serving. In the phase that begins with k replaced,

    capacity_k = (T − k)·C_old + k·C_new        T = min(serving, N − u),  k = 0, s+u, 2(s+u), … < N

with C the most that a replica delivers on either profile. Without surge the first phase has only
old replicas and the last only new ones, each with u missing. The least of them is the largest
demand that every phase can carry. It assumes that requests go where there is room.
"""

from dataclasses import dataclass
from functools import lru_cache

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.inputs import RollStrategy

MOST_PHASES = 8
"""A longer roll is reckoned in this many phases, evenly spread from the first to the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of a roll in which the same Pods serve; `share` is its part of the roll's time."""

    old: int
    new: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RollPair:
    """A roll from one profile to another, with what it takes to reckon it.

    Attributes:
        old: Curve of the profile before, for one engine.
        new: Curve of the profile after.
        strategy: How the Deployment rolls.
        replicas: Replicas that serve now.
        engines_per_replica: Engines of each.
    """

    old: Curve
    new: Curve
    strategy: RollStrategy
    replicas: int
    engines_per_replica: float

    def capacity(self, phase: Phase) -> float:
        """Return the most tokens per second that a phase delivers."""
        engines = phase.old * self.old.capacity + phase.new * self.new.capacity
        return self.engines_per_replica * engines

    def phases(self) -> tuple[Phase, ...]:
        """Return the phases in order; none when nothing moves."""
        return phases(self.strategy, self.replicas)


def batches(strategy: RollStrategy) -> int:
    """Return how many replicas after each other a roll takes; each lasts one start."""
    at_once = strategy.surge + strategy.unavailable
    if strategy.replicas <= 0 or at_once <= 0:
        return 0
    return -(-strategy.replicas // at_once)


@lru_cache(maxsize=4096)
def phases(strategy: RollStrategy, serving: int) -> tuple[Phase, ...]:
    """Return the phases of a roll with so many replicas serving at its beginning."""
    count = batches(strategy)
    if count == 0:
        return ()
    at_once = strategy.surge + strategy.unavailable
    total = max(0, min(serving, strategy.replicas - strategy.unavailable))
    parts = min(count, MOST_PHASES)
    steps = [round(part * (count - 1) / max(1, parts - 1)) for part in range(parts)]
    return tuple(
        Phase(
            old=total - min(total, step * at_once),
            new=min(total, step * at_once),
            share=1.0 / parts,
        )
        for step in steps
    )


def least_capacity(roll: RollPair) -> float:
    """Return the tokens per second that every phase of the roll can carry; 0 if none moves."""
    return min((roll.capacity(phase) for phase in roll.phases()), default=0.0)
