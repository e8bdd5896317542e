"""What a person asks of a serving."""

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from ridgeline.api import defaults
from ridgeline.api.cutoff import Cutoff
from ridgeline.api.fields import (
    ApiModel,
    Bool,
    CooldownSeconds,
    DnsLabel,
    DnsSubdomain,
    DwellSeconds,
    SwitchesPerDay,
    resolved,
)
from ridgeline.api.profiles import Profiles
from ridgeline.api.rules import Rule
from ridgeline.terms.modes import InjectionMode, Mode


class TargetApiVersion(StrEnum):
    """API versions that a target can have."""

    APPS_V1 = "apps/v1"


class TargetKind(StrEnum):
    """Kinds that a target can have."""

    DEPLOYMENT = "Deployment"


class TargetRef(ApiModel):
    """The workload that runs vLLM, in the serving's own namespace."""

    api_version: TargetApiVersion = Field(
        default=TargetApiVersion.APPS_V1, description="API version of the target."
    )
    kind: TargetKind = Field(default=TargetKind.DEPLOYMENT, description="Kind of the target.")
    name: DnsSubdomain = Field(description="Name of the target.")
    container_name: DnsLabel | None = Field(
        default=None,
        description="Container that runs vLLM. Needed when the Pod template has several.",
    )


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


class Injection(ApiModel):
    """How a profile reaches the server."""

    mode: InjectionMode = Field(
        default=defaults.INJECTION_MODE,
        description="Env sets the env item SPECULATION_CONFIG of the container, which the "
        "container's arguments read.",
    )


def _unknown_profile(spec: "SpeculativeServingSpec") -> str | None:
    if spec.cutoff is None:
        return None
    known = {profile.name for profile in spec.profiles}
    return next((row.profile for row in spec.cutoff.ranges if row.profile not in known), None)


RANGES_NAME_PROFILES: Final = Rule["SpeculativeServingSpec"](
    cel="!has(self.cutoff) || "
    "self.cutoff.ranges.all(r, self.profiles.exists(p, p.name == r.profile))",
    message="a range names a profile that spec.profiles does not have: add the profile, or correct "
    "the range",
    offence=_unknown_profile,
    below=("cutoff", "ranges"),
)

TARGET_CHANGES_WHILE_SUSPENDED: Final = Rule["SpeculativeServingSpec"](
    cel="self.targetRef.name == oldSelf.targetRef.name || self.suspend",
    message="the target changes only while the serving is suspended: set spec.suspend to true, "
    "change targetRef.name, then set spec.suspend to false",
    offence=None,
    below=("targetRef", "name"),
)


class SpeculativeServingSpec(ApiModel):
    """The profiles of one target, and when to use which."""

    target_ref: TargetRef = Field(
        description="The workload that runs vLLM, in the serving's own namespace. Its name can be "
        "changed only while the serving is suspended."
    )
    mode: Mode = Field(
        default=defaults.MODE,
        description="Automatic lets the operator roll the target to another profile; RecommendOnly "
        "reports what it would do and writes nothing to the target.",
    )
    suspend: Bool = Field(
        default=False, description="While true, the target is observed and never changed."
    )
    profiles: Profiles = Field(
        description="The profiles to choose from, exactly one of them with method Disabled."
    )
    cutoff: Cutoff | None = resolved(
        "Which profile is best at which concurrency.",
        unset_means="nothing is switched, and the reason is CutoffNotSet",
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
    telemetry: DnsLabel | None = resolved(
        "Name of a telemetry endpoint that the operator's configuration defines.",
        unset_means=defaults.TELEMETRY,
    )
    injection: Injection | None = resolved(
        "How a profile reaches the server.", unset_means=f"mode {defaults.INJECTION_MODE}"
    )

    RULES: ClassVar = (RANGES_NAME_PROFILES, TARGET_CHANGES_WHILE_SUSPENDED)
