"""Scenarios of the control benchmark: deployment, fleet, traffic, and what a controller is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ridgeline.costmodel.curve import Curve
from ridgeline.sim.compare.case import stretched, thinned
from ridgeline.sim.requests.engines import ClosedLoop, Serving
from ridgeline.sim.requests.fleet import RollSettings
from ridgeline.sim.requests.published import FAMILIES, NONE, SPECULATING
from ridgeline.sim.requests.simulate import Setting
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import (
    DAY,
    MIXES,
    Crowd,
    Demand,
    Sizes,
    Trace,
    generate,
    read_trace,
)
from ridgeline.sim.requests.truth import Truth, crossing

HEADLINE = {"70b": 1.03, "8b": 1.03, "weak": 1.2}
"""Weekday plateau ÷ D* of the first table: just above what the speculating fleet delivers."""


TRACE_PASSES = 4
"""A recorded trace of an hour is played that often: a roll takes a third of an hour."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One cell of the benchmark."""

    name: str
    family: str
    surge: bool
    demand: Demand
    replicas: int = 4
    hours: float = 96.0
    mix: str = "chat"
    trace: Path | None = None
    trace_level: float = 1.0
    cutoff_error: float = 0.0
    closed_loop: bool = False
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    serving: Serving = field(default_factory=Serving)
    autoscale: bool = False
    tick_seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What a controller is told before it begins; the cut-off as wrong as the scenario says."""

    scenario: Scenario
    truth: Truth
    speculating: Curve
    none: Curve
    cutoff: float
    cutoff_tokens_per_second: float
    true_cutoff_tokens_per_second: float
    roll_seconds: float
    mean_prompt: float
    mean_output: float
    recorded_slots: np.ndarray | None
    """Demand of a recorded trace per five minutes, for the week that came before it."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A scenario with the traffic of one seed."""

    setting: Setting
    knowledge: Knowledge
    demand_by_minute: np.ndarray
    peak: float
    pod_seconds: float


def headline(hours: float, plateaus: dict[str, float] | None = None) -> list[Scenario]:
    """70B, 8B and weak head, without and with surge."""
    return [
        Scenario(
            name=f"{family}/{'surge' if surge else 'no-surge'}",
            family=family,
            surge=surge,
            demand=Demand(plateau=plateau),
            hours=hours,
        )
        for family, plateau in (plateaus or HEADLINE).items()
        for surge in (False, True)
    ]


def further(hours: float) -> list[Scenario]:
    """Plateaus, fleets, wrong cut-offs, crowds, noise, closed loops and what else may happen."""
    base = {each.name: replace(each, hours=min(hours, 48.0)) for each in headline(hours)}
    found: list[Scenario] = []
    for ways in ("no-surge", "surge"):
        normal = base[f"70b/{ways}"]
        for plateau in (0.5, 0.7, 0.8, 0.9, 1.1, 1.2, 1.4):
            name = f"70b/{ways}/plateau-{plateau}"
            found.append(replace(normal, name=name, demand=Demand(plateau=plateau)))
        found += [
            replace(normal, name=f"70b/{ways}/replicas-{count}", replicas=count)
            for count in (2, 8, 16)
        ]
        for error in (-0.5, -0.25, 0.25, 0.5, 1.0):
            name = f"70b/{ways}/cutoff{error:+.0%}"
            found.append(replace(normal, name=name, cutoff_error=error, demand=Demand(plateau=1.2)))
        for minutes in (5.0, 15.0, 30.0, 60.0, 120.0, 240.0):
            demand = Demand(
                plateau=0.6,
                flat=True,
                bursts_per_day=0.0,
                crowds=(Crowd(begins=6 * 3600.0, minutes=minutes, factor=2.0),),
            )
            name = f"70b/{ways}/crowd-{minutes:.0f}min"
            found.append(replace(normal, name=name, demand=demand, hours=24.0))
        found += _troubles(normal, ways)
    return found


def _troubles(normal: Scenario, ways: str) -> list[Scenario]:
    seen_badly = TelemetrySettings(noise=0.1, loss=0.2)
    cold = Serving(prefix_hit=0.5, shed_above=64, max_tries=3)
    return [
        replace(normal, name=f"70b/{ways}/seen-badly", telemetry=seen_badly),
        replace(normal, name=f"70b/{ways}/closed-loop", closed_loop=True),
        replace(normal, name=f"70b/{ways}/cold-cache-shedding", serving=cold),
        replace(normal, name=f"70b/{ways}/autoscaler", autoscale=True),
        replace(normal, name=f"70b/{ways}/azure-conversation-sizes", mix="azure-conversation"),
    ]


def of_trace(path: Path) -> list[Scenario]:
    """A recorded trace at two levels, on 70B and 8B."""
    return [
        Scenario(
            name=f"{family}/{'surge' if surge else 'no-surge'}/{path.stem}-{level}",
            family=family,
            surge=surge,
            demand=Demand(plateau=level),
            trace=path,
            trace_level=level,
        )
        for family in ("70b", "8b")
        for level in (0.6, 0.9)
        for surge in (False, True)
    ]


