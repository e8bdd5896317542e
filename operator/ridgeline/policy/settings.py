"""What a person asked of one serving, resolved: input of every decision."""

from dataclasses import dataclass

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Stabilization:
    """How long a crossing must last before it counts, in seconds.

    Attributes:
        busier_seconds: Dwell before moving to a row for more concurrency (towards off).
        quieter_seconds: Dwell before moving to a row for less (towards speculation).
    """

    busier_seconds: float
    quieter_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Resolved settings of one serving.

    Attributes:
        mode: Whether the operator may act.
        suspended: Whether the serving is suspended.
        methods: Method of each profile, by the profile's name.
        cutoff: The table to follow, or why there is none.
        stabilization: Dwell times.
        cooldown_seconds: Time after the end of a roll in which nothing is switched on.
        max_switches_per_day: Switches in any 24 hours; the last is kept for switching off.
    """

    mode: Mode
    suspended: bool
    methods: dict[str, Method]
    cutoff: CutoffTable | Problem
    stabilization: Stabilization
    cooldown_seconds: float
    max_switches_per_day: int
