"""How carefully a target is rolled: canary, trial, deadlines."""

from typing import Annotated

from pydantic import Field, StrictInt

from ridgeline.api import defaults
from ridgeline.api.fields import ApiModel, resolved
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    RequalifyPolicy,
    TrialPolicy,
)

CanaryReplicas = Annotated[StrictInt, Field(ge=1, le=100, json_schema_extra={"format": "int32"})]
DeadlineSeconds = Annotated[
    StrictInt, Field(ge=60, le=86_400, json_schema_extra={"format": "int32"})
]


class CanaryPolicy(ApiModel):
    """The first new Pods of a roll, judged before the rest follow."""

    when: CanaryWhen | None = resolved(
        "Which rolls to a speculating profile begin with a canary. Unproven: those to a profile "
        "that has not served yet with the target's present Pod template (another image or another "
        "argument makes it unproven again). Always. Never. A roll to no speculation has none.",
        unset_means=defaults.CANARY_WHEN,
    )
    max_replicas: CanaryReplicas | None = resolved(
        "Most Pods that are called a canary. A Deployment's first step makes as many as its "
        "maxSurge says.",
        unset_means=defaults.CANARY_MAX_REPLICAS,
    )
    otherwise: CanaryOtherwise | None = resolved(
        "What to do where a canary is wanted and cannot be made: the Deployment's maxUnavailable "
        "is not 0, its maxSurge makes more Pods than maxReplicas, or somebody else owns "
        "spec.paused. Hold: begin no roll, and say so. Roll: roll without.",
        unset_means=defaults.CANARY_OTHERWISE,
    )
    on_no_traffic: OnNoTraffic | None = resolved(
        "What follows when the canary was not asked enough until its deadline to be judged: take "
        "it back (Restore), or let the rest follow (Promote).",
        unset_means=defaults.CANARY_ON_NO_TRAFFIC,
    )
    deadline_seconds: DeadlineSeconds | None = resolved(
        "Time in seconds from the write of the profile within which a canary must have served and "
        "been judged.",
        unset_means=defaults.CANARY_DEADLINE_SECONDS,
    )


class Rollout(ApiModel):
    """How carefully the target is rolled."""

    canary: CanaryPolicy | None = Field(
        default=None, description="The first new Pods, judged before the rest follow."
    )
    trial: TrialPolicy | None = resolved(
        "Whether, in mode Automatic, a profile whose acceptance nobody knows is tried on one "
        "canary when demand is low: it is measured, taken back, and then chosen or not by what "
        "was measured. Never leaves it at a recommendation.",
        unset_means=defaults.TRIAL,
    )
    requalify: RequalifyPolicy | None = resolved(
        "Whether, in mode Automatic, a speculating profile that is active is compared with no "
        "speculation anew when what it had shown was shown with another image, argument, model, "
        "engine version or GPU. Trial: once, when demand is low, one Pod without speculation is "
        "measured beside the others and taken back; a profile that is slower than that is left. "
        "Never.",
        unset_means=defaults.REQUALIFY,
    )
    deadline_seconds: DeadlineSeconds | None = resolved(
        "Time in seconds, without the canary's, within which a roll must have ended; then the "
        "profile before is put back.",
        unset_means=defaults.ROLL_DEADLINE_SECONDS,
    )
