"""Where a roll stands, and how it is made."""

from enum import StrEnum


class RollState(StrEnum):
    """States of the latest roll of a target, as status shows them."""

    INTENDED = "Intended"
    """Announced in status; the target may or may not have been written."""
    CANARY = "Canary"
    """The target carries the profile; its first new Pods are judged before the rest follow."""
    ROLLING = "Rolling"
    """The target carries the profile; its replicas are being replaced."""
    UNDOING = "Undoing"
    """What was there before is being put back."""
    FINISHED = "Finished"
    """Every replica runs the profile."""
    RESTORED = "Restored"
    """Every replica runs what it ran before."""
    ABANDONED = "Abandoned"
    """Announced and not begun: the target had changed, or too much time had passed."""
    UNDONE = "Undone"
    """Somebody else took the profile out of the target."""


class RollWay(StrEnum):
    """How a roll is made."""

    WHOLE = "Whole"
    """All replicas, one after the other."""
    CANARY = "Canary"
    """The first new Pods are judged, then the rest follow or they are taken back."""
    TRIAL = "Trial"
    """The first new Pods are measured, and taken back."""


class CanaryWhen(StrEnum):
    """Which rolls to a speculating profile begin with a canary."""

    UNPROVEN = "Unproven"
    """Those to a profile that has not served yet with the target's present Pod template."""
    ALWAYS = "Always"
    NEVER = "Never"


class CanaryOtherwise(StrEnum):
    """What to do where a canary is wanted and cannot be made."""

    HOLD = "Hold"
    ROLL = "Roll"


class OnNoTraffic(StrEnum):
    """What follows from a canary that nobody asked enough of to judge it."""

    RESTORE = "Restore"
    PROMOTE = "Promote"


class TrialPolicy(StrEnum):
    """Whether a profile of which nothing is known may be tried on one canary."""

    ALLOWED = "Allowed"
    NEVER = "Never"


class RequalifyPolicy(StrEnum):
    """Whether the active profile is compared with no speculation anew once its proof is stale."""

    NEVER = "Never"
    TRIAL = "Trial"


class OnDelete(StrEnum):
    """What becomes of the profile in a target when its serving is deleted."""

    KEEP = "Keep"
    RESTORE = "Restore"


class ProofResult(StrEnum):
    """What is known of a profile on the target's Pod template."""

    SERVED = "Served"
    """It ran on every replica when the operator switched away from it."""
    CANARY_PASSED = "CanaryPassed"
    """A canary showed that it is better."""
    TRIED = "Tried"
    """A trial measured it."""
    VERIFIED = "Verified"
    """The whole fleet does on it what was promised."""
    WORSE = "Worse"
    """The whole fleet does less on it than was promised."""
    UNCLEAR = "Unclear"
    """Nothing could be told in the time given."""
