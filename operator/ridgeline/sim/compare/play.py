"""Strategies side by side: the same traffic, the same start-up times, one after the other."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from ridgeline.policy.law.peak import PeakSketch
from ridgeline.policy.schedule import ScheduleState
from ridgeline.policy.settings import PolicySettings
from ridgeline.sim.compare.operator_law import ActsAt, Note, OperatorLaw
from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.bound import best_in_hindsight
from ridgeline.sim.requests.hindsight import Fluid
from ridgeline.sim.requests.rivals import Static, Threshold
from ridgeline.sim.requests.simulate import Result, Setting, simulate

HINDSIGHT: Final = "best in hindsight"
"""Name of the outcome that nobody can have: every roll planned with the traffic known."""


class Kind(StrEnum):
    """What decides."""

    STATIC = "Static"
    """Nobody: one profile stays."""
    SCHEDULE = "InEngineSchedule"
    """The engine, step by step, with a drafter that stays loaded."""
    THRESHOLD = "Threshold"
    """A script that compares concurrency with one number."""
    OPERATOR = "Operator"
    """The operator."""
    HINDSIGHT = "Hindsight"
    """Somebody who knew the traffic."""


Schedules = Callable[[float, float], ScheduleState | None]
"""Gives the windows at an epoch second, with the lead of a roll in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way to run the fleet.

    Attributes:
        name: Its name, unique in a play.
        kind: What decides.
        first: Profile at the start.
        about: What it is, as a sentence without a full stop.
        threshold: Concurrency of a script, and the profiles below and above it.
        settings: What the operator is asked.
        schedules: Its schedules.
    """

    name: str
    kind: Kind
    first: str
    about: str = ""
    threshold: tuple[float, str, str] | None = None
    settings: PolicySettings | None = None
    schedules: Schedules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Everything that a comparison is made of.

    Attributes:
        setting: What is simulated; the first profile is each strategy's.
        strategies: What is compared, in the order in which it is shown.
        peak: What the operator knows of the time before.
        fluid: The same fleet for plans in hindsight; its profiles are those that may be rolled to.
        demand_by_minute: Tokens/s asked for.
        margins: Factors on the demand that plans in hindsight are made with.
    """

    setting: Setting
    strategies: tuple[Strategy, ...]
    peak: PeakSketch
    fluid: Fluid
    demand_by_minute: Floats
    margins: tuple[float, ...] = (1.0, 1.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one strategy.

    Attributes:
        strategy: The strategy.
        result: What became of it; `None` when its queue outgrew the simulation.
        notes: The operator's decisions where they changed.
        acts_at: Where the operator's law acted at the end.
        concurrency: Requests in decode per engine that the operator saw last.
    """

    strategy: Strategy
    result: Result | None
    notes: tuple[Note, ...] = ()
    acts_at: ActsAt | None = None
    concurrency: float | None = None


Told = Callable[[str, int, int], None]
"""Is told which strategy is done, how many are, and of how many."""


def compare(play: Play, told: Told | None = None, processes: int = 1) -> tuple[Outcome, ...]:
    """Return what becomes of every strategy, and of the best plan made in hindsight.

    The same play has the same outcomes, in however many processes.

    Args:
        play: What is played.
        told: Is told of progress.
        processes: How many processes play it.
    """
    count = len(play.strategies) + 1
    found: dict[str, Outcome] = {}

    def done(outcome: Outcome) -> None:
        found[outcome.strategy.name] = outcome
        if told is not None:
            told(outcome.strategy.name, len(found), count)

    for outcome in _played(play, processes):
        done(outcome)
    outcomes = tuple(found[each.name] for each in play.strategies)
    done(_hindsight(play, outcomes))
    return (*outcomes, found[HINDSIGHT])


def _played(play: Play, processes: int) -> Iterator[Outcome]:
    if processes <= 1:
        yield from (play_one(play, each) for each in play.strategies)
        return
    with ProcessPoolExecutor(max_workers=processes) as pool:
        # The slowest first: they begin while there is still something beside them.
        order = sorted(play.strategies, key=lambda each: each.kind is not Kind.OPERATOR)
        alone = replace(play, strategies=())
        futures: list[Future[Outcome]] = [pool.submit(play_one, alone, each) for each in order]
        yield from (each.result() for each in as_completed(futures))


def play_one(play: Play, strategy: Strategy) -> Outcome:
    """Return what becomes of one strategy."""
    setting = replace(play.setting, first_profile=strategy.first)
    if strategy.settings is not None:
        return _operated(play, setting, strategy, strategy.settings)
    if strategy.threshold is not None:
        at, below, above = strategy.threshold
        law = Threshold(off=at, on=at, speculating=below, none=above)
        return Outcome(strategy=strategy, result=_simulated(partial(simulate, setting, law)))
    blind = replace(setting, observed=False)
    return Outcome(strategy=strategy, result=_simulated(partial(simulate, blind, Static())))


def _operated(
    play: Play, setting: Setting, strategy: Strategy, settings: PolicySettings
) -> Outcome:
    law = OperatorLaw(
        settings=settings,
        surge=setting.rolls.surge,
        telemetry=setting.telemetry,
        peak=play.peak,
        schedules=strategy.schedules,
    )
    result = _simulated(partial(simulate, setting, law))
    return Outcome(
        strategy=strategy,
        result=result,
        notes=tuple(law.notes),
        acts_at=law.acts_at,
        concurrency=law.concurrency,
    )


def _simulated(run: Callable[[], Result]) -> Result | None:
    try:
        return run()
    except OverflowError:
        return None


def _hindsight(play: Play, outcomes: tuple[Outcome, ...]) -> Outcome:
    statics = {
        each.strategy.first: each.result
        for each in outcomes
        if each.strategy.kind is Kind.STATIC and each.result is not None
    }
    best = best_in_hindsight(
        play.setting, play.fluid, play.demand_by_minute, statics, margins=play.margins
    )
    first = best.first if best is not None else next(iter(play.fluid.speeds))
    strategy = Strategy(
        name=HINDSIGHT,
        kind=Kind.HINDSIGHT,
        first=first,
        about="every roll planned with the whole traffic known, its cost included",
    )
    return Outcome(strategy=strategy, result=best.result if best is not None else None)
