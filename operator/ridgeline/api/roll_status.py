"""What status tells of rolls: the latest one, profiles that failed, what profiles have shown."""

from typing import Annotated, Final

from pydantic import Field, StrictInt, StringConstraints

from ridgeline.api.fields import (
    ApiModel,
    Bool,
    Count,
    DnsLabel,
    DnsSubdomain,
    Generation,
    ReasonName,
    Timestamp,
)
from ridgeline.api.rules import AtomicList
from ridgeline.terms.rolls import ProofResult, RollState, RollWay

Uid = Annotated[str, StringConstraints(min_length=1, max_length=64)]
"""A metadata.uid: a UUID of 36 characters today, opaque by contract."""

Fingerprint = Annotated[str, StringConstraints(max_length=64, pattern="^[0-9a-f]+$")]

RollMessage = Annotated[str, StringConstraints(max_length=1024)]

MAX_CANARY_PODS: Final = 8

Percent = Annotated[StrictInt, Field(ge=-1000, le=1000, json_schema_extra={"format": "int32"})]


class ConfigBefore(ApiModel):
    """What our fields held before a roll."""

    label: Annotated[str, StringConstraints(max_length=63)] | None = Field(
        default=None,
        description="Profile that the Pod template's label named; not set when it had no label.",
    )
    config: Annotated[str, StringConstraints(max_length=8192)] = Field(
        description="The speculative config; empty for no speculation."
    )


class RolloutStatus(ApiModel):
    """The latest roll: written before the target is, so that a restart can take it up again."""

    from_profile: DnsLabel | None = Field(
        default=None,
        alias="from",
        description="Profile before; not set when no profile described it.",
    )
    to_profile: DnsLabel = Field(alias="to", description="Profile after.")
    way: RollWay | None = Field(
        default=None,
        description="Whole (also when not set): all replicas. Canary: the first new Pods are "
        "judged, then the rest follow or they are taken back. Trial: the first new Pods are "
        "measured and taken back (those of a profile that nobody knows, or those without "
        "speculation when the active profile is compared with none anew).",
    )
    start_time: Timestamp = Field(description="When it was announced.")
    stage_time: Timestamp | None = Field(
        default=None, description="Since when it stands where it stands."
    )
    finish_time: Timestamp | None = Field(
        default=None, description="When it ended; not set while it runs."
    )
    target_uid: Uid = Field(
        alias="targetUID", description="metadata.uid of the target that it is for."
    )
    target_generation: Generation = Field(
        description="metadata.generation of the target: when the roll was announced, and, once it "
        "was begun, the one that the operator's last write made."
    )
    serving_generation: Generation = Field(
        description="metadata.generation of the serving that asked for the roll. When somebody "
        "else took the profile out, an edit of the serving after it hands the target back."
    )
    state: RollState = Field(
        description="Intended: announced, perhaps not begun. Canary: the first new Pods are "
        "judged. Rolling: the target was written. Undoing: what was there before is put back. "
        "Finished: every replica runs the profile. Restored: every replica runs what it ran "
        "before. Abandoned: not begun, or given up. Undone: somebody else took the profile out of "
        "the target."
    )
    reason: ReasonName | None = Field(
        default=None,
        description="What came out of the canary, or why the roll is undone; not set before.",
    )
    message: RollMessage | None = Field(default=None, description="The same for a person.")
    before: ConfigBefore | None = Field(
        default=None,
        description="What to put back should the roll fail; not set when the operator's fields are "
        "given up instead, since nothing was there before.",
    )
    template: Fingerprint | None = Field(
        default=None,
        description="Fingerprint of the target's Pod template without the operator's fields.",
    )
    config: Fingerprint | None = Field(
        default=None, description="Fingerprint of the profile's speculative config."
    )
    held_back: Bool | None = Field(
        default=None,
        description="Whether the Deployment was paused for the canary. Who resumes it then "
        "(kubectl rollout resume) lets the rest follow.",
    )
    canary_pods: (
        Annotated[tuple[DnsSubdomain, ...], Field(max_length=MAX_CANARY_PODS), AtomicList()] | None
    ) = Field(
        default=None,
        description="Pods of the canary, as far as they were seen; their names stay when they are "
        "taken back, so that their Events can be found.",
    )
    promised_percent: Percent | None = Field(
        default=None,
        description="How much less time per token was predicted for the load when it was decided; "
        "not set without a prediction.",
    )
    undone_times: Count | None = Field(
        default=None,
        description="How often in a row others took a profile out of the target. At 2 (or at once "
        "after a person's own kubectl command) the target is left alone.",
    )
    undone_by: Annotated[str, StringConstraints(max_length=128)] | None = Field(
        default=None, description="Field manager that did so last."
    )
    updated_replicas: Count = Field(description="Replicas with the new Pod template.")
    available_replicas: Count = Field(description="Replicas that are available, old and new.")
    replicas: Count = Field(description="Replicas that the target asks for.")


class QuarantinedProfile(ApiModel):
    """A profile that is not chosen for a while, since a roll to it failed."""

    profile: DnsLabel = Field(description="Name of the profile.")
    reason: ReasonName = Field(description="What failed.")
    message: RollMessage = Field(description="The same for a person.")
    since: Timestamp = Field(description="When it failed.")
    until: Timestamp = Field(
        description="Until when it is not chosen. The entry stays a while longer: another failure "
        "of the same kind binds for twice as long."
    )
    config: Fingerprint = Field(
        description="Fingerprint of the profile's config: an edited profile is free again."
    )
    template: Fingerprint = Field(
        description="Fingerprint of the target's Pod template without the operator's fields: with "
        "another image or argument the profile is free again."
    )
    times: Count = Field(description="How often in a row it failed like this.")


class ProfileProof(ApiModel):
    """What a profile has shown on a Pod template of the target."""

    profile: DnsLabel = Field(description="Name of the profile.")
    result: ProofResult = Field(
        description="Served: it ran on every replica. CanaryPassed: a canary was better. Tried: a "
        "trial measured it. Verified: the whole fleet does on it what was promised, or it is "
        "better than a Pod without speculation beside it. Worse: less than that. Unclear: nothing "
        "could be told."
    )
    time: Timestamp = Field(description="When it was seen.")
    config: Fingerprint = Field(description="Fingerprint of the profile's config then.")
    template: Fingerprint = Field(
        description="Fingerprint of the target's Pod template then, without the operator's fields. "
        "With another one the profile must show itself again."
    )
    basis: Fingerprint | None = Field(
        default=None,
        description="Fingerprint of model, GPU, parallelism and engine version then; not set where "
        "nothing is predicted. On another one the profile must show itself again.",
    )
    gain_percent: Percent | None = Field(
        default=None,
        description="How much less time per token was measured than without the profile.",
    )
    promised_percent: Percent | None = Field(
        default=None, description="The same as it had been predicted."
    )
