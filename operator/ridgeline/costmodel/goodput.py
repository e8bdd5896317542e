"""Goodput of a profile by concurrency: accepted tokens per second of one engine.

    goodput(B) = B · E[L] ÷ T(B)         up to the concurrency that memory or the engine admits
    S(B)       = goodput ÷ goodput without speculation = E[L] · T(none) ÷ T(profile)
    TPOT(B)    = T(B) ÷ E[L]

Where step times were observed T carries what was learned: T·exp(g). A profile that was not seen
takes the g of the one that was seen longest, so that its ratio to that one stays the model's.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.constants import CONSTANTS, Constants
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.forward import Forward
from ridgeline.costmodel.memory import Room, room_of
from ridgeline.costmodel.step_time import StepModel, step_model
from ridgeline.costmodel.uncertainty import ratio_sd
from ridgeline.costmodel.workload import Workload

MOST_SCALE: Final = 3.0
"""Most that a learned ln of step time may say (a factor of 20)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmModel:
    """A profile, ready to be asked for its goodput.

    Attributes:
        arm: The profile.
        step: Its step time.
        room: How many requests it has room for.
        scale: Factor on its step times that was learned.
        tiers: With a schedule, the first number of requests of each row and the step time there.
    """

    arm: Arm
    step: StepModel
    room: Room
    scale: float
    tiers: tuple[tuple[int, StepModel], ...] = ()

    def step_at(self, concurrency: float) -> StepModel:
        """Return the step time that holds at a concurrency: with a schedule, that of its row.

        The engine looks up the requests of each step; around their mean the nearest row stands for
        all.
        """
        if not self.tiers:
            return self.step
        row = bisect_right([first for first, _ in self.tiers], _requests(concurrency))
        return self.tiers[row - 1][1]

    def goodputs(self, concurrencies: Sequence[float], *, admitted: bool = True) -> list[float]:
        """Return tokens per second at each concurrency.

        Args:
            concurrencies: Requests in decode.
            admitted: Whether goodput is flat above the most that the engine admits.
        """
        if admitted and concurrencies[-1] > self.room.max_concurrency:
            most = self.room.max_concurrency
            concurrencies = [min(most, each) for each in concurrencies]
        if not self.tiers:
            return self._along(self.step, concurrencies)
        found: list[float] = []
        firsts = [first for first, _ in self.tiers]
        for row, those in groupby(
            concurrencies, lambda each: bisect_right(firsts, _requests(each))
        ):
            found += self._along(self.tiers[row - 1][1], list(those))
        return found

    def _along(self, step: StepModel, concurrencies: Sequence[float]) -> list[float]:
        tokens = step.length / self.scale
        times = step.sweep(concurrencies)
        return [each * tokens / seconds for each, seconds in zip(concurrencies, times, strict=True)]

    def goodput(self, concurrency: float) -> float:
        """Return tokens per second at a concurrency."""
        return self.goodputs((concurrency,))[0]


def _requests(concurrency: float) -> int:
    """Return the requests of a step that stand for their mean."""
    return max(1, round(concurrency))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is predicted of one profile at one concurrency.

    Attributes:
        profile: Its name.
        concurrency: Requests in decode per engine.
        tokens_per_second: Output tokens per second of one engine.
        tpot_seconds: Time per output token that a request sees.
        speedup: Goodput relative to the profile without speculation.
        speedup_sd: Standard deviation of ln of it.
        admitted: Whether the engine admits that many requests; if not, numbers are at its most.
        seen: Whether the profile's own step times were observed here.
    """

    profile: str
    concurrency: float
    tokens_per_second: float
    tpot_seconds: float
    speedup: float
    speedup_sd: float
    admitted: bool
    seen: bool


def arm_models(
    deployment: Deployment,
    arms: Sequence[Arm],
    workload: Workload,
    constants: Constants = CONSTANTS,
) -> list[ArmModel | CannotSay]:
    """Return each profile ready to be asked, or why it cannot be."""
    usual = scale_of_unseen(arms)
    found: list[ArmModel | CannotSay] = []
    target: Forward | None = None
    for arm in arms:
        step = step_model(deployment, arm, workload, constants, target)
        if isinstance(step, CannotSay):
            found.append(step)
            continue
        target = step.target
        room = room_of(deployment, arm, workload, constants)
        if isinstance(room, CannotSay):
            found.append(room)
            continue
        learned = arm.calibration.log_scale if arm.calibration.seen else usual
        scale = math.exp(min(max(learned, -MOST_SCALE), MOST_SCALE))
        tiers = _tiers(deployment, arm, workload, constants, target)
        found.append(ArmModel(arm=arm, step=step, room=room, scale=scale, tiers=tiers))
    return found


def _tiers(
    deployment: Deployment, arm: Arm, workload: Workload, constants: Constants, target: Forward
) -> tuple[tuple[int, StepModel], ...]:
    """Return the step time of each row of a schedule; the profile's own can be told already."""
    models = (
        (
            tier.first,
            step_model(
                deployment, replace(arm, lookahead=tier.lookahead), workload, constants, target
            ),
        )
        for tier in arm.schedule
    )
    return tuple((first, model) for first, model in models if isinstance(model, StepModel))


def estimate(
    deployment: Deployment, arm: Arm, none: Arm, workload: Workload, concurrency: float
) -> Estimate | CannotSay:
    """Return what is predicted of a profile at a concurrency.

    Args:
        deployment: The target.
        arm: The profile.
        none: The profile without speculation, which may be the same.
        workload: The mean request.
        concurrency: Requests in decode per engine, a positive number.
    """
    if not (math.isfinite(concurrency) and 1e-3 <= concurrency <= 1e6):
        return CannotSay(reason=f"concurrency is {concurrency}", way_out="give 0.001 to 1e6")
    one, other = arm_models(deployment, (arm, none), workload)
    if isinstance(one, CannotSay):
        return one
    if isinstance(other, CannotSay):
        return other
    goodput, base = one.goodput(concurrency), other.goodput(concurrency)
    held = min(concurrency, one.room.max_concurrency)
    same = arm.name == none.name
    return Estimate(
        profile=arm.name,
        concurrency=concurrency,
        tokens_per_second=goodput,
        tpot_seconds=held / goodput,
        speedup=goodput / base,
        speedup_sd=0.0 if same else ratio_sd(deployment, arm, none, CONSTANTS),
        admitted=concurrency <= one.room.max_concurrency,
        seen=arm.calibration.seen,
    )


def scale_of_unseen(arms: Sequence[Arm]) -> float:
    """Return ln of the factor on step times of a profile that was not seen: the longest seen's."""
    longest = max(arms, key=lambda each: each.calibration.windows, default=None)
    return longest.calibration.log_scale if longest and longest.calibration.seen else 0.0
