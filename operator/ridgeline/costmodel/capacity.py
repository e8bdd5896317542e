"""How much one engine delivers: its throughput curve, and where a limit on latency cuts it off.

TPOT(B)   = B ÷ goodput(B)                the time per output token that a request sees
capacity  = goodput at the largest B that memory and the engine's flag admit and that keeps
            TPOT within its limit
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.envelope import grid
from ridgeline.costmodel.goodput import ArmModel

ABSOLUTE_FACTOR: Final = 1.91
"""How far times and token rates may be off, either way, before they were measured here.

Step times of published measurements lie 19 % to 91 % beside the uncalibrated model's (−19 to +91 %,
docs/concepts/cost-model.md); the larger of the two is taken for both directions. It hits all
profiles of a target alike, so their ratios are far better than that.
"""

_HALVINGS: Final = 60


class Bound(StrEnum):
    """What sets the capacity of an engine."""

    MEMORY = "Memory"
    """KV memory."""
    REQUESTS = "MaxNumSeqs"
    """The engine's limit of requests per step."""
    LATENCY = "Latency"
    """The limit on the time per output token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The most that one engine delivers on a profile.

    Attributes:
        curve: Tokens per second by concurrency, up to the most.
        concurrency: Requests in decode at the most.
        tokens_per_second: Output tokens per second there.
        tpot_seconds: Time per output token there.
        bound: What sets it.
    """

    curve: Curve
    concurrency: float
    tokens_per_second: float
    tpot_seconds: float
    bound: Bound


def slower(model: ArmModel, factor: float) -> ArmModel:
    """Return a profile whose steps take so many times as long (less than 1: as short)."""
    if not (math.isfinite(factor) and factor > 0.0):
        raise ValueError(f"factor is {factor}: give a positive number")
    return replace(model, scale=model.scale * factor)


def capacity(model: ArmModel, tpot_limit: float | None = None) -> Capacity | CannotSay:
    """Return the most that one engine delivers.

    Args:
        model: The profile.
        tpot_limit: Seconds per output token that must not be exceeded; `None` for no limit.

    Returns:
        The capacity, or that the limit is not met by a single request.

    Raises:
        ValueError: When the limit is not finite and positive.
    """
    if tpot_limit is not None and not (math.isfinite(tpot_limit) and tpot_limit > 0.0):
        raise ValueError(f"tpot_limit is {tpot_limit}: give a positive number of seconds")
    most = model.room.max_concurrency
    bound = Bound.MEMORY if model.room.by_memory else Bound.REQUESTS
    if tpot_limit is not None and most / model.goodput(most) > tpot_limit:
        least = min(1.0, most)
        alone = least / model.goodput(least)
        if alone > tpot_limit:
            return CannotSay(
                reason=f"{model.arm.name}: a single request is predicted to take "
                f"{alone * 1e3:.1f} ms per token, more than the limit of {tpot_limit * 1e3:g} ms",
                way_out="raise the limit, or use faster or more GPUs",
            )
        most, bound = _within(model, tpot_limit, least, most), Bound.LATENCY
    curve = _curve(model, most)
    return Capacity(
        curve=curve,
        concurrency=most,
        tokens_per_second=curve.capacity,
        tpot_seconds=most / model.goodput(most),
        bound=bound,
    )


def _curve(model: ArmModel, most: float) -> Curve:
    points = grid(most)
    return Curve(
        profile=model.arm.name,
        concurrency=tuple(points),
        tokens_per_second=tuple(accumulate(model.goodputs(points), max)),
    )


def _within(model: ArmModel, limit: float, low: float, high: float) -> float:
    """Return the largest concurrency that keeps the limit: TPOT rises with concurrency."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle / model.goodput(middle) <= limit:
            low = middle
        else:
            high = middle
    return low
