"""What is shown of a serving's cut-offs: the table, and what the cost model predicts behind it.

Absolute times are poor before they were calibrated, while the ratio of two profiles is good. So a
speed-up is always told, with its band, and a time or a token rate only where the step times of both
profiles were observed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.lookahead import Tier, lookahead_schedule
from ridgeline.costmodel.memory import Room
from ridgeline.costmodel.table import CutoffTable
from ridgeline.costmodel.uncertainty import ratio_sd
from ridgeline.costmodel.workload import Workload

CONCURRENCIES: Final = (1, 8, 32, 64, 128, 256)
"""Concurrencies at which speed-ups are told in numbers."""

_CURVE_POINTS: Final = 49


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What is predicted of a profile at one concurrency.

    Attributes:
        concurrency: Requests in decode per engine.
        speedup: Tokens per second relative to the profile without speculation.
        low: Lower edge of the band, one standard deviation.
        high: Upper edge.
        admitted: Whether the engine admits so many requests on this profile.
        tokens_per_second: Of one engine; `None` while it is not calibrated.
        tpot_seconds: Time per output token; `None` while it is not calibrated.
    """

    concurrency: float
    speedup: float
    low: float
    high: float
    admitted: bool
    tokens_per_second: float | None
    tpot_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """One profile.

    Attributes:
        arm: The profile as the cost model sees it.
        trouble: Why it cannot be predicted, with the way out; `None` when it can.
        calibrated: Whether its step times and those without speculation were observed here.
        room: How many requests it has room for; `None` when it cannot be predicted.
        points: Predictions at `CONCURRENCIES`; empty when nothing can be compared.
        curve: The same over the whole range, for a plot.
        tiers: The best lookahead by requests in a step while the drafter stays loaded; empty where
            there is none to choose.
    """

    arm: Arm
    trouble: str | None = None
    calibrated: bool = False
    room: Room | None = None
    points: tuple[Point, ...] = ()
    curve: tuple[Point, ...] = ()
    tiers: tuple[Tier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What the cost model predicts of all profiles.

    Attributes:
        deployment: The target.
        workload: The mean request.
        baseline: Name of the profile that speed-ups are relative to; `None` without one.
        profiles: The profiles in a person's order.
    """

    deployment: Deployment
    workload: Workload
    baseline: str | None
    profiles: tuple[ProfileReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffReport:
    """Everything that is shown.

    Attributes:
        subject: What it is about, such as a serving's name.
        strategy: The strategy that yields the table.
        facts: Name and value of what it rests on, with what told it.
        table: The cut-offs, or why there are none.
        way_out: What would make a table that may not be acted on certain; empty otherwise.
        predicted: The predictions, or why there are none.
    """

    subject: str
    strategy: str
    facts: tuple[tuple[str, str], ...]
    table: CutoffTable | str
    way_out: str
    predicted: Predicted | str


def predicted(deployment: Deployment, arms: Sequence[Arm], workload: Workload) -> Predicted:
    """Return what the cost model predicts of profiles, one by one.

    Args:
        deployment: The target.
        arms: Its profiles, the first without speculation being the one to compare with.
        workload: The mean request.
    """
    models = arm_models(deployment, arms, workload)
    known = [each for each in models if isinstance(each, ArmModel)]
    base = next((each for each in known if not each.arm.method.speculates), None)
    most = max((each.room.max_concurrency for each in known), default=1.0)
    curve = _spread(max(most, 2.0))
    found = []
    for arm, model in zip(arms, models, strict=True):
        if isinstance(model, CannotSay):
            found.append(ProfileReport(arm=arm, trouble=str(model)))
            continue
        tiers = lookahead_schedule(deployment, arm, workload)
        found.append(
            ProfileReport(
                arm=arm,
                calibrated=_calibrated(model, base),
                room=model.room,
                points=_points(deployment, model, base, [float(each) for each in CONCURRENCIES]),
                curve=_points(deployment, model, base, curve),
                tiers=() if isinstance(tiers, CannotSay) else tiers,
            )
        )
    return Predicted(
        deployment=deployment,
        workload=workload,
        baseline=base.arm.name if base is not None else None,
        profiles=tuple(found),
    )


def _spread(most: float) -> list[float]:
    """Return concurrencies from 1 to the most that any profile admits, even by their logarithm."""
    steps = _CURVE_POINTS - 1
    return [*(most ** (each / steps) for each in range(steps)), most]


def _calibrated(model: ArmModel, base: ArmModel | None) -> bool:
    return base is not None and model.arm.calibration.seen and base.arm.calibration.seen


def _points(
    deployment: Deployment, model: ArmModel, base: ArmModel | None, concurrencies: list[float]
) -> tuple[Point, ...]:
    if base is None:
        return ()
    sd = 0.0 if model is base else ratio_sd(deployment, model.arm, base.arm, CONSTANTS)
    calibrated, most = _calibrated(model, base), model.room.max_concurrency
    rates = zip(
        concurrencies, model.goodputs(concurrencies), base.goodputs(concurrencies), strict=True
    )
    return tuple(
        Point(
            concurrency=concurrency,
            speedup=rate / without,
            low=rate / without * math.exp(-sd),
            high=rate / without * math.exp(sd),
            admitted=concurrency <= most * (1.0 + 1e-9),
            tokens_per_second=rate if calibrated else None,
            tpot_seconds=min(concurrency, most) / rate if calibrated else None,
        )
        for concurrency, rate, without in rates
    )
