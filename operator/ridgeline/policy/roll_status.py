"""What status tells of rolls, quarantined profiles and proofs; written here and read back here."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.proof import MAX_PROOFS, Proof, Proofs
from ridgeline.policy.quarantine import MAX_QUARANTINED, Entries, Quarantined
from ridgeline.policy.roll import Before, Roll
from ridgeline.terms.reasons import reason_of
from ridgeline.terms.rolls import ProofResult, RollState, RollWay
from ridgeline.terms.times import epoch_seconds, timestamp

Document = Mapping[str, Any]
T = TypeVar("T")

MAX_CANARY_PODS: Final = 8
"""Pods that status names of a canary."""

_MESSAGE_LIMIT: Final = 1024
_OPEN_STATES: Final = frozenset(
    {
        RollState.INTENDED.value,
        RollState.CANARY.value,
        RollState.ROLLING.value,
        RollState.UNDOING.value,
    }
)


def roll_document(
    roll: Roll, target: TargetFacts | None, before: Document, pods: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the entry of the latest roll.

    Args:
        roll: The roll.
        target: The target as it was seen, `None` when it has a problem.
        before: The entry as it stands.
        pods: Pods that run the profile of the roll.
    """
    entry: dict[str, Any] = {
        "to": roll.to_profile,
        "startTime": timestamp(roll.started_at),
        "stageTime": timestamp(roll.stage_at or roll.started_at),
        "targetUID": roll.target_uid,
        "targetGeneration": roll.target_generation,
        "servingGeneration": roll.serving_generation,
        "state": roll.state.value,
        "way": roll.way.value,
        **_progress(roll, target, before),
    }
    _put(entry, "from", roll.from_profile)
    _put(entry, "finishTime", None if roll.finished_at is None else timestamp(roll.finished_at))
    _put(entry, "template", roll.template or None)
    _put(entry, "config", roll.config or None)
    if roll.before is not None:
        entry["before"] = {"config": roll.before.config}
        _put(entry["before"], "label", roll.before.label)
    if roll.why is not None:
        entry["reason"] = roll.why.reason.value
        entry["message"] = clean_text(roll.why.message, _MESSAGE_LIMIT)
    _put(entry, "heldBack", roll.held_back or None)
    _put(entry, "canaryPods", _canary_pods(roll, before, pods) or None)
    _put(entry, "promisedPercent", roll.promised_percent)
    if roll.undone_times:
        entry["undoneTimes"] = roll.undone_times
        _put(entry, "undoneBy", roll.undone_by[:128] or None)
    return entry


def roll_of(status: Document) -> Roll | None:
    """Read the latest roll back from a status; `None` when there is none, or it is unreadable."""
    return _readable(status.get("rollout"), _roll)


def quarantine_documents(entries: Entries) -> list[dict[str, Any]]:
    """Return the entries of quarantined profiles."""
    return [
        {
            "profile": each.profile,
            "reason": each.reason.value,
            "message": clean_text(each.message, _MESSAGE_LIMIT),
            "since": timestamp(each.since),
            "until": timestamp(each.until),
            "config": each.config,
            "template": each.template,
            "times": each.times,
        }
        for each in entries
    ]


def quarantine_of(status: Document) -> Entries:
    """Read the quarantined profiles back; entries that cannot be read are left out."""
    found = (_readable(each, _quarantined) for each in status.get("quarantine") or ())
    return tuple(each for each in found if each is not None)[-MAX_QUARANTINED:]


def proof_documents(proofs: Proofs) -> list[dict[str, Any]]:
    """Return the entries of proofs."""
    documents = []
    for each in proofs:
        entry: dict[str, Any] = {
            "profile": each.profile,
            "result": each.result.value,
            "time": timestamp(each.at),
            "config": each.config,
            "template": each.template,
        }
        _put(entry, "basis", each.basis or None)
        _put(entry, "gainPercent", each.gain_percent)
        _put(entry, "promisedPercent", each.promised_percent)
        documents.append(entry)
    return documents


