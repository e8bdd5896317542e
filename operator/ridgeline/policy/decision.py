"""What a decision says: the profile to run, why, and every number that was compared."""

from dataclasses import dataclass
from enum import StrEnum

from ridgeline.policy.comparison import Comparison
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.memory import Memory
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollWay

__all__ = ["Comparison", "Decision", "Diagnostics", "Estimates", "Outcome"]


class Outcome(StrEnum):
    """What is to be done."""

    KEEP = "Keep"
    """The active profile is right."""
    HOLD = "Hold"
    """Change nothing: the operator cannot see, may not act, or waits."""
    SWITCH = "Switch"
    """Roll the target to `Decision.profile`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What the fleet does now; `None` where it is not known.

    Attributes:
        concurrency: Mean requests in decode per engine, over the engines that joined.
        joined_replicas: Ready Pods older than the window that telemetry joined.
        expected_replicas: Ready Pods older than the window.
        pending_replicas: Ready Pods younger than the window.
        tokens_per_second: Output tokens per second of all joined replicas.
        tpot_seconds: Mean time per output token, weighted by tokens.
        acceptance_length: Mean tokens per request-step.
        oldest_age_seconds: Age of the oldest sample used.
    """

    concurrency: float | None = None
    joined_replicas: int = 0
    expected_replicas: int = 0
    pending_replicas: int = 0
    tokens_per_second: float | None = None
    tpot_seconds: float | None = None
    acceptance_length: float | None = None
    oldest_age_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """How the decision came about.

    Attributes:
        decided_by: Name of the check or rule that decided.
        passed: Names of the checks that let the decision through, in order.
        comparisons: Every number that was compared, in order.
        estimates: What the fleet does now.
        law: What the control law said, `None` where it does not apply.
    """

    decided_by: str
    passed: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    estimates: Estimates
    law: LawDecision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer of `decide`.

    Attributes:
        outcome: What is to be done.
        profile: Profile to run: the new one for a switch, else the active one (`None` if unknown).
        recommended: Profile that the table asks for now, `None` when the operator cannot tell.
            It differs from `profile` while a switch is wanted and held.
        reason: Why.
        message: The same for a person, with the numbers.
        memory: What to remember for the next decision.
        diagnostics: How it came about.
        way: How a switch is to be made.
    """

    outcome: Outcome
    profile: str | None
    recommended: str | None
    reason: Reason
    message: str
    memory: Memory
    diagnostics: Diagnostics
    way: RollWay = RollWay.WHOLE
