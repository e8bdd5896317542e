"""How carefully a person wants a target rolled."""

from dataclasses import dataclass

from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    RequalifyPolicy,
    TrialPolicy,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollSettings:
    """Resolved settings of a serving's rolls.

    Attributes:
        canary_when: Which rolls begin with a canary.
        canary_max_replicas: Most Pods that are called one.
        canary_otherwise: What to do where one is wanted and cannot be made.
        on_no_traffic: What follows from one that could not be judged for lack of requests.
        canary_deadline_seconds: From the write of the profile until a canary must be judged.
        trial: Whether an unknown profile may be tried.
        deadline_seconds: Until a roll must have ended, the canary's time left out.
        requalify: Whether the active profile is compared with none anew when its proof is stale.
    """

    canary_when: CanaryWhen
    canary_max_replicas: int
    canary_otherwise: CanaryOtherwise
    on_no_traffic: OnNoTraffic
    canary_deadline_seconds: float
    trial: TrialPolicy
    deadline_seconds: float
    requalify: RequalifyPolicy = RequalifyPolicy.NEVER
