"""What the pictures of the control law show: curves, rolls, and days in the simulator."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np

from benchmarks.control_law import DefaultLaw, history
from benchmarks.control_run import STATIC, laws
from benchmarks.control_scenarios import Knowledge, Prepared, Scenario, prepare
from ridgeline.policy.law.capacity import RollPair, least_capacity
from ridgeline.policy.law.inputs import RollStrategy
from ridgeline.policy.law.memory import LawMemory, SlowMemory
from ridgeline.policy.law.roll_cost import requests_in_flight, roll_cost
from ridgeline.policy.law.settings import LawSettings
from ridgeline.sim.requests.controller import Controller, Observation
from ridgeline.sim.requests.hindsight import Plan
from ridgeline.sim.requests.published import NONE, SPECULATING
from ridgeline.sim.requests.simulate import Result, Switch, simulate
from ridgeline.sim.requests.traffic import Crowd, Demand

SEED: Final = 1
HOUR: Final = 3600.0
FAMILY: Final = "70b"
ALWAYS_SPECULATING, ALWAYS_NONE = STATIC


def scenario(*, surge: bool, demand: Demand, replicas: int = 4, hours: float = 24.0) -> Scenario:
    """Return a scenario of the deployment that all pictures show."""
    return Scenario(
        name="picture",
        family=FAMILY,
        surge=surge,
        demand=demand,
        replicas=replicas,
        hours=hours,
    )


@cache
def told(*, surge: bool, replicas: int = 4) -> Prepared:
    """Return what a controller of a fleet is told, with an hour of traffic."""
    demand = Demand(plateau=1.0)
    return prepare(scenario(surge=surge, demand=demand, replicas=replicas, hours=1.0), SEED)


def roll_pair(*, surge: bool, replicas: int = 4, back: bool = False) -> RollPair:
    """Return the roll that stops speculating, or the one back."""
    known = told(surge=surge, replicas=replicas).knowledge
    old, new = known.speculating, known.none
    return RollPair(
        old=new if back else old,
        new=old if back else new,
        strategy=RollStrategy(replicas=replicas, surge=int(surge), unavailable=int(not surge)),
        replicas=replicas,
        engines_per_replica=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What switching off is worth at demands that are shares of D*, in request-hours."""

    demand: Sequence[float]
    an_hour_off: Sequence[float]
    roll_without_surge: Sequence[float]
    roll_with_surge: Sequence[float]


@cache
def worth() -> Worth:
    """Return what an hour without speculation brings and what the roll to it costs, by demand."""
    prepared = told(surge=False)
    known, shares = prepared.knowledge, [0.4 + 0.01 * each for each in range(64)]
    cutoff, output = known.true_cutoff_tokens_per_second, known.mean_output

    def gain(share: float) -> float:
        on, off = (
            requests_in_flight(
                curve, demand=share * cutoff, engines=4, mean_output=output, horizon=HOUR
            )
            for curve in (known.speculating, known.none)
        )
        return on - off

    def cost(share: float, *, surge: bool) -> float:
        seconds = roll_cost(
            roll_pair(surge=surge),
            demand=share * cutoff,
            mean_output=output,
            phase_seconds=prepared.pod_seconds,
            cold_seconds=LawSettings().cold_seconds,
        )
        return seconds / HOUR

    return Worth(
        demand=shares,
        an_hour_off=[gain(each) for each in shares],
        roll_without_surge=[cost(each, surge=False) for each in shares],
        roll_with_surge=[cost(each, surge=True) for each in shares],
    )


def off_share(*, surge: bool, replicas: int = 4) -> float:
    """Return D_off ÷ D*, the band of the prediction aside."""
    settings = LawSettings()
    late = settings.off_share_surge if surge else settings.off_share
    return min(late, safe_share(surge=surge, replicas=replicas))


def safe_share(*, surge: bool, replicas: int = 4) -> float:
    """Return D_safe ÷ D*."""
    least = least_capacity(roll_pair(surge=surge, replicas=replicas))
    cutoff = told(surge=surge, replicas=replicas).knowledge.true_cutoff_tokens_per_second
    return LawSettings().safe_share * least / cutoff


def capacities(*, surge: bool, replicas: int) -> tuple[list[float], list[float]]:
    """Return minutes and capacity ÷ D* through a roll, as the corners of a line of steps."""
    pair, prepared = roll_pair(surge=surge, replicas=replicas), told(surge=surge, replicas=replicas)
    engines = [replicas * pair.old.capacity]
    engines += [pair.capacity(phase) for phase in pair.phases()]
    engines += [replicas * pair.new.capacity]
    minutes = prepared.pod_seconds / 60.0
    begins = [-3.0, *(minutes * each for each in range(len(engines) - 1))]
    ends = [*begins[1:], begins[-1] + 3.0]
    cutoff = prepared.knowledge.true_cutoff_tokens_per_second
    x = [place for pair_of in zip(begins, ends, strict=True) for place in pair_of]
    return x, [each / cutoff for each in engines for _ in range(2)]


