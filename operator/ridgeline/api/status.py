"""What the operator reports of a serving; it is also where its slow memory lives."""

from typing import Annotated, Final

from pydantic import Field, StrictInt, StringConstraints

from ridgeline.api.control import ControlStatus
from ridgeline.api.fields import (
    AcceptancePercent,
    ApiModel,
    Concurrency,
    Count,
    DnsLabel,
    DnsSubdomain,
    Generation,
    Message,
    ReasonName,
    Timestamp,
)
from ridgeline.api.profiles import MAX_LOOKAHEAD, MAX_PROFILES
from ridgeline.api.roll_status import ProfileProof, QuarantinedProfile, RolloutStatus, Uid
from ridgeline.api.rules import AtomicList, ListMap
from ridgeline.terms.conditions import ConditionStatus
from ridgeline.terms.modes import Strategy
from ridgeline.terms.verdict import Verdict

MAX_SWITCH_HISTORY: Final = 10
MAX_CONDITIONS: Final = 16
MAX_LABELS: Final = 16
MAX_CUTOFF_REASONS: Final = 16
MAX_TOLD: Final = 8

ConditionTypeName = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=316,
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    ),
]
"""The shape of a type in metav1.Condition. Not the enum: an older operator must be able to read
what a newer one wrote."""


class CutoffTableRow(ApiModel):
    """One range of the cut-off table in force."""

    profile: DnsLabel = Field(description="Profile that is best in the range.")
    up_to_concurrency: Concurrency | None = Field(
        default=None,
        description="At this concurrency per engine and above, the next row applies; not set in "
        "the last row.",
    )
    return_below_concurrency: Concurrency | None = Field(
        default=None,
        description="Coming from the next row, this one applies again below this concurrency; not "
        "set in the last row.",
    )
    band_low: Concurrency | None = Field(
        default=None,
        description="Lower edge of where the true cut-off lies, one standard deviation below the "
        "prediction; set for predicted cut-offs.",
    )
    band_high: Concurrency | None = Field(
        default=None,
        description="Upper edge of where the true cut-off lies; not set for a curve so flat that "
        "it has none.",
    )
    act_at_concurrency: Concurrency | None = Field(
        default=None,
        description="Concurrency at which the control law leaves this row for the next one, lower "
        "than the cut-off where a roll must be begun ahead; set for predicted cut-offs, once "
        "demand was seen. Kept while it moves by less than a tenth.",
    )


class LearnedProfile(ApiModel):
    """What telemetry taught of one profile."""

    profile: DnsLabel = Field(description="Name of the profile.")
    acceptance_percent: Annotated[
        tuple[AcceptancePercent, ...], Field(max_length=MAX_LOOKAHEAD), AtomicList()
    ] = Field(
        default=(),
        description="Share of drafts of which the first token, the first two tokens and so on were "
        "accepted.",
    )
    drafted_percent: AcceptancePercent | None = Field(
        default=None, description="Share of request-steps that drafted at all."
    )
    step_time_percent: Annotated[
        StrictInt, Field(ge=1, le=10_000, json_schema_extra={"format": "int32"})
    ] = Field(description="Observed step time in per cent of the predicted one.")
    windows: Count = Field(
        description="Rate windows that this rests on; 0 for a profile not seen here."
    )


class LearnedStatus(ApiModel):
    """What telemetry taught; delete it (or change model, GPU or engine) to learn anew."""

    basis: Annotated[str, StringConstraints(max_length=512)] = Field(
        description="Model, GPU, parallelism and engine version that it holds for."
    )
    context_tokens: Count | None = Field(
        default=None, description="Mean context of a request in decode, in tokens."
    )
    prefill_percent: Count | None = Field(
        default=None, description="Prompt tokens computed per 100 generated tokens."
    )
    profiles: Annotated[
        tuple[LearnedProfile, ...], Field(max_length=MAX_PROFILES), ListMap("profile")
    ] = Field(default=(), description="What is known of each profile.")
    time: Timestamp = Field(description="When it was last written.")


class AcceleratorStatus(ApiModel):
    """The GPU that the cut-offs are computed for."""

    name: DnsSubdomain = Field(description="Name in the catalogue, or of an AcceleratorProfile.")
    source: Annotated[str, StringConstraints(min_length=1, max_length=253)] = Field(
        description="Where it was found: spec.accelerator, or the key of a node label."
    )
    labels: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=512)], ...],
        Field(max_length=MAX_LABELS),
        AtomicList(),
    ] = Field(default=(), description="Node labels that told it, as key=value.")


class CutoffStatus(ApiModel):
    """Where the cut-off table comes from and how far it is to be trusted."""

    strategy: Strategy = Field(description="Strategy that yielded the table.")
    verdict: Verdict = Field(
        description="Whether speculation pays here. Yes: below the cut-offs. No: at no "
        "concurrency. Undecided: it depends on what is not known, and nothing is switched."
    )
    reasons: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=1024)], ...],
        Field(max_length=MAX_CUTOFF_REASONS),
        AtomicList(),
    ] = Field(default=(), description="Why, for a person.")


class PolicyStatus(ApiModel):
    """The policy that spec.policyRef was resolved to."""

    name: DnsSubdomain = Field(description="Name of the policy.")
    generation: Generation = Field(description="metadata.generation of the policy that is in use.")


class LastDecision(ApiModel):
    """The last decision that differs from the one before."""

    time: Timestamp = Field(description="When it was made.")
    reason: ReasonName = Field(description="Why, in one word of the reasons' table.")
    message: Message = Field(description="Why, with the numbers.")


