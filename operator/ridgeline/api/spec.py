"""What a person asks of a serving."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import Field, StrictInt

from ridgeline.api import defaults
from ridgeline.api.engine_settings import Engine
from ridgeline.api.fields import (
    ApiModel,
    Bool,
    DnsLabel,
    DnsSubdomain,
    ModelReference,
    ModelSize,
    resolved,
)
from ridgeline.api.profiles import Profiles
from ridgeline.api.rules import Rule
from ridgeline.api.tuning import Tuning
from ridgeline.terms.modes import ConflictPolicy, InjectionMode, Mode
from ridgeline.terms.precision import Precision
from ridgeline.terms.rolls import OnDelete


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


class Experts(ApiModel):
    """The experts of a mixture-of-experts model."""

    count: ModelSize = Field(description="Routed experts per layer that has any.")
    active: ModelSize = Field(description="Routed experts that a token is sent to.")
    layers: ModelSize = Field(description="Layers that have experts.")
    parameters_millions: ModelSize = Field(
        description="Parameters of all routed experts together, in millions."
    )

    RULES: ClassVar = (
        Rule["Experts"](
            cel="self.active <= self.count",
            message="a token is sent to some of the experts: set active to at most count",
            offence=lambda experts: experts.active if experts.active > experts.count else None,
            below=("active",),
        ),
    )


class Shape(ApiModel):
    """The facts of a model that no catalogue knows, as its config.json tells them."""

    layers: ModelSize = Field(description="Transformer layers (num_hidden_layers).")
    hidden_size: ModelSize = Field(description="Width of the residual stream (hidden_size).")
    vocabulary_size: ModelSize = Field(description="Size of the vocabulary (vocab_size).")
    parameters_millions: ModelSize = Field(description="All parameters, in millions.")
    kv_elements_per_token: Annotated[
        StrictInt, Field(ge=0, le=100_000_000, json_schema_extra={"format": "int32"})
    ] = Field(
        description="Numbers that one token of context leaves in the KV cache: 2 · "
        "num_key_value_heads · head_dim for each layer whose attention has no window."
    )
    windowed_kv_elements_per_token: ModelSize | None = Field(
        default=None, description="The same over layers with sliding-window attention."
    )
    window_tokens: ModelSize | None = Field(
        default=None, description="Tokens of the sliding window (sliding_window)."
    )
    experts: Experts | None = Field(
        default=None, description="The experts; not set for a dense model."
    )

    RULES: ClassVar = (
        Rule["Shape"](
            cel="has(self.windowedKvElementsPerToken) == has(self.windowTokens)",
            message="windowedKvElementsPerToken and windowTokens belong together: set both or none",
            offence=lambda shape: (
                shape.window_tokens or shape.windowed_kv_elements_per_token
                if (shape.window_tokens is None) != (shape.windowed_kv_elements_per_token is None)
                else None
            ),
        ),
        Rule["Shape"](
            cel="!has(self.experts) || self.experts.parametersMillions < self.parametersMillions",
            message="parametersMillions of the experts are a part of the model's: set fewer",
            offence=lambda shape: (
                shape.experts.parameters_millions
                if shape.experts and shape.experts.parameters_millions >= shape.parameters_millions
                else None
            ),
            below=("experts", "parametersMillions"),
        ),
    )


class Model(ApiModel):
    """What the container's arguments do not tell of the served model."""

    name: ModelReference | None = resolved(
        "Name of the served model in the catalogue, where the container's arguments give a path or "
        "the name of a fine-tune.",
        unset_means="as the container's arguments tell",
    )
    shape: Shape | None = resolved(
        "Facts of a model that the catalogue does not have.", unset_means="as the catalogue tells"
    )
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
        "container's arguments read. Args replaces the --speculative-config flag in the "
        "container's argument list: a list has one owner, so the operator (field manager "
        "ridgeline-profile) takes the whole of it over, the next apply by its former owner "
        "conflicts or takes the profile out, and after two of those the operator stops. It needs "
        "conflictPolicy Force and the chart's guard.allowArgs. Release the target before you go "
        "from one mode to the other.",
    )


