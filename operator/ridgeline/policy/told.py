"""Which news of a serving a person was told lately: kept in status, so that nothing is told twice.

Near a border a serving goes to and fro between reasons, and each return is an edge. What was told
of one profile is not told again for six hours; what a person changes is told by its own reason.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ridgeline.terms.conditions import ConditionType
from ridgeline.terms.reasons import Reason
from ridgeline.terms.times import epoch_seconds, timestamp

Document = Mapping[str, Any]

TOLD_DECISIONS: Final = frozenset(
    {
        Reason.DAILY_BUDGET_SPENT,
        Reason.RECOMMEND_ONLY,
        Reason.WAITING_FOR_ROLL_BUDGET,
        Reason.OSCILLATION_LOCKED,
        Reason.CUTOFF_UNDECIDED,
    }
)
"""Holds that a person should learn of although every condition is well."""

TOLD_CONDITIONS: Final = (ConditionType.PREDICTION_FITS, ConditionType.PROOF_FRESH)
"""Conditions that stand only when abnormal and may come and go."""

_TOLD_WORDS: Final = frozenset(each.value for each in TOLD_DECISIONS)

AGAIN_SECONDS: Final = 21_600.0
"""Time after which the same is told again, should it become so again."""

MOST: Final = 8


def told_entries(document: Document, previous: Document, now: float) -> list[dict[str, Any]]:
    """Return status.told: as it stands, with what has become so now and was not told lately.

    Args:
        document: The status to be written, with its last decision and its conditions.
        previous: The status that stands.
        now: Epoch seconds.
    """
    standing = _entries(previous)
    fresh = [
        each
        for each in _news(document, previous)
        if not any(_same(each, known) and _lately(known, now) for known in standing)
    ]
    if not fresh:
        return standing
    known = [each for each in standing if _lately(each, now)]
    return [*known, *({**each, "time": timestamp(now)} for each in fresh)][-MOST:]


def newly_told(before: Document, after: Document) -> Iterator[tuple[Reason, str]]:
    """Return reason and message of what one status tells and the one before does not."""
    known = _entries(before)
    for entry in _entries(after):
        if entry not in known:
            yield Reason(entry["reason"]), _message(after, entry["reason"])


def _entries(document: Document) -> list[dict[str, Any]]:
    told = document.get("told")
    if not isinstance(told, list | tuple):
        return []
    return [dict(each) for each in told if isinstance(each, Mapping)]


def _message(document: Document, reason: str) -> str:
    standing = (_standing(document, kind) for kind in TOLD_CONDITIONS)
    source = next((each for each in standing if each and each["reason"] == reason), None)
    message: str = (source or document.get("lastDecision") or {}).get("message", "")
    return message


def _news(document: Document, previous: Document) -> Iterator[dict[str, Any]]:
    """Return what has become so between two documents, without its time."""
    last, before = document.get("lastDecision") or {}, previous.get("lastDecision") or {}
    if last.get("reason") in _TOLD_WORDS and last != before:
        yield _entry(last["reason"], document.get("recommendedProfile"))
    for kind in TOLD_CONDITIONS:
        now, was = _standing(document, kind), _standing(previous, kind)
        if now is not None and (was is None or was["reason"] != now["reason"]):
            yield _entry(now["reason"], document.get("activeProfile"))


def _entry(reason: str, profile: str | None) -> dict[str, Any]:
    return {"reason": reason} if profile is None else {"reason": reason, "profile": profile}


def _standing(document: Document, kind: ConditionType) -> Document | None:
    conditions = document.get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind.value), None)


def _same(one: Document, other: Document) -> bool:
    return one.get("reason") == other.get("reason") and one.get("profile") == other.get("profile")


def _lately(entry: Document, now: float) -> bool:
    try:
        return abs(now - epoch_seconds(entry["time"])) < AGAIN_SECONDS
    except (KeyError, TypeError, ValueError):
        return False