def proofs_of(status: Document) -> Proofs:
    """Read the proofs back; entries that cannot be read are left out."""
    found = (_readable(each, _proof) for each in status.get("proofs") or ())
    return tuple(each for each in found if each is not None)[-MAX_PROOFS:]


def clean_text(message: str, limit: int) -> str:
    """Return a message as it will be read back: no half surrogate, not too long."""
    return message.encode("utf-8", errors="replace").decode("utf-8")[:limit]


def _readable(entry: Any, read: Callable[[Document], T]) -> T | None:
    if not entry:
        return None
    try:
        return read(entry)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _roll(entry: Document) -> Roll:
    before, reason = entry.get("before"), entry.get("reason")
    started_at = epoch_seconds(entry["startTime"])
    return Roll(
        from_profile=entry.get("from"),
        to_profile=entry["to"],
        started_at=started_at,
        finished_at=_moment(entry.get("finishTime")),
        state=RollState(entry["state"]),
        stage_at=_moment(entry.get("stageTime")) or started_at,
        target_uid=entry["targetUID"],
        target_generation=int(entry["targetGeneration"]),
        serving_generation=int(entry["servingGeneration"]),
        way=RollWay(entry.get("way", RollWay.WHOLE)),
        before=Before(label=before.get("label"), config=before["config"]) if before else None,
        template=entry.get("template", ""),
        config=entry.get("config", ""),
        why=Problem(reason=reason_of(reason), message=entry.get("message", "")) if reason else None,
        held_back=bool(entry.get("heldBack", False)),
        promised_percent=entry.get("promisedPercent"),
        undone_times=int(entry.get("undoneTimes", 0)),
        undone_by=entry.get("undoneBy", ""),
    )


def _quarantined(entry: Document) -> Quarantined:
    return Quarantined(
        profile=entry["profile"],
        reason=reason_of(entry["reason"]),
        message=entry.get("message", ""),
        since=epoch_seconds(entry["since"]),
        until=epoch_seconds(entry["until"]),
        config=entry["config"],
        template=entry["template"],
        times=int(entry.get("times", 1)),
    )


def _proof(entry: Document) -> Proof:
    return Proof(
        profile=entry["profile"],
        result=ProofResult(entry["result"]),
        at=epoch_seconds(entry["time"]),
        config=entry["config"],
        template=entry["template"],
        basis=entry.get("basis", ""),
        gain_percent=entry.get("gainPercent"),
        promised_percent=entry.get("promisedPercent"),
    )


def _canary_pods(roll: Roll, before: Document, pods: Iterable[str]) -> list[str]:
    """Return the names of a canary's Pods: those that are there while it is judged, then as it was.

    One that an autoscaler adds meanwhile is of the canary, too.
    """
    same = before.get("startTime") == timestamp(roll.started_at)
    known = list(before.get("canaryPods") or ()) if same else []
    if roll.state is not RollState.CANARY:
        return known
    return sorted(set(pods))[:MAX_CANARY_PODS] or known


def _progress(roll: Roll, target: TargetFacts | None, before: Document) -> dict[str, int]:
    """Return the replica counts: live while the roll is open, as they were at its end after it."""
    names = ("updatedReplicas", "availableReplicas", "replicas")
    was_open = before.get("state") in _OPEN_STATES
    if target is not None and (roll.open or was_open or not before):
        under_way, wanted = target.rollout, target.desired_replicas
        updated = under_way.updated if under_way else wanted
        if roll.state in (RollState.INTENDED, RollState.ABANDONED):
            updated = 0  # what is updated now is so to another template
        counts = (updated, under_way.available if under_way else wanted, wanted)
        return dict(zip(names, counts, strict=True))
    return {name: int(before.get(name, 0)) for name in names}


def _moment(text: object) -> float | None:
    return epoch_seconds(text) if isinstance(text, str) else None


def _put(document: dict[str, Any], key: str, value: object) -> None:
    if value is not None:
        document[key] = value
