"""The one cause that a person should read first: the operator's word, or this look's."""

from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.explain_live import Live
from ridgeline.policy.decision import Decision
from ridgeline.policy.explain import not_worth_it
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a serving does what it does.

    Attributes:
        reason: The reason's name, as the reference of reasons lists it, or a `State`.
        message: The same for a person.
        known_by: Who says so: the operator, its last pass, or this look.
    """

    reason: str
    message: str
    known_by: str


OPERATOR: Final = "the operator"
LAST_LOOK: Final = "the operator's last pass"
LOOK: Final = "this look"

_REMEMBERED: Final = frozenset({Reason.DWELLING, Reason.REPLICAS_SETTLING})
"""What a look at one moment answers where only somebody who watched on knows more."""

_ROLLOUT: Final = frozenset(
    {Reason.ROLLOUT_UNDER_WAY, Reason.ROLLOUT_PAUSED, Reason.ROLLOUT_STALLED}
)
"""What a look at one moment answers while a roll of the operator's is under way."""

_STEPS: Final = frozenset({RollState.CANARY.value, RollState.UNDOING.value})
"""States of such a roll in which only the operator knows what is waited for."""


def cause_of(
    serving: ServingObject, decision: Decision | None, live: Live | None = None
) -> Cause | None:
    """Return the cause; `None` where neither the operator nor this look can tell.

    Args:
        serving: The serving with its status.
        decision: What this look decides; `None` where it could not.
        live: The operator's own answer, where it counts: it wins.
    """
    told = _told(serving)
    if live is not None:
        writes = live.decision.get("outcome") == "Switch"
        return told if told is not None and writes else _of_pass(live)
    stalled = _condition(serving, "Stalled")
    if stalled is not None:
        return Cause(
            reason=str(stalled.get("reason")),
            message=str(stalled.get("message")),
            known_by=OPERATOR,
        )
    if decision is None:
        return told
    knows_less = decision.reason in _REMEMBERED or _writes(decision)
    if told is not None and (knows_less or _steps(decision, serving)):
        return told
    message = _with(decision.message, not_worth_it(decision))
    return Cause(reason=decision.reason.value, message=message, known_by=LOOK)


def _of_pass(live: Live) -> Cause:
    message = _with(str(live.decision.get("message", "")), live.decision.get("notWorthIt"))
    return Cause(reason=str(live.decision["reason"]), message=message, known_by=LAST_LOOK)


def _with(message: str, more: object) -> str:
    """Return the message, and why a profile that is faster now is not rolled to."""
    return f"{message}. {more}" if more else message


def _told(serving: ServingObject) -> Cause | None:
    """Return the operator's last word, if it is about the serving as it is now."""
    last = serving.status.get("lastDecision") or {}
    if "reason" not in last or serving.status.get("observedGeneration") != serving.generation:
        return None
    return Cause(
        reason=str(last["reason"]), message=str(last.get("message", "")), known_by=OPERATOR
    )


def _writes(decision: Decision) -> bool:
    """Tell whether the look would act: budgets, leases and rehearsals are the operator's alone."""
    return decision.outcome.value == "Switch"


def _steps(decision: Decision, serving: ServingObject) -> bool:
    state = (serving.status.get("rollout") or {}).get("state")
    return decision.reason in _ROLLOUT and state in _STEPS


def _condition(serving: ServingObject, kind: str) -> dict[str, Any] | None:
    for each in serving.status.get("conditions") or ():
        if each.get("type") == kind and each.get("status") == "True":
            return dict(each)
    return None