class SwitchRecord(ApiModel):
    """One change of profile."""

    start_time: Timestamp = Field(description="When it was decided.")
    finish_time: Timestamp | None = Field(
        default=None, description="When its roll ended; not set while it runs."
    )
    from_profile: DnsLabel | None = Field(
        default=None,
        alias="from",
        description="Profile before; not set when no profile described it.",
    )
    to_profile: DnsLabel = Field(alias="to", description="Profile after.")
    reason: ReasonName = Field(description="Why it was decided.")
    concurrency: Count | None = Field(
        default=None,
        description="Requests in decode per engine when it was decided, rounded; not set where it "
        "was ordered.",
    )


class ToldReason(ApiModel):
    """One piece of news that an Event told; it is not told again for six hours."""

    reason: ReasonName = Field(description="Why, in one word of the reasons' table.")
    profile: DnsLabel | None = Field(
        default=None, description="Profile that it is about; not set when it is about none."
    )
    time: Timestamp = Field(description="When it was told.")


class TargetStatus(ApiModel):
    """The workload that spec.targetRef was resolved to."""

    uid: Uid = Field(description="metadata.uid of the target.")
    container: DnsLabel = Field(description="Container that runs vLLM.")


class NextSchedule(ApiModel):
    """The window of a schedule that opens next."""

    name: DnsLabel = Field(description="Name of the schedule.")
    start_time: Timestamp = Field(description="When the window opens.")
    profile: DnsLabel | None = Field(
        default=None, description="Profile that it wants; not set when it asks for something else."
    )
    message: Annotated[str, StringConstraints(min_length=1, max_length=256)] = Field(
        description="The same for a person, on the clock of the schedule's time zone."
    )


class Condition(ApiModel):
    """One observation of the serving, in the shape of metav1.Condition."""

    type: ConditionTypeName = Field(description="What is observed, in CamelCase.")
    status: ConditionStatus = Field(description="Whether it is so.")
    observed_generation: Generation | None = Field(
        default=None, description="metadata.generation that the condition was set upon."
    )
    last_transition_time: Timestamp = Field(description="When status last changed.")
    reason: ReasonName = Field(description="Why, in one word of the reasons' table.")
    message: Message = Field(description="Why, for a person.")


class SpeculativeServingStatus(ApiModel):
    """What the operator reports of a serving."""

    observed_generation: Generation | None = Field(
        default=None, description="metadata.generation that the status was made from."
    )
    active_profile: DnsLabel | None = Field(
        default=None,
        description="Profile that the target's Pod template carries; not set when no profile "
        "describes it.",
    )
    desired_profile: DnsLabel | None = Field(
        default=None, description="Profile that the operator wants the target to carry."
    )
    recommended_profile: DnsLabel | None = Field(
        default=None,
        description="Profile that the cut-off table asks for now, whether or not it may be "
        "switched to; not set when the operator cannot tell.",
    )
    cutoff_table: Annotated[
        tuple[CutoffTableRow, ...], Field(max_length=MAX_PROFILES), AtomicList()
    ] = Field(
        default=(), description="The cut-off table in force, from the quietest row to the busiest."
    )
    cutoff: CutoffStatus | None = Field(
        default=None,
        description="Where the cut-off table comes from and how far it is to be trusted; not set "
        "when there is no table.",
    )
    accelerator: AcceleratorStatus | None = Field(
        default=None,
        description="The GPU that the cut-offs are computed for; not set when it is not known.",
    )
    learned: LearnedStatus | None = Field(
        default=None,
        description="What telemetry taught of the profiles; not set before it taught anything.",
    )
    control: ControlStatus | None = Field(
        default=None,
        description="What the control law remembers; not set where concurrency alone decides.",
    )
    policy: PolicyStatus | None = Field(
        default=None,
        description="The policy in use; not set when the serving names none, or one that does not "
        "exist.",
    )
    last_decision: LastDecision | None = Field(
        default=None, description="The last decision that differs from the one before."
    )
    switch_history: Annotated[
        tuple[SwitchRecord, ...], Field(max_length=MAX_SWITCH_HISTORY), AtomicList()
    ] = Field(
        default=(),
        description=f"The last {MAX_SWITCH_HISTORY} switches, from the oldest to the newest.",
    )
    rollout: RolloutStatus | None = Field(
        default=None, description="The latest roll, running or ended."
    )
    quarantine: Annotated[
        tuple[QuarantinedProfile, ...], Field(max_length=MAX_PROFILES), ListMap("profile")
    ] = Field(
        default=(),
        description="Profiles that are not chosen for a while, since a roll to them failed.",
    )
    proofs: Annotated[
        tuple[ProfileProof, ...], Field(max_length=MAX_PROFILES), ListMap("profile")
    ] = Field(
        default=(),
        description="What each profile has shown on a Pod template of the target.",
    )
    next_schedule: NextSchedule | None = Field(
        default=None,
        description="The window of a schedule that opens next; not set when none does.",
    )
    told: Annotated[tuple[ToldReason, ...], Field(max_length=MAX_TOLD), AtomicList()] = Field(
        default=(),
        description="What Events told lately of held decisions and of drift, from the oldest, so "
        "that nothing is told twice.",
    )
    target: TargetStatus | None = Field(
        default=None, description="The workload that spec.targetRef was resolved to."
    )
    conditions: Annotated[
        tuple[Condition, ...], Field(max_length=MAX_CONDITIONS), ListMap("type")
    ] = Field(
        default=(),
        description="Ready, TargetResolved, TelemetryAvailable, ProfileApplied, Suspended; "
        "SchedulesValid where there are schedules; PredictionFits, ProofFresh, Reconciling and "
        "Stalled stand only when abnormal.",
    )
