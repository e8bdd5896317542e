"""What a start and a roll cost: weights to load, and GPUs that serve nothing meanwhile.

    roll  = replicas · GPUs per replica · seconds of a start · price per GPU-hour ÷ 3600

With one surge Pod at a time each replica's successor holds its GPUs for the length of a start
before it serves. How long a start takes depends on storage, compile cache and graph capture, which
no data sheet tells: it is a person's number, or it is not said.
"""

import math
from dataclasses import dataclass

from ridgeline.costmodel.cannot_say import CannotSay


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """What a start of one replica loads.

    Attributes:
        target_bytes: Bytes of the target's weights, over all its GPUs.
        draft_bytes: Bytes of the draft's weights.
    """

    target_bytes: float
    draft_bytes: float

    @property
    def more(self) -> float:
        """How much more there is to load because of the draft, as a share."""
        return self.draft_bytes / self.target_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RollCost:
    """What a roll to another profile costs beside what the fleet costs anyway.

    Attributes:
        gpu_hours: GPU-hours that serve nothing.
        price: The same in money; `None` without a price.
    """

    gpu_hours: float
    price: float | None


def roll_cost(
    replicas: int, gpus: int, start_seconds: float | None, gpu_hour: float | None
) -> RollCost | CannotSay:
    """Return what a roll of a fleet costs.

    Args:
        replicas: Replicas of the target.
        gpus: GPUs of one replica.
        start_seconds: From a Pod's start to its first answer; `None` when not known.
        gpu_hour: Price of a GPU for an hour; `None` when not told.
    """
    if start_seconds is None:
        return CannotSay(
            reason="how long a start takes depends on storage, compile cache and graph capture",
            way_out="measure one Pod from its start to Ready, and say so",
        )
    if not (math.isfinite(start_seconds) and 0.0 <= start_seconds <= 1e6):
        return CannotSay(reason=f"a start takes {start_seconds} seconds", way_out="give 0 to 1e6")
    hours = replicas * gpus * start_seconds / 3600.0
    return RollCost(gpu_hours=hours, price=None if gpu_hour is None else hours * gpu_hour)
