"""Profiles in the order of what they are predicted to make at one concurrency."""

from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import Estimate, estimate
from ridgeline.costmodel.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Profiles by goodput.

    Attributes:
        estimates: The best first; equal ones in a person's order.
        left_out: Why others cannot be ranked.
    """

    estimates: tuple[Estimate, ...]
    left_out: tuple[CannotSay, ...]


def ranking(
    deployment: Deployment,
    arms: Sequence[Arm],
    none: Arm,
    workload: Workload,
    concurrency: float,
) -> Ranking:
    """Return profiles by what they are predicted to make at a concurrency.

    Args:
        deployment: The target.
        arms: Its profiles, with or without `none`.
        none: The profile without speculation that speed-ups refer to.
        workload: The mean request.
        concurrency: Requests in decode per engine.
    """
    found = [estimate(deployment, each, none, workload, concurrency) for each in arms]
    known = [each for each in found if isinstance(each, Estimate)]
    return Ranking(
        estimates=tuple(sorted(known, key=lambda each: -each.tokens_per_second)),
        left_out=tuple(each for each in found if isinstance(each, CannotSay)),
    )
