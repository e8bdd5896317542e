"""The best that hindsight finds: plans made with the whole traffic known, as simulated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.hindsight import Fluid, Plan, best_plans
from ridgeline.sim.requests.simulate import Result, Setting, simulate

MARGINS: Final = (1.0, 1.05, 1.1)
"""What the demand is multiplied by while planning: above 1 leaves room for noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best of staying on each profile and of every plan that was tried.

    Attributes:
        first: Profile that it begins on.
        result: What became of it.
    """

    first: str
    result: Result


def best_in_hindsight(
    setting: Setting,
    fluid: Fluid,
    demand: Floats,
    statics: Mapping[str, Result],
    *,
    margins: tuple[float, ...] = MARGINS,
    tried: Callable[[], None] = lambda: None,
) -> Best | None:
    """Return the best outcome that could have been had; `None` when every queue outgrew it.

    Args:
        setting: What is simulated; its first profile is replaced.
        fluid: The same fleet for planning.
        demand: Tokens/s asked for, per minute.
        statics: What became of staying on each profile of the fluid, by its name; one whose queue
            outgrew the simulation is left out.
        margins: Factors on the demand that plans are made with.
        tried: Told after each plan.
    """
    best = min(
        (Best(first=name, result=result) for name, result in statics.items()),
        key=lambda each: each.result.mean_latency_seconds,
        default=None,
    )
    known: set[tuple[str, object]] = set()
    for first in fluid.speeds:
        for margin in margins:
            for plan in best_plans(fluid, demand, first, dearer=margin)[:1]:
                if not plan or (first, plan) in known:
                    continue
                known.add((first, plan))
                result = _planned(replace(setting, first_profile=first, observed=False), Plan(plan))
                if result is not None and _is_better(result, best):
                    best = Best(first=first, result=result)
            tried()
    return best


def _is_better(result: Result, best: Best | None) -> bool:
    return best is None or result.mean_latency_seconds < best.result.mean_latency_seconds


def _planned(setting: Setting, plan: Plan) -> Result | None:
    """Return what becomes of a plan; `None` when the queue outgrows the simulation."""
    try:
        return simulate(setting, plan)
    except OverflowError:
        return None
