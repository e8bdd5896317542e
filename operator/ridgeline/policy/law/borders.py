"""The borders between neighbouring profiles at this moment: cut-off, act-at values, and mode.

    D_off = min(share · lower edge of D*, D_safe)      D_on = 0.9 · D_off
    B_off = the running profile's concurrency at D_off; B_on likewise at D_on

share is 0.85, with surge 0.9. D_safe is 0.9 of what every phase of a roll over the border can
carry: the guard of such a roll lets it begin up to 0.95, so that a demand which rises while the
sign is confirmed does not find the door shut. What experience taught lowers D_off
(ratchet) and D_on, B_on (detector). A latency limit moves D_off to where it is kept longer.
"""

import math
from dataclasses import dataclass

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.capacity import RollPair, least_capacity
from ridgeline.policy.law.cutoff import Cutoff, concurrency_at, cutoff, demand_within
from ridgeline.policy.law.gate import mode_at
from ridgeline.policy.law.inputs import LawInputs
from ridgeline.policy.law.memory import Learned, SlowMemory
from ridgeline.policy.law.peak import peak
from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.law.terms import LawMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The border above one profile. Demands are tokens per second of the fleet.

    Attributes:
        quieter: Profile beneath.
        busier: Profile above.
        mode: By which rule it is crossed.
        peak_ratio: P, the week's peak ÷ D*; `None` while not known or without a cut-off.
        cutoff_concurrency: B* per engine; `None` when the busier profile never catches up.
        cutoff_demand: D*.
        safe_demand: D_safe.
        late_demand: D_off if every roll were safe: the share of the lower edge of D*; `None`
            without a cut-off.
        off_demand: D_off; `None` without a cut-off.
        on_demand: D_on.
        taught_demand: Most demand at which experience lets the border be crossed downwards; `None`
            when it taught nothing.
        taught_concurrency: The same of concurrency per engine.
    """

    quieter: str
    busier: str
    mode: LawMode
    peak_ratio: float | None
    cutoff_concurrency: float | None
    cutoff_demand: float | None
    safe_demand: float
    late_demand: float | None
    off_demand: float | None
    on_demand: float
    taught_demand: float | None
    taught_concurrency: float | None


def keeps_capacity(inputs: LawInputs) -> bool:
    """Tell whether a roll takes no replica away before its successor is ready."""
    return inputs.strategy.surge > 0 and inputs.strategy.unavailable == 0


def roll_pair(inputs: LawInputs, old: Curve, new: Curve) -> RollPair:
    """Return the roll of this fleet from one profile to another."""
    return RollPair(
        old=old,
        new=new,
        strategy=inputs.strategy,
        replicas=inputs.replicas,
        engines_per_replica=inputs.engines / inputs.replicas,
    )


def borders(
    inputs: LawInputs, settings: LawSettings, slow: SlowMemory, now: float
) -> tuple[Border, ...]:
    """Return the borders, from the quietest profile to the busiest."""
    highest = peak(slow.peak, now)
    return tuple(
        _border(inputs, settings, slow, now, row, highest) for row in range(len(inputs.curves) - 1)
    )


def _border(
    inputs: LawInputs,
    settings: LawSettings,
    slow: SlowMemory,
    now: float,
    row: int,
    highest: float | None,
) -> Border:
    quieter, busier = inputs.curves[row], inputs.curves[row + 1]
    found = cutoff(quieter, busier, inputs.lower_edge(row))
    safe = settings.safe_share * least_capacity(roll_pair(inputs, quieter, busier))
    ratio = highest / found.demand if found and found.demand > 0 and highest is not None else None
    off, limited = _off_demand(inputs, settings, found, safe, row)
    taught = taught_at(slow, quieter.profile, busier.profile)
    growth = 1.0 if taught is None else growth_since(taught.at, now, settings)
    if off is not None and taught is not None and taught.off_demand is not None:
        lowered = min(off, taught.off_demand * inputs.engines * growth)
        off = max(settings.ratchet_floor * off, lowered)
    on = settings.on_share * (safe if off is None else off)
    demand = taught.on_demand if taught is not None else None
    level = taught.on_concurrency if taught is not None else None
    if demand is not None:
        demand *= inputs.engines * growth
        on = min(on, demand)
    return Border(
        quieter=quieter.profile,
        busier=busier.profile,
        mode=LawMode.INSURED if limited else _mode(inputs, settings, slow, row, ratio),
        peak_ratio=ratio,
        cutoff_concurrency=found.concurrency if found else None,
        cutoff_demand=found.demand * inputs.engines if found else None,
        safe_demand=safe,
        late_demand=_late(inputs, settings, found) if found else None,
        off_demand=off,
        on_demand=on,
        taught_demand=demand,
        taught_concurrency=None if level is None else level * growth,
    )


def _off_demand(
    inputs: LawInputs, settings: LawSettings, found: Cutoff | None, safe: float, row: int
) -> tuple[float | None, bool]:
    """Return D_off and whether a latency limit decided it."""
    if found is None:
        return None, False
    off = min(_late(inputs, settings, found), safe)
    limit = settings.objective.tpot_limit_seconds
    if limit is None:
        return off, False
    kept = [
        inputs.engines * demand_within(curve, limit / settings.objective.tail(curve.profile))
        for curve in inputs.curves[row : row + 2]
    ]
    if kept[0] < off and kept[1] > kept[0]:
        return kept[0], True
    if kept[1] < off and kept[0] > off:
        return min(kept[0], found.demand * inputs.engines, safe), True
    return off, False


def _mode(
    inputs: LawInputs, settings: LawSettings, slow: SlowMemory, row: int, ratio: float | None
) -> LawMode:
    return mode_at(
        peak_ratio=ratio,
        surge=keeps_capacity(inputs),
        before=slow.modes[row] if row < len(slow.modes) else None,
        settings=settings,
    )


def _late(inputs: LawInputs, settings: LawSettings, found: Cutoff) -> float:
    share = settings.off_share_surge if keeps_capacity(inputs) else settings.off_share
    return share * found.low_demand * inputs.engines


def taught_at(slow: SlowMemory, quieter: str, busier: str) -> Learned | None:
    """Return what experience taught of a border."""
    return next(
        (each for each in slow.learned if (each.quieter, each.busier) == (quieter, busier)), None
    )


def growth_since(at: float, now: float, settings: LawSettings) -> float:
    """Return by how much a limit that was learned at a time has risen again."""
    return math.exp(min(50.0, max(0.0, now - at) / settings.recovery_seconds))


def off_concurrency(border: Border, curve: Curve, engines: float) -> float | None:
    """Return B_off on the running profile's curve; `None` without a cut-off."""
    if border.off_demand is None:
        return None
    return concurrency_at(curve, border.off_demand / engines)


def on_concurrency(border: Border, curve: Curve, engines: float) -> float:
    """Return B_on on the running profile's curve."""
    level = concurrency_at(curve, border.on_demand / engines)
    return level if border.taught_concurrency is None else min(level, border.taught_concurrency)