def prepare(scenario: Scenario, seed: int) -> Prepared:
    """Return the traffic of a seed, and what controllers are told."""
    truth = FAMILIES[scenario.family]()
    rng = np.random.default_rng([seed, 7])
    recorded = None if scenario.trace is None else read_trace(scenario.trace)
    mix = MIXES[scenario.mix]
    prompt, output = mix.prompt, mix.output
    if recorded is not None:
        prompt = float(recorded.sizes.prompts.mean())
        output = float(recorded.sizes.outputs.mean())
    true = truth.curve(SPECULATING, prompt=prompt, output=output)
    none = truth.curve(NONE, prompt=prompt, output=output)
    demand = scenario.replicas * none.tokens_at(crossing(true, none))
    told = stretched(true, none, scenario.cutoff_error)
    cutoff = crossing(told, none)
    rolls = RollSettings(surge=int(scenario.surge))
    drain = 4.0 * output * none.seconds_per_token_at(cutoff)
    pod = rolls.mean_seconds(1, drain)
    seconds, trace, loop = _traffic(scenario, recorded, demand, rng)
    setting = Setting(
        truth=truth,
        replicas=scenario.replicas,
        seconds=seconds,
        first_profile=SPECULATING,
        trace=trace,
        loop=loop,
        loop_demand=scenario.demand,
        serving=scenario.serving,
        rolls=rolls,
        telemetry=scenario.telemetry,
        most_replicas=2 * scenario.replicas if scenario.autoscale else 0,
        scale_target=0.8 * crossing(true, none) if scenario.autoscale else None,
        tick_seconds=scenario.tick_seconds,
        seed=seed,
    )
    by_minute = np.zeros(0) if trace is None else trace.tokens_per_second(60.0, seconds)
    return Prepared(
        setting=setting,
        knowledge=Knowledge(
            scenario=scenario,
            truth=truth,
            speculating=thinned(told),
            none=thinned(none),
            cutoff=cutoff,
            cutoff_tokens_per_second=scenario.replicas * none.tokens_at(cutoff),
            true_cutoff_tokens_per_second=demand,
            roll_seconds=scenario.replicas * pod,
            mean_prompt=prompt,
            mean_output=output,
            recorded_slots=None if recorded is None else _by_slot(by_minute),
        ),
        demand_by_minute=by_minute,
        peak=_peak(by_minute) / demand,
        pod_seconds=pod,
    )


def _traffic(
    scenario: Scenario, recorded: Trace | None, demand: float, rng: np.random.Generator
) -> tuple[float, Trace | None, ClosedLoop | None]:
    seconds = scenario.hours * 3600.0
    if recorded is not None:
        level = recorded.sizes.outputs.sum() / recorded.seconds / demand
        each = 300.0 * np.ceil((recorded.seconds + 15.0) / 300.0)
        passes = [recorded.busier(scenario.trace_level / level, rng) for _ in range(TRACE_PASSES)]
        return TRACE_PASSES * each, _joined(passes, each), None
    mix = MIXES[scenario.mix]
    if scenario.closed_loop:
        # as many users as ask for the plateau when each answer takes 25 s and each thought 10 s
        users = int(demand / mix.output * 35.0)
        sizes: Sizes = mix.draw(8192, rng)
        return (
            seconds,
            None,
            ClosedLoop(users=users, thinks=rng.exponential(1.0, 8192), sizes=sizes),
        )
    trace = generate(
        scenario.demand, mix, cutoff_tokens_per_second=demand, seconds=seconds, rng=rng
    )
    return seconds, trace, None


def _joined(passes: list[Trace], each: float) -> Trace:
    return Trace(
        times=np.concatenate([one.times + each * n for n, one in enumerate(passes)]),
        sizes=Sizes(
            prompts=np.concatenate([one.sizes.prompts for one in passes]),
            outputs=np.concatenate([one.sizes.outputs for one in passes]),
        ),
    )


def _by_slot(by_minute: np.ndarray) -> np.ndarray:
    whole = len(by_minute) // 5 * 5
    slots: np.ndarray = by_minute[:whole].reshape(-1, 5).mean(axis=1)
    return slots


def _peak(by_minute: np.ndarray) -> float:
    slots = _by_slot(by_minute)
    return float(np.quantile(slots, 0.995)) if len(slots) else 0.0


def expected_peak_hours(demand: Demand, above: float) -> tuple[float, float] | None:
    """Return first and last hour of a weekday in which demand is expected above a level."""
    times = np.arange(0.0, DAY, 60.0)
    busy = np.flatnonzero(demand.expected(times) > above)
    if len(busy) == 0:
        return None
    return float(times[busy[0]] / 3600.0), float(times[busy[-1]] / 3600.0)
