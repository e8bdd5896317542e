"""The optimum in hindsight: which rolls would have been best, had one known the traffic.

A dynamic program over time × profile on a fluid model. Per step of a minute, a fleet of certain
replicas at demand D holds as many requests as it needs to deliver D (its speeds, added at one
concurrency for all, as a least-loaded router sees to); above its capacity the rest queues. A roll
is a chain of phases, each with its own fleet: one replica out, or with surge all of them in. The
cost is request-seconds, so that minimising it minimises mean latency.

Queues carry over, so a state is (time, profile) with a few labels (cost, queue); a label that is
worse in both is dropped. What comes out are plans, not a bound: the bound is the best of the plans
and of staying on each profile, *as simulated*. Thus it is never worse than any static choice by
construction, and comes from the same simulator as what it is compared with.
"""

from dataclasses import dataclass

import numpy as np

from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.controller import Observation
from ridgeline.sim.requests.simulate import Switch

STEP_SECONDS = 60.0
LABELS = 6
"""Labels kept per time and profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fluid:
    """The fleet of the fluid model.

    Attributes:
        speeds: Tokens/s of one replica by concurrency, per profile (`Truth.speeds`).
        replicas: Replicas.
        surge: Whether a spare GPU keeps all in service during a roll.
        pod_seconds: How long one replica is away, or with surge in the making.
        mean_output: Mean output tokens per request.
    """

    speeds: dict[str, Floats]
    replicas: int
    surge: bool
    pod_seconds: float
    mean_output: float


@dataclass(frozen=True, slots=True)
class _Label:
    cost: float
    queue: float
    plan: tuple[Switch, ...]


@dataclass(frozen=True, slots=True)
class _Phase:
    """One fleet over all steps: what it holds if nothing queues, its capacity, and its most."""

    held: list[float]
    capacity: float
    most: float


def best_plans(
    fluid: Fluid, demand: Floats, first: str, *, dearer: float = 1.0
) -> tuple[tuple[Switch, ...], ...]:
    """Return plans of rolls, best in the fluid model first, one per profile at the end.

    Args:
        fluid: The fleet.
        demand: Tokens/s asked for, per step of a minute.
        first: Profile at the start.
        dearer: What the demand is multiplied by: above 1 leaves room for what a fluid does not
            have, which is noise.
    """
    program = _Program(fluid, demand * dearer)
    layers: list[dict[str, list[_Label]]] = [
        {name: [] for name in fluid.speeds} for _ in range(len(demand) + 1)
    ]
    layers[0][first] = [_Label(0.0, 0.0, ())]
    for step in range(len(demand)):
        for name, labels in layers[step].items():
            for label in _undominated(labels):
                layers[step + 1][name].append(program.stay(label, name, step))
                for other in fluid.speeds:
                    if other != name:
                        end, rolled = program.roll(label, name, other, step)
                        layers[end][other].append(rolled)
        layers[step] = {}
    ends = [min(each, key=program.final) for each in layers[-1].values() if each]
    return tuple(each.plan for each in sorted(ends, key=program.final))


class Plan:
    """A control law that knows the future: it asks for each roll at its time."""

    def __init__(self, switches: tuple[Switch, ...]) -> None:
        """Follow these, in their order; one that comes during another roll waits for its end."""
        self._left = list(switches)

    def decide(self, observation: Observation, now: float) -> str | None:
        """See Controller."""
        if observation.rolling or not self._left or now < self._left[0].time:
            return None
        return self._left.pop(0).profile


class _Program:
    def __init__(self, fluid: Fluid, demand: Floats) -> None:
        self._fluid = fluid
        self._demand = demand
        self._asked: list[float] = demand.tolist()
        self._steady = {name: self._phase({name: fluid.replicas}) for name in fluid.speeds}
        self._chains: dict[tuple[str, str], list[_Phase]] = {}
        for old in fluid.speeds:
            for new in fluid.speeds:
                if old != new:
                    self._chains[old, new] = self._chain(old, new)

    def stay(self, label: _Label, name: str, step: int) -> _Label:
        cost, queue = self._pass(label.cost, label.queue, self._steady[name], step)
        return _Label(cost, queue, label.plan)

    def roll(self, label: _Label, old: str, new: str, step: int) -> tuple[int, _Label]:
        cost, queue = label.cost, label.queue
        end = step
        for phase in self._chains[old, new]:
            if end == len(self._asked):
                break
            cost, queue = self._pass(cost, queue, phase, end)
            end += 1
        switch = Switch(time=step * STEP_SECONDS, profile=new)
        return end, _Label(cost, queue, (*label.plan, switch))

    def final(self, label: _Label) -> float:
        """Return the cost with that of the queue which is left, served at the best speed."""
        rate = max(each.capacity for each in self._steady.values()) / self._fluid.mean_output
        return label.cost + label.queue**2 / (2 * rate)

    def _pass(self, cost: float, queue: float, phase: _Phase, step: int) -> tuple[float, float]:
        asked = self._asked[step]
        grows = (asked - phase.capacity) * STEP_SECONDS / self._fluid.mean_output
        after = max(0.0, queue + grows)
        queued = (queue + after) / 2
        held = phase.most + queued if queued > 0.0 else phase.held[step]
        return cost + held * STEP_SECONDS, after

    def _chain(self, old: str, new: str) -> list[_Phase]:
        count = self._fluid.replicas
        chain: list[_Phase] = []
        ends = 0.0
        for done in range(count):
            staying = count - done if self._fluid.surge else count - done - 1
            phase = self._phase({old: staying, new: done})
            ends += self._fluid.pod_seconds
            chain += [phase] * (max(1, round(ends / STEP_SECONDS)) - len(chain))
        return chain

    def _phase(self, counts: dict[str, int]) -> _Phase:
        speeds = [n * self._fluid.speeds[name] for name, n in counts.items() if n]
        count = sum(counts.values())
        if not speeds:
            return _Phase([0.0] * len(self._demand), 0.0, 0.0)
        total = np.sum(speeds, axis=0)
        batch = np.arange(len(total))
        held = count * np.interp(self._demand, total, batch)
        return _Phase(held.tolist(), float(total[-1]), float(count * batch[-1]))


def _undominated(labels: list[_Label]) -> list[_Label]:
    kept: list[_Label] = []
    for label in sorted(labels, key=lambda each: (each.cost, each.queue)):
        if not kept or label.queue < kept[-1].queue:
            kept.append(label)
    return kept[:LABELS]
