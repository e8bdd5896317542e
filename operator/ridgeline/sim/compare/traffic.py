"""The traffic of a comparison: a built-in shape or a file, as requests or as a fluid."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from ridgeline.policy.law.peak import SLOT_SECONDS, PeakSketch, from_history
from ridgeline.sim.compare.load_curve import LoadCurve
from ridgeline.sim.compare.operator_law import EPOCH
from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.flow import Flow, flow_of_demand, flow_of_level, flow_of_trace
from ridgeline.sim.requests.traffic import (
    DAY,
    TICK_SECONDS,
    WEEK,
    Crowd,
    Demand,
    SizeMix,
    Trace,
    generate,
)


class Shape(StrEnum):
    """Built-in shapes of a week."""

    DIURNAL = "diurnal"
    """Weekdays from 7 to 22 o'clock, weekends at half the height, six short bursts a day."""
    BURSTY = "bursty"
    """The same with forty bursts a day and strong noise."""
    FLASH_CROWD = "flash-crowd"
    """A steady load that doubles for half an hour, twice a day."""


CROWD_HOURS: Final = (9.0, 15.5)
"""Hours of the day at which a flash crowd comes."""

QUIET_SHARE: Final = 0.5
"""Load between flash crowds as a share of the load within them."""


def demand_of(shape: Shape, plateau: float, seconds: float) -> Demand:
    """Return a shape at a level: that of a weekday's plateau, or of a flash crowd."""
    if shape is Shape.DIURNAL:
        return Demand(plateau=plateau)
    if shape is Shape.BURSTY:
        return Demand(plateau=plateau, bursts_per_day=40.0, drift=0.12)
    days = int(np.ceil(seconds / DAY))
    crowds = tuple(
        Crowd(begins=day * DAY + hour * 3600.0, minutes=30.0, factor=1.0 / QUIET_SHARE)
        for day in range(days)
        for hour in CROWD_HOURS
    )
    quiet = QUIET_SHARE * plateau
    return Demand(plateau=quiet, flat=True, bursts_per_day=0.0, crowds=crowds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What arrives.

    Attributes:
        flow: As a fluid.
        trace: As requests; `None` when only the fluid is wanted.
        before: Tokens/s of the time before, per tick: what the operator may know of it.
        seconds: Length.
    """

    flow: Flow
    trace: Trace | None
    before: Floats
    seconds: float


def peak_before(before: Floats, replicas: int) -> PeakSketch:
    """Return what the operator remembers of the week before, by five-minute slots.

    Args:
        before: Tokens/s of the fleet per tick; a shorter time came again and again.
        replicas: Replicas of the fleet.
    """
    each = round(SLOT_SECONDS / TICK_SECONDS)
    whole = len(before) // each * each
    if whole == 0:
        return PeakSketch()
    slots = before[:whole].reshape(-1, each).mean(axis=1) / replicas
    week = np.resize(slots, int(WEEK / SLOT_SECONDS))
    first = int((EPOCH - WEEK) / SLOT_SECONDS)
    return from_history((first + slot, float(level)) for slot, level in enumerate(week))


def made_up(
    demand: Demand, mix: SizeMix, *, cutoff: float, seconds: float, seed: int, requests: bool
) -> Traffic:
    """Return the traffic of a built-in shape.

    The week before has the same demand with other noise and no crowds.

    Args:
        demand: Its shape and level, as a share of the cut-off demand.
        mix: Sizes of requests.
        cutoff: The cut-off demand, tokens/s of the fleet.
        seconds: Length.
        seed: Seed of everything by chance.
        requests: Whether single requests are wanted.
    """
    rng = np.random.default_rng([seed, 7])
    quiet = replace(demand, crowds=())
    times = np.arange(0.0, 7 * DAY, TICK_SECONDS)
    before = quiet.realised(times, np.random.default_rng([seed, 4242])) * cutoff
    if not requests:
        flow = flow_of_demand(
            demand, mix, cutoff_tokens_per_second=cutoff, seconds=seconds, rng=rng
        )
        return Traffic(flow=flow, trace=None, before=before, seconds=flow.seconds)
    trace = generate(demand, mix, cutoff_tokens_per_second=cutoff, seconds=seconds, rng=rng)
    return Traffic(flow=flow_of_trace(trace, seconds), trace=trace, before=before, seconds=seconds)


def recorded(
    source: Trace | LoadCurve, usual: SizeMix, *, factor: float, seed: int, requests: bool
) -> Traffic:
    """Return the traffic of a file, as often as it was recorded times a factor.

    It is taken to have been the same before.

    Args:
        source: What was read.
        usual: Sizes of requests where the file does not tell them.
        factor: What the number of requests is multiplied by.
        seed: Seed of everything by chance.
        requests: Whether single requests are wanted.

    Raises:
        ValueError: When nothing arrives.
    """
    rng = np.random.default_rng([seed, 7])
    trace: Trace | None
    if isinstance(source, Trace):
        trace = source.busier(factor, rng) if factor != 1.0 else source
        seconds = TICK_SECONDS * float(np.ceil((trace.seconds + 1e-6) / TICK_SECONDS + 1.0))
    else:
        mix, seconds = source.mix(usual), source.seconds
        trace = _requests_of(source, mix, factor, rng) if requests else None
        if trace is None:
            level = source.requests_per_second * factor * mix.output
            flow = flow_of_level(level, mix, rng)
    if trace is not None:
        flow = flow_of_trace(trace, seconds)
    return Traffic(
        flow=flow,
        trace=trace if requests else None,
        before=flow.tokens_per_second,
        seconds=seconds,
    )


def _requests_of(curve: LoadCurve, mix: SizeMix, factor: float, rng: np.random.Generator) -> Trace:
    rates = curve.requests_per_second * factor
    counts = rng.poisson(rates * TICK_SECONDS)
    starts = np.arange(len(rates)) * TICK_SECONDS
    times = np.repeat(starts, counts) + rng.uniform(0.0, TICK_SECONDS, int(counts.sum()))
    times.sort()
    return Trace(times=times, sizes=mix.draw(len(times), rng))
