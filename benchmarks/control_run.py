"""Runs one cell of the control benchmark: every control law on the same traffic, and the bound."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.control_law import LAWS
from benchmarks.control_rivals import RIVALS, Rival
from benchmarks.control_scenarios import Prepared, Scenario, prepare
from ridgeline.sim.requests.bound import best_in_hindsight
from ridgeline.sim.requests.controller import Controller
from ridgeline.sim.requests.hindsight import Fluid
from ridgeline.sim.requests.published import NONE, SPECULATING
from ridgeline.sim.requests.simulate import Result, Setting, simulate

STATIC = ("always-eagle", "always-none")
BOUND = "bound"
LEAST_GAIN = 0.005
"""Below this share of the better static's latency the bound leaves nothing to have a share of."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One control law on the traffic of one seed."""

    latency: float
    rolls_per_day: float
    most_rolls_in_a_day: int
    shed: int


@dataclass(frozen=True, kw_only=True)
class CellOfSeed:
    """All control laws on the traffic of one seed."""

    scenario: str
    seed: int
    peak: float
    outcomes: dict[str, Outcome]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One control law over all seeds of a scenario; a share is None where there is no gain."""

    mean_latency_seconds: float
    share_of_bound: float | None
    worst_share_of_bound: float | None
    rolls_per_day: float
    most_rolls_in_a_day: int
    loss_vs_better_static_percent: float
    worst_loss_vs_better_static_percent: float
    shed: int


def laws() -> tuple[Rival, ...]:
    """Return every control law that can be run here, the bound aside."""
    return (*RIVALS, *LAWS)


def run_cell(task: tuple[Scenario, int, tuple[str, ...] | None]) -> CellOfSeed:
    """Run one scenario on the traffic of one seed."""
    scenario, seed, only = task
    prepared = prepare(scenario, seed)
    results: dict[str, Result | None] = {}
    for law in laws():
        if only is not None and law.name not in (*STATIC, *only):
            continue
        setting = replace(prepared.setting, first_profile=law.first)
        results[law.name] = _simulated(setting, law.build(prepared.knowledge))
    if prepared.setting.trace is not None and not scenario.autoscale:
        results[BOUND] = bound(prepared, [results[each] for each in STATIC])
    outcomes = {name: _outcome(each, prepared.setting) for name, each in results.items()}
    return CellOfSeed(scenario=scenario.name, seed=seed, peak=prepared.peak, outcomes=outcomes)


def bound(prepared: Prepared, statics: Sequence[Result | None]) -> Result | None:
    """Return the best of staying on each profile and of the plans made in hindsight."""
    setting, known = prepared.setting, prepared.knowledge
    names = (SPECULATING, NONE)
    fluid = Fluid(
        speeds={
            name: setting.truth.speeds(name, prompt=known.mean_prompt, output=known.mean_output)
            for name in names
        },
        replicas=setting.replicas,
        surge=known.scenario.surge,
        pod_seconds=prepared.pod_seconds,
        mean_output=known.mean_output,
    )
    stayed = {name: each for name, each in zip(names, statics, strict=True) if each is not None}
    best = best_in_hindsight(setting, fluid, prepared.demand_by_minute, stayed)
    return None if best is None else best.result


def _simulated(setting: Setting, controller: Controller) -> Result | None:
    """Return how a law fared; `None` when the queue outgrew the simulator: it has lost."""
    try:
        return simulate(setting, controller)
    except OverflowError:
        return None


def _outcome(result: Result | None, setting: Setting) -> Outcome:
    """Return what is compared.

    The mean latency of a law that lost is told as the whole length of the traffic, which it is far
    beyond.
    """
    if result is None:
        return Outcome(latency=setting.seconds, rolls_per_day=0.0, most_rolls_in_a_day=0, shed=0)
    return Outcome(
        latency=result.mean_latency_seconds,
        rolls_per_day=result.rolls_per_day,
        most_rolls_in_a_day=result.most_rolls_in_a_day,
        shed=result.shed,
    )


def rows(cells: Sequence[CellOfSeed]) -> dict[str, Row]:
    """Return one row per control law of a scenario, over its seeds."""
    return {name: _row(name, cells) for name in cells[0].outcomes}


def _row(name: str, cells: Sequence[CellOfSeed]) -> Row:
    own = [each.outcomes[name] for each in cells]
    losses = [100.0 * (each.outcomes[name].latency / _better(each) - 1.0) for each in cells]
    shares = [each for each in (_share(name, cell) for cell in cells) if each is not None]
    return Row(
        mean_latency_seconds=statistics.fmean(each.latency for each in own),
        share_of_bound=statistics.fmean(shares) if shares else None,
        worst_share_of_bound=min(shares, default=None),
        rolls_per_day=statistics.fmean(each.rolls_per_day for each in own),
        most_rolls_in_a_day=max(each.most_rolls_in_a_day for each in own),
        loss_vs_better_static_percent=statistics.fmean(losses),
        worst_loss_vs_better_static_percent=max(losses),
        shed=sum(each.shed for each in own),
    )


def _better(cell: CellOfSeed) -> float:
    return min(cell.outcomes[each].latency for each in STATIC)


def _share(name: str, cell: CellOfSeed) -> float | None:
    """Return which part of the bound's gain over the better static a law has."""
    if BOUND not in cell.outcomes:
        return None
    better = _better(cell)
    gain = better - cell.outcomes[BOUND].latency
    if not math.isfinite(gain) or gain < LEAST_GAIN * better:
        return None
    return (better - cell.outcomes[name].latency) / gain
