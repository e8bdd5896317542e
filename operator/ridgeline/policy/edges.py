"""Which Events a change of status is worth: edges between two documents, never levels.

Both documents are given, so the same edge is never told twice, whoever looks at it and however
often, and a restart tells nothing anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.policy.told import TOLD_DECISIONS, newly_told
from ridgeline.terms.conditions import ConditionStatus, ConditionType
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState, RollWay

Document = Mapping[str, Any]

_TOLD_BY_CONDITION: Final = (
    ConditionType.READY,
    ConditionType.TELEMETRY_AVAILABLE,
    ConditionType.SUSPENDED,
    ConditionType.SCHEDULES_VALID,
)

_ROLL_REASONS: Final = {
    RollState.ROLLING: Reason.ROLL_STARTED,
    RollState.FINISHED: Reason.ROLL_FINISHED,
    RollState.ABANDONED: Reason.ROLL_ABANDONED,
    RollState.UNDONE: Reason.UNDONE_BY_OTHERS,
    RollState.CANARY: Reason.CANARY_STARTED,
    RollState.UNDOING: Reason.ROLL_UNDONE,
    RollState.RESTORED: Reason.ROLL_RESTORED,
}


_WARNINGS: Final = frozenset({Reason.UNDONE_BY_OTHERS, Reason.ROLL_UNDONE})

_AS_MEANT: Final = frozenset({Reason.TRIAL_ENDED.value, Reason.REQUALIFIED.value})
"""Reasons of rolls that were to be taken back."""

_NO_WARNINGS: Final = TOLD_DECISIONS | {Reason.PROOF_STALE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One thing that has become so.

    Attributes:
        warning: Whether a person should look at it.
        reason: What it is.
        action: What was done, or not done.
        note: The same for a person.
    """

    warning: bool
    reason: Reason
    action: str
    note: str


def edges(before: Document, after: Document) -> tuple[Edge, ...]:
    """Return the edges from one status to the next, in the order in which they happened.

    One reason is told once, by what says most of it: a problem of the target also shows in Ready,
    and a roll that was undone in both.
    """
    told = (
        *_condition_edges(_conditions(before), _conditions(after)),
        *_roll_edges(before.get("rollout") or {}, after),
        *_told_edges(before, after),
    )
    by_reason: dict[Reason, Edge] = {}
    for edge in told:
        by_reason.setdefault(edge.reason, edge)
    return tuple(by_reason.values())


def _roll_edges(before: Document, after_status: Document) -> tuple[Edge, ...]:
    after: Document = after_status.get("rollout") or {}
    state: str = after.get("state", "")
    same_roll = before.get("startTime") == after.get("startTime")
    if not after or (same_roll and before.get("state") == state):
        return ()
    reason = _ROLL_REASONS.get(RollState(state))
    if reason is None or (reason is Reason.UNDONE_BY_OTHERS and _handed_back(after_status)):
        return ()
    switches: Sequence[Document] = after_status.get("switchHistory") or ({},)
    begins = (
        reason in (Reason.ROLL_STARTED, Reason.CANARY_STARTED) and before.get("state") != "Canary"
    )
    why = after.get("message", "")
    if begins and after.get("way") == RollWay.TRIAL.value:
        why = "its first new Pods are measured, and taken back"
    elif begins:
        why = switches[-1].get("reason", "")
    note = f"roll from {after.get('from', 'an unknown profile')} to {after['to']}"
    return (
        Edge(
            warning=reason in _WARNINGS and after.get("reason") not in _AS_MEANT,
            reason=reason,
            action="Roll",
            note=f"{note}: {why}" if why else note,
        ),
    )


def _handed_back(status: Document) -> bool:
    """Tell whether the serving was edited after the roll: what changed since is the person's will.

    An edit may itself be why the target's config is no longer that of the profile of that name.
    """
    edited: int = status.get("observedGeneration", 0)
    asked: int = (status.get("rollout") or {}).get("servingGeneration", 0)
    return edited > asked


def _condition_edges(before: Mapping[str, Document], after: Mapping[str, Document]) -> list[Edge]:
    found = []
    for kind in _TOLD_BY_CONDITION:
        old, new = before.get(kind.value), after.get(kind.value)
        if new is None:
            continue
        was = (old["status"], old["reason"]) if old else (_well(kind), "")
        now = (new["status"], new["reason"])
        if was == now or (was[0] == now[0] == _well(kind)) or now[0] == ConditionStatus.UNKNOWN:
            continue
        bad = now[0] != _well(kind)
        if not bad and was[0] == ConditionStatus.UNKNOWN:
            continue
        found.append(
            Edge(
                warning=bad and kind is not ConditionType.SUSPENDED,
                reason=Reason(new["reason"]) if bad else Reason.RECOVERED,
                action="Hold" if bad else "Observe",
                note=new["message"] if bad else f"{kind.value}: {new['message']}",
            )
        )
    return found


def _told_edges(before: Document, after: Document) -> tuple[Edge, ...]:
    return tuple(
        Edge(
            warning=reason not in _NO_WARNINGS,
            reason=reason,
            action="Hold" if reason in TOLD_DECISIONS else "Observe",
            note=message,
        )
        for reason, message in newly_told(before, after)
    )


def _well(kind: ConditionType) -> ConditionStatus:
    return ConditionStatus.FALSE if kind is ConditionType.SUSPENDED else ConditionStatus.TRUE


def _conditions(status: Document) -> dict[str, Document]:
    return {each["type"]: each for each in status.get("conditions") or ()}