def _unknown_profile(spec: "SpeculativeServingSpec") -> str | None:
    if spec.cutoff is None:
        return None
    known = {profile.name for profile in spec.profiles}
    return next((name for name in spec.cutoff.profile_names if name not in known), None)


def _unknown_scheduled_profile(spec: "SpeculativeServingSpec") -> str | None:
    known = {profile.name for profile in spec.profiles}
    named = (schedule.profile for schedule in spec.schedules or ())
    return next((name for name in named if name is not None and name not in known), None)


def _unforced_args(spec: "SpeculativeServingSpec") -> str | None:
    in_args = spec.injection is not None and spec.injection.mode is InjectionMode.ARGS
    forced = spec.conflict_policy is ConflictPolicy.FORCE
    return str(spec.conflict_policy) if in_args != forced else None


ARGS_ARE_FORCED: Final = Rule["SpeculativeServingSpec"](
    cel="(has(self.injection) && self.injection.mode == 'Args') == "
    "(self.conflictPolicy == 'Force')",
    message="injection mode Args takes the container's argument list over from its owner, and "
    "nothing else is ever taken over: set conflictPolicy to Force with mode Args, and leave it at "
    "Hold with mode Env",
    offence=_unforced_args,
    below=("conflictPolicy",),
)

RANGES_NAME_PROFILES: Final = Rule["SpeculativeServingSpec"](
    cel="!has(self.cutoff) || !has(self.cutoff.ranges) || "
    "self.cutoff.ranges.all(r, self.profiles.exists(p, p.name == r.profile))",
    message="a range names a profile that spec.profiles does not have: add the profile, or correct "
    "the range",
    offence=_unknown_profile,
    below=("cutoff", "ranges"),
)

SCHEDULES_NAME_PROFILES: Final = Rule["SpeculativeServingSpec"](
    cel="!has(self.schedules) || self.schedules.all(s, !has(s.profile) || "
    "self.profiles.exists(p, p.name == s.profile))",
    message="a schedule names a profile that spec.profiles does not have: add the profile, or "
    "correct the schedule",
    offence=_unknown_scheduled_profile,
    below=("schedules",),
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
        default=False,
        description="While true, the target is observed and nothing new is begun; a canary under "
        "way is taken back.",
    )
    profiles: Profiles = Field(
        description="The profiles to choose from, exactly one of them with method Disabled."
    )
    policy_ref: PolicyRef | None = Field(
        default=None,
        description="A policy in the serving's own namespace. Every tuning field that the serving "
        "does not set is taken from it: cutoff, each dwell of stabilization, cooldownSeconds, "
        "maxSwitchesPerDay, each field of objective and of rollout, schedules (as a whole), "
        "telemetry. No other field ever is.",
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
    engine: Engine | None = Field(
        default=None,
        description="What the container does not tell of the engine, and how far the operator may "
        "go without knowing.",
    )
    injection: Injection | None = resolved(
        "How a profile reaches the server.", unset_means=f"mode {defaults.INJECTION_MODE}"
    )
    conflict_policy: ConflictPolicy = Field(
        default=defaults.CONFLICT_POLICY,
        description="What is done where the profile's place belongs to another field manager. "
        "Hold: nothing is written, and the message names the manager. Force, for injection mode "
        "Args alone: the container's argument list is taken over.",
    )

    on_delete: OnDelete = Field(
        default=defaults.ON_DELETE,
        description="What becomes of the profile in the target when the serving is deleted. Keep: "
        "the target goes on as it is. Restore: the operator's fields are given up, and the default "
        "of the target's own manifest applies again (which rolls the target, when it ran another "
        "profile).",
    )

    RULES: ClassVar = (
        ARGS_ARE_FORCED,
        RANGES_NAME_PROFILES,
        SCHEDULES_NAME_PROFILES,
        TARGET_CHANGES_WHILE_SUSPENDED,
    )
