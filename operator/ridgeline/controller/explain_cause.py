"""The one cause that a person should read first: the operator's word, or this look's."""

from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.objects import ServingObject
from ridgeline.policy.decision import Decision
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a serving does what it does.

    Attributes:
        reason: The reason's name, as the reference of reasons lists it.
        message: The same for a person.
        known_by: Who says so: the operator, or this look.
    """

    reason: str
    message: str
    known_by: str


OPERATOR: Final = "the operator"
LOOK: Final = "this look"

_REMEMBERED: Final = frozenset({Reason.DWELLING, Reason.REPLICAS_SETTLING})
"""What a look at one moment answers where only somebody who watched on knows more."""


def cause_of(serving: ServingObject, decision: Decision | None) -> Cause | None:
    """Return the cause; `None` where neither the operator nor this look can tell.

    Args:
        serving: The serving with its status.
        decision: What this look decides; `None` where it could not.
    """
    stalled = _condition(serving, "Stalled")
    if stalled is not None:
        return Cause(
            reason=str(stalled.get("reason")),
            message=str(stalled.get("message")),
            known_by=OPERATOR,
        )
    last = serving.status.get("lastDecision") or {}
    told = (
        Cause(reason=str(last["reason"]), message=str(last.get("message", "")), known_by=OPERATOR)
        if "reason" in last and serving.status.get("observedGeneration") == serving.generation
        else None
    )
    if decision is None:
        return told
    if told is not None and (decision.reason in _REMEMBERED or _writes(decision)):
        return told
    return Cause(reason=decision.reason.value, message=decision.message, known_by=LOOK)


def _writes(decision: Decision) -> bool:
    """Tell whether the look would act: budgets, leases and rehearsals are the operator's alone."""
    return decision.outcome.value == "Switch"


def _condition(serving: ServingObject, kind: str) -> dict[str, Any] | None:
    for each in serving.status.get("conditions") or ():
        if each.get("type") == kind and each.get("status") == "True":
            return dict(each)
    return None
