"""What a person asks of a serving."""

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from ridgeline.api import defaults
from ridgeline.api.fields import ApiModel, Bool, DnsLabel, DnsSubdomain, resolved
from ridgeline.api.profiles import Profiles
from ridgeline.api.rules import Rule
from ridgeline.api.tuning import Tuning
from ridgeline.terms.modes import InjectionMode, Mode
from ridgeline.terms.precision import Precision


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


class PolicyRef(ApiModel):
    """A policy in the serving's own namespace."""

    name: DnsSubdomain = Field(description="Name of the SpeculationPolicy.")


class Model(ApiModel):
    """What the container's arguments do not tell of the served model."""

    precision: Precision | None = resolved(
        "What the weights and the arithmetic on them are made of. BF16 stands for all 16-bit "
        "formats; FP8 for 8-bit weights and arithmetic (W8A8); W8A16 and W4A16 for weights alone "
        "in 8 or 4 bits; FP4 for 4-bit weights and arithmetic.",
        unset_means="as the container's arguments tell, else BF16",
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
    return next((name for name in spec.cutoff.profile_names if name not in known), None)


RANGES_NAME_PROFILES: Final = Rule["SpeculativeServingSpec"](
    cel="!has(self.cutoff) || !has(self.cutoff.ranges) || "
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


class SpeculativeServingSpec(Tuning):
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
    policy_ref: PolicyRef | None = Field(
        default=None,
        description="A policy in the serving's own namespace. Every tuning field that the serving "
        "does not set is taken from it: cutoff, each dwell of stabilization, cooldownSeconds, "
        "maxSwitchesPerDay, telemetry. No other field ever is.",
    )
    accelerator: DnsSubdomain | None = resolved(
        "GPU that the target runs on: a name of the operator's catalogue or of an "
        "AcceleratorProfile.",
        unset_means="as the labels of the nodes tell",
    )
    model: Model | None = Field(
        default=None,
        description="What the container's arguments do not tell of the served model.",
    )
    injection: Injection | None = resolved(
        "How a profile reaches the server.", unset_means=f"mode {defaults.INJECTION_MODE}"
    )

    RULES: ClassVar = (RANGES_NAME_PROFILES, TARGET_CHANGES_WHILE_SUSPENDED)
