"""What a person asked of one serving, resolved: input of every decision."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.engine_report import EngineReport
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.settings import Objective
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.schedule import ScheduleState
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Stabilization:
    """How long a crossing must last before it counts, in seconds.

    Attributes:
        busier_seconds: Dwell before moving to a row for more concurrency (towards off).
        quieter_seconds: Dwell before moving to a row for less (towards speculation).

    Raises:
        ValueError: When a dwell is negative or not finite.
    """

    busier_seconds: float
    quieter_seconds: float

    def __post_init__(self) -> None:
        """Refuse a dwell that could never be compared with a time."""
        _require_duration("stabilization.busierSeconds", self.busier_seconds)
        _require_duration("stabilization.quieterSeconds", self.quieter_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the curves of a predicted table assume.

    Attributes:
        basis: Model, GPU, parallelism and engine version, as one text: what was learned on another
            basis tells nothing.
        lengths: Acceptance length of each profile with a curve, where it is the same at any load.
        scales: ln of the factor by which a profile's step time was corrected.
        scheduled: Profiles whose lookahead the engine itself changes with the load.
    """

    basis: str
    lengths: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    scheduled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Resolved settings of one serving.

    Attributes:
        mode: Whether the operator may act.
        suspended: Whether the serving is suspended.
        frozen: Whether the operator's own freeze switch is on.
        forced: Profile that a person ordered, whatever the cut-offs say; `None` for none.
        methods: Method of each profile, by the profile's name.
        cutoff: The table to follow, or why there is none.
        stabilization: Dwell times.
        cooldown_seconds: Time after the end of a roll in which nothing is switched on.
        max_switches_per_day: Switches in any 24 hours; the last is kept for switching off.
        rolls: How carefully the target is rolled; `None`: as a whole, without a canary.
        configs: Fingerprint of each profile's speculative config, by the profile's name.
        objective: What a person wants of the choice, `None` for nothing in particular.
        prediction: What a predicted table assumes; `None` when a person or a rule gave the
            cut-offs.
        schedule: What schedules ask for at this moment, `None` when there are none.
        schedule_problems: What is wrong with the schedules; they are followed as far as they can
            be.
        engine: What the engine's release is known to serve; `None`: not looked into.

    Raises:
        ValueError: When the cooldown is negative or not finite.
    """

    mode: Mode
    suspended: bool
    methods: dict[str, Method]
    cutoff: CutoffTable | Problem
    stabilization: Stabilization
    cooldown_seconds: float
    max_switches_per_day: int
    frozen: bool = False
    forced: str | None = None
    prediction: Prediction | None = None
    rolls: RollSettings | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    objective: Objective | None = None
    schedule: ScheduleState | None = None
    schedule_problems: tuple[Problem, ...] = ()
    engine: EngineReport | None = None

    def __post_init__(self) -> None:
        """Refuse a cooldown that could never be compared with a time."""
        _require_duration("cooldownSeconds", self.cooldown_seconds)


def _require_duration(field: str, seconds: float) -> None:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{field} must be a finite number of seconds, 0 or more, not {seconds}")
