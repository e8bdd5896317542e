"""The tuning fields that a serving has and a policy can share, stated once for both kinds.

None has a default in the schema: a default that the API server wrote would hide the policy.
"""

from pydantic import Field

from ridgeline.api import defaults
from ridgeline.api.cutoff import Cutoff
from ridgeline.api.fields import (
    ApiModel,
    CooldownSeconds,
    DnsLabel,
    DwellSeconds,
    SwitchesPerDay,
    resolved,
)
from ridgeline.api.objective import NO_LIMIT, PREFER, Objective
from ridgeline.api.rollout import Rollout
from ridgeline.api.schedules import Schedules


class StabilizationPolicy(ApiModel):
    """How long concurrency must stay beyond a border before the crossing counts."""

    busier_seconds: DwellSeconds | None = resolved(
        "Dwell in seconds before moving to a range for more concurrency.",
        unset_means=defaults.BUSIER_SECONDS,
    )
    quieter_seconds: DwellSeconds | None = resolved(
        "Dwell in seconds before moving to a range for less concurrency.",
        unset_means=defaults.QUIETER_SECONDS,
    )


class Tuning(ApiModel):
    """When to switch, how calmly, and by whose numbers."""

    cutoff: Cutoff | None = resolved(
        "Which profile is best at which concurrency. It is taken as a whole: a serving that has "
        "one takes nothing of its policy's.",
        unset_means=f"strategy {defaults.STRATEGY}",
    )
    stabilization: StabilizationPolicy | None = resolved(
        "How long concurrency must stay beyond a border before the crossing counts.",
        unset_means=f"busierSeconds {defaults.BUSIER_SECONDS}, quieterSeconds "
        f"{defaults.QUIETER_SECONDS}",
    )
    cooldown_seconds: CooldownSeconds | None = resolved(
        "Time in seconds after the end of a roll in which the operator moves to no range for less "
        "concurrency.",
        unset_means=defaults.COOLDOWN_SECONDS,
    )
    max_switches_per_day: SwitchesPerDay | None = resolved(
        "Most switches in any 24 hours; the last is kept for a busier range.",
        unset_means=defaults.MAX_SWITCHES_PER_DAY,
    )
    objective: Objective | None = resolved(
        "What decides between profiles: the limit first, then what is preferred.",
        unset_means=f"p99TPOTMilliseconds {NO_LIMIT}, prefer {PREFER}",
    )
    schedules: Schedules | None = resolved(
        "Windows of time that want a profile, forbid switching on, freeze the target or tell of a "
        "short crowd. Where two windows want a profile the first in the list wins; a freeze is "
        "stronger than no switching on, and that stronger than a profile. The list is taken as a "
        "whole: a serving that has one, be it empty, takes nothing of its policy's.",
        unset_means="no schedule",
    )
    rollout: Rollout | None = Field(default=None, description="How carefully the target is rolled.")
    telemetry: DnsLabel | None = resolved(
        "Name of a telemetry endpoint that the operator's configuration defines.",
        unset_means=defaults.TELEMETRY,
    )