@dataclass(kw_only=True)
class Watched:
    """A control law, with the times at which a roll was under way."""

    law: Controller
    rolling: list[float] = field(default_factory=list)

    def decide(self, observation: Observation, now: float) -> str | None:
        """See Controller."""
        if observation.rolling:
            self.rolling.append(now)
        return self.law.decide(observation, now)


@dataclass(frozen=True, kw_only=True)
class Day:
    """A day in the simulator under one control law."""

    law: str
    result: Result
    rolling: Sequence[float]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Begin and end of each roll, in hours."""
        begins = [each.time for each in self.result.switches]
        found = []
        for begin, after in pairwise([*begins, np.inf]):
            seen = [each for each in self.rolling if begin <= each < after]
            found.append((begin / HOUR, max(seen, default=begin) / HOUR))
        return found


DAY_LAWS: Final[Mapping[str, str]] = {
    ALWAYS_SPECULATING: "always EAGLE",
    ALWAYS_NONE: "always none",
    "band-20-percent": "band of 20 % around B*",
    "default": "ridgeline's law",
}


DAY_PLATEAU: Final = 1.03


@cache
def days() -> tuple[Day, ...]:
    """Return the same day under four laws."""
    prepared = prepare(scenario(surge=False, demand=Demand(plateau=DAY_PLATEAU)), SEED)
    found = []
    for law in laws():
        if law.name in DAY_LAWS:
            watched = Watched(law=law.build(prepared.knowledge))
            result = simulate(replace(prepared.setting, first_profile=law.first), watched)
            found.append(Day(law=law.name, result=result, rolling=watched.rolling))
    return tuple(found)


GATE_SEEDS: Final = (1, 2)


HOPELESS: Final = 1.05
"""Plateau above which a fleet that always speculates queues all day: not worth a simulation."""


GATES: Final[Mapping[str, LawSettings]] = {
    "with the gate": LawSettings(),
    "always insured": LawSettings(gate=0.0, gate_surge=0.0, gate_return=0.0),
    "always by regret": LawSettings(gate=1e6, gate_surge=1e6, gate_return=0.0),
}


@cache
def losses(plateau: float) -> Mapping[str, float]:
    """Return the latency of each law above the better static choice's, in %, mean over seeds."""
    found: dict[str, list[float]] = {}
    for seed in GATE_SEEDS:
        demand = Demand(plateau=plateau)
        prepared = prepare(scenario(surge=False, demand=demand), seed)
        tried = STATIC if plateau < HOPELESS else (ALWAYS_NONE,)
        fixed = {name: _static(prepared, name) for name in tried}
        better = min(fixed.values())
        run = {name: _gated(prepared, settings) for name, settings in GATES.items()}
        for name, latency in (fixed | run).items():
            found.setdefault(name, []).append(100.0 * (latency / better - 1.0))
    return {name: statistics.fmean(each) for name, each in found.items()}


def _static(prepared: Prepared, name: str) -> float:
    first = SPECULATING if name == ALWAYS_SPECULATING else NONE
    setting = replace(prepared.setting, first_profile=first)
    return simulate(setting, Plan(())).mean_latency_seconds


def _gated(prepared: Prepared, settings: LawSettings) -> float:
    return simulate(prepared.setting, law_of(prepared.knowledge, settings)).mean_latency_seconds


def law_of(known: Knowledge, settings: LawSettings) -> DefaultLaw:
    """Return ridgeline's law with the week before in its memory."""
    memory = LawMemory(slow=SlowMemory(peak=history(known)))
    return DefaultLaw(known=known, memory=memory, settings=settings)


CROWD_BEGINS: Final = 2 * HOUR
LEAD: Final = 1.25
"""Lead time of a schedule ÷ duration of a roll."""


SCHEDULED: Final = "ridgeline's law and a schedule, no surge"


@cache
def crowd(minutes: float) -> Mapping[str, float]:
    """Return the mean latency of half a day with one flash crowd, by what was done about it."""
    demand = Demand(
        plateau=0.6,
        flat=True,
        bursts_per_day=0.0,
        crowds=(Crowd(begins=CROWD_BEGINS, minutes=minutes, factor=2.0),),
    )
    found: dict[str, float] = {}
    for surge, way in ((False, "no surge"), (True, "surge")):
        prepared = prepare(scenario(surge=surge, demand=demand, hours=12.0), SEED)
        if not surge:
            found |= {name: _static(prepared, name) for name in STATIC}
            found[SCHEDULED] = _scheduled(prepared, minutes)
        found[f"ridgeline's law, {way}"] = _gated(prepared, LawSettings())
        off = Switch(time=CROWD_BEGINS, profile=NONE)
        on = Switch(time=CROWD_BEGINS + 60.0 * minutes, profile=SPECULATING)
        result = simulate(prepared.setting, Plan((off, on)))
        found[f"rolled at once, {way}"] = result.mean_latency_seconds
    return found


def _scheduled(prepared: Prepared, minutes: float) -> float:
    law = law_of(prepared.knowledge, LawSettings())
    lead = LEAD * prepared.knowledge.roll_seconds
    law.window = ((CROWD_BEGINS - lead) / HOUR, CROWD_BEGINS / HOUR + minutes / 60.0)
    return simulate(prepared.setting, law).mean_latency_seconds
