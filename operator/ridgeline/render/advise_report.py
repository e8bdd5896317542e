"""What `ridgeline advise` shows: a serving's cut-offs, and all that is advised beside them."""

from dataclasses import dataclass

from ridgeline.costmodel.advice import Advice
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.profile_advice import Asked, ProfileAdvice
from ridgeline.costmodel.startup import RollCost
from ridgeline.render.cutoff_report import CutoffReport, Predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class InEngineRow:
    """What the engine can do by load on a profile.

    Attributes:
        profile: Its name.
        config: The value of --speculative-config with it; `None` without.
        why: Why there is none, or what to know of it.
    """

    profile: str
    config: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCurve:
    """Cost of a million output tokens by load, of one profile.

    Attributes:
        profile: Its name.
        loads: Output tokens per second of all replicas together.
        costs: Cost at each.
    """

    profile: str
    loads: tuple[float, ...]
    costs: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceReport:
    """Everything that is shown.

    Attributes:
        cutoff: The cut-offs and what they rest on.
        advice: The verdict.
        asked: What was asked beside the profiles.
        contexts: Predictions at further lengths of context.
        profiles: What is advised of each profile that can be predicted.
        in_engine: What the engine can do by load, for each profile that speculates.
        roll: What a roll of the fleet costs, or why that cannot be said.
        cost_curves: Cost by load; empty without a price.
        notes: What a person should know.
    """

    cutoff: CutoffReport
    advice: Advice
    asked: Asked
    contexts: tuple[Predicted, ...]
    profiles: tuple[ProfileAdvice, ...]
    in_engine: tuple[InEngineRow, ...]
    roll: RollCost | CannotSay
    cost_curves: tuple[CostCurve, ...] = ()
    notes: tuple[str, ...] = ()
