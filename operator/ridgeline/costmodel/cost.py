"""What a load costs: replicas, latency, and money per million output tokens.

    replicas  = ⌈ load ÷ (capacity · (1 − headroom)) ⌉      where a person does not say how many
    B         = concurrency at which one engine delivers load ÷ replicas
    cost      = replicas · GPUs per replica · price per GPU-hour ÷ 3600 ÷ load · 10⁶
    at best   = the same with every engine at its capacity: GPUs · price ÷ 3600 ÷ capacity · 10⁶

The first is what is paid, since GPUs are paid for whether they are busy or not; the second is what
the load would have to grow to for GPUs to be worth most. Only output tokens are counted; prompts
cost through the steps that they share.
"""

import math
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.capacity import Capacity

HEADROOM: Final = 0.2
"""Share of capacity that is left free for peaks where nobody says otherwise (common practice; a
queue grows without limit as load nears capacity)."""

MOST_REPLICAS: Final = 1_000_000
"""More are a slip of the pen."""

_HOUR: Final = 3600.0
_MILLION: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is asked of a fleet, and what it is made of.

    Attributes:
        tokens_per_second: Output tokens per second asked of all replicas together.
        gpus: GPUs of one replica.
        gpu_hour: Price of one GPU for an hour, in any currency; `None` when not told.
        replicas: Replicas that there are; `None` for as few as are needed.
        headroom: Share of capacity left free when replicas are counted.

    Raises:
        ValueError: When a number is not finite or out of its bounds.
    """

    tokens_per_second: float
    gpus: int
    gpu_hour: float | None = None
    replicas: int | None = None
    headroom: float = HEADROOM

    def __post_init__(self) -> None:
        """Refuse numbers from which no finite cost follows."""
        if not 1e-6 <= self.tokens_per_second <= 1e12:
            raise ValueError(f"tokens_per_second is {self.tokens_per_second}: give 1e-6 to 1e12")
        if self.gpus < 1:
            raise ValueError(f"gpus is {self.gpus}: give 1 or more")
        if self.gpu_hour is not None and not 0.0 <= self.gpu_hour <= 1e6:
            raise ValueError(f"gpu_hour is {self.gpu_hour}: give 0 to 1e6")
        if self.replicas is not None and not 1 <= self.replicas <= MOST_REPLICAS:
            raise ValueError(f"replicas is {self.replicas}: give 1 to {MOST_REPLICAS}")
        if not 0.0 <= self.headroom < 1.0:
            raise ValueError(f"headroom is {self.headroom}: give 0 to below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a profile carries a load.

    Attributes:
        replicas: Replicas, as told or as few as are needed.
        concurrency: Requests in decode per engine.
        used: Share of capacity in use.
        tpot_seconds: Time per output token.
        per_million: Cost of a million output tokens; `None` without a price.
        per_million_full: The same with every engine at its capacity.
        per_hour: Cost of all replicas for an hour.
    """

    replicas: int
    concurrency: float
    used: float
    tpot_seconds: float
    per_million: float | None
    per_million_full: float | None
    per_hour: float | None


def plan(capacity: Capacity, demand: Demand) -> Plan | CannotSay:
    """Return how a profile carries a load, or that it cannot."""
    name, most = capacity.curve.profile, capacity.tokens_per_second
    needed = math.ceil(demand.tokens_per_second / (most * (1.0 - demand.headroom)) - 1e-9)
    replicas = max(1, needed) if demand.replicas is None else demand.replicas
    if replicas > MOST_REPLICAS:
        return CannotSay(
            reason=f"{name}: {demand.tokens_per_second:g} tokens/s would take {replicas} replicas",
            way_out="correct the load",
        )
    each = demand.tokens_per_second / replicas
    concurrency = capacity.curve.concurrency_at(each)
    if concurrency is None:
        return CannotSay(
            reason=f"{name}: {_replicas(replicas)} are predicted to deliver at most "
            f"{most * replicas:.0f} tokens/s, and the load is {demand.tokens_per_second:.0f}",
            way_out=f"plan with {_replicas(max(1, needed))}, which leave {demand.headroom:.0%} "
            "free for peaks",
        )
    return Plan(
        replicas=replicas,
        concurrency=concurrency,
        used=each / most,
        tpot_seconds=capacity.curve.seconds_per_token_at(concurrency),
        per_million=_per_million(demand, replicas, demand.tokens_per_second),
        per_million_full=_per_million(demand, 1, most),
        per_hour=None if demand.gpu_hour is None else replicas * demand.gpus * demand.gpu_hour,
    )


def _per_million(demand: Demand, replicas: int, tokens_per_second: float) -> float | None:
    if demand.gpu_hour is None:
        return None
    hourly = replicas * demand.gpus * demand.gpu_hour
    return hourly / _HOUR / tokens_per_second * _MILLION


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"
