"""What a roll is worth now, so that the fleet's few rolls at a time go where they help most.

    gain = L_running(D) − L_wished(D)        request-seconds per second

with L the requests in the fleet that a profile's curve predicts for the present demand D: by
Little's law that many request-seconds pass each second, so it is what every second of waiting for
the roll costs. It is below 0 where a roll goes ahead of a load that is still to come, and 0 where
no curve or no demand is known: those go by how long they wait.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from ridgeline.policy.by_law import is_busier, is_saturated
from ridgeline.policy.decision import Decision
from ridgeline.policy.law.roll_cost import DEFAULT_OUTPUT, requests_in_flight
from ridgeline.policy.situation import Situation

HORIZON_SECONDS: Final = 210.0
"""Time over which the queue of a fleet beyond its capacity is averaged: a replica's start, as the
law takes it until one was seen."""


class Urgency(IntEnum):
    """Which rolls stand before which others; the lowest first."""

    FULL = 0
    """Away from servers that are full: requests wait or lose their place."""
    ORDERED = 1
    """A person ordered it."""
    VOLUNTARY = 2
    """Everything else: it can wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a roll is worth.

    Attributes:
        urgency: Before which others it stands.
        gain: Request-seconds that it saves per second; finite.
    """

    urgency: Urgency
    gain: float


def worth_of(situation: Situation, decision: Decision) -> Worth:
    """Return what the roll of a decision to switch is worth.

    Args:
        situation: The moment that was decided.
        decision: The decision.
    """
    return Worth(urgency=_urgency(situation, decision), gain=_gain(situation, decision))


def _urgency(situation: Situation, decision: Decision) -> Urgency:
    if is_saturated(situation) and _goes_busier(situation, decision):
        return Urgency.FULL
    ordered = situation.settings.forced is not None
    return Urgency.ORDERED if ordered else Urgency.VOLUNTARY


def _goes_busier(situation: Situation, decision: Decision) -> bool:
    law, table = decision.diagnostics.law, situation.table
    if law is not None and law.wish == decision.profile and law.direction is not None:
        return is_busier(law)
    to = table.index_of(decision.profile) if table is not None and decision.profile else None
    return to is not None and situation.row is not None and to > situation.row


def _gain(situation: Situation, decision: Decision) -> float:
    table, law = situation.table, decision.diagnostics.law
    if table is None or law is None or law.demand is None:
        return 0.0
    running, wished = table.curve(situation.active or ""), table.curve(decision.profile or "")
    engines = sum(each.expected_engines for each in situation.facts.replicas)
    if running is None or wished is None or engines == 0:
        return 0.0
    answers = (each.mean_output_tokens for each in situation.fleet.engines)
    mean_output = _mean(answers) or DEFAULT_OUTPUT
    before, after = (
        requests_in_flight(
            curve,
            demand=law.demand,
            engines=engines,
            mean_output=mean_output,
            horizon=HORIZON_SECONDS,
        )
        for curve in (running, wished)
    )
    gain = before - after
    return gain if math.isfinite(gain) else 0.0


def _mean(values: Iterable[float | None]) -> float | None:
    known = sorted(each for each in values if each is not None and math.isfinite(each))
    return math.fsum(known) / len(known) if known else None
