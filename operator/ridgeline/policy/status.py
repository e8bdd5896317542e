"""The status document of a serving: built whole from what was seen, decided and remembered.

It is also where slow memory lives, so this file reads it back. Numbers that move from tick to tick
are metrics and never stand here; a message is that of the moment when its reason last changed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.policy.act_at import with_act_at
from ridgeline.policy.conditions import Finding, findings
from ridgeline.policy.decision import Decision
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.memory import SlowMemory as LawMemory
from ridgeline.policy.law_status import control_document
from ridgeline.policy.learned_status import learned_document, learned_of
from ridgeline.policy.memory import SlowMemory, Switch
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_status import (
    clean_text,
    proof_documents,
    proofs_of,
    quarantine_documents,
    quarantine_of,
    roll_document,
)
from ridgeline.policy.schedule import next_schedule_entry
from ridgeline.policy.situation import Situation
from ridgeline.policy.told import told_entries
from ridgeline.terms.conditions import ConditionType
from ridgeline.terms.modes import Strategy
from ridgeline.terms.reasons import Reason, reason_of
from ridgeline.terms.times import epoch_seconds, timestamp

Document = Mapping[str, Any]

CALM: Final = frozenset({Reason.BEST_PROFILE_ACTIVE, Reason.INSIDE_BAND, Reason.DWELLING})
"""Reasons between which a fleet near a border goes to and fro without anything happening."""

_CALM_WORDS: Final = frozenset(each.value for each in CALM)

GOES_ON: Final = frozenset({Reason.CANARY_UNDER_WAY})
"""Reasons whose message tells how far something has come."""

CALM_SECONDS: Final = 60.0
"""Going to and fro between calm reasons is written at most this often."""

_MEASURED: Final = frozenset(
    {
        Reason.PROFILE_MISMATCH,
        Reason.ROLLOUT_STALLED,
        Reason.ACCEPTANCE_DRIFTED,
        Reason.STEP_TIME_DRIFTED,
    }
)
"""Reasons whose messages hold a measurement, count replicas or name the first of several Pods: they
move by themselves. (Messages about telemetry always do.)"""

_MESSAGE_LIMIT: Final = 32768
_MOST_CONCURRENCY: Final = 100_000
_REASON_LIMIT: Final = 1024
_REASONS_LIMIT: Final = 16
_LABELS_LIMIT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorReport:
    """The GPU that the cut-offs are computed for, what told it, and the labels found."""

    name: str
    found_by: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """The policy in use."""

    name: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a status is made of.

    Attributes:
        generation: Generation of the serving that was looked at.
        now: Epoch seconds.
        situation: What was seen; `None` when the spec could not be read.
        decision: What was decided; `None` likewise.
        problem: What keeps the serving from working, beyond what the decision tells.
        roll: The latest roll.
        memory: Slow memory to keep.
        target_uid: Identity of the target, `None` when there is none.
        container: Name of the container that runs vLLM, `None` when it was not found.
        strategy: Strategy that yields the cut-off table.
        accelerator: The GPU, `None` while it is not known.
        policy: The policy in use, `None` without one.
        law: What the control law remembers, `None` where it does not decide.
        drift: What the active profile does otherwise than it used to, `None` when nothing.
    """

    generation: int
    now: float
    situation: Situation | None
    decision: Decision | None
    problem: Problem | None
    roll: Roll | None
    memory: SlowMemory
    target_uid: str | None = None
    container: str | None = None
    strategy: Strategy = Strategy.FIXED
    accelerator: AcceleratorReport | None = None
    policy: PolicyReport | None = None
    law: LawMemory | None = None
    drift: Problem | None = None


def status_document(report: Report, previous: Document) -> dict[str, Any]:
    """Return the whole status; equal to `previous` when nothing worth writing has changed."""
    document: dict[str, Any] = {"observedGeneration": report.generation}
    _put(document, "activeProfile", report.situation.active if report.situation else None)
    _put(document, "desiredProfile", _desired(report))
    _put(document, "recommendedProfile", _recommended(report, previous))
    _put(document, "cutoffTable", _table(report, previous))
    _put(document, "cutoff", _cutoff(report))
    _put(document, "accelerator", _accelerator(report.accelerator))
    if report.memory.learned is not None:
        document["learned"] = learned_document(report.memory.learned)
    if report.law is not None:
        _put(document, "control", control_document(report.law, previous.get("control")))
    if report.policy is not None:
        document["policy"] = {"name": report.policy.name, "generation": report.policy.generation}
    schedule = report.situation.settings.schedule if report.situation else None
    _put(document, "nextSchedule", next_schedule_entry(schedule))
    _put(document, "lastDecision", _last_decision(report, previous))
    _put(document, "switchHistory", [_switch(each) for each in report.memory.switches] or None)
    if report.roll is not None:
        target = report.situation.target if report.situation else None
        before = previous.get("rollout") or {}
        document["rollout"] = roll_document(report.roll, target, before, _new_pods(report))
    _put(document, "quarantine", quarantine_documents(report.memory.quarantine) or None)
    _put(document, "proofs", proof_documents(report.memory.proofs) or None)
    if report.target_uid is not None and report.container is not None:
        document["target"] = {"uid": report.target_uid, "container": report.container}
    standing = {each["type"]: each for each in previous.get("conditions") or ()}
    found = findings(report.situation, report.decision, report.roll, report.problem, report.drift)
    document["conditions"] = [
        _condition(finding, standing.get(finding.type.value), report) for finding in found
    ]
    _put(document, "told", told_entries(document, previous, report.now) or None)
    return document


def slow_memory_of(status: Document) -> SlowMemory:
    """Read slow memory back from a status; entries that cannot be read are left out."""
    switches = []
    for entry in status.get("switchHistory") or ():
        try:
            switches.append(
                Switch(
                    started_at=epoch_seconds(entry["startTime"]),
                    finished_at=_moment(entry.get("finishTime")),
                    from_profile=entry.get("from"),
                    to_profile=entry["to"],
                    reason=reason_of(entry["reason"]),
                    concurrency=_level(entry.get("concurrency")),
                )
            )
        except (KeyError, TypeError, ValueError):
            continue
    return SlowMemory(
        switches=tuple(switches[-10:]),
        learned=learned_of(status),
        quarantine=quarantine_of(status),
        proofs=proofs_of(status),
    )


def _new_pods(report: Report) -> tuple[str, ...]:
    """Return the Pods that run the profile of the latest roll, whether they serve or not."""
    if report.situation is None or report.roll is None:
        return ()
    facts, profile = report.situation.facts, report.roll.to_profile
    serving = (each.name for each in facts.replicas if each.profile == profile)
    return (*serving, *(each.name for each in facts.starts if each.profile == profile))


def _desired(report: Report) -> str | None:
    if report.roll is not None and report.roll.open:
        return report.roll.wanted
    return report.decision.profile if report.decision else None


def _recommended(report: Report, previous: Document) -> str | None:
    if _to_and_fro(report, previous):
        standing: str | None = previous.get("recommendedProfile")
        return standing
    return _recommended_now(report)


def _recommended_now(report: Report) -> str | None:
    if report.roll is not None and report.roll.open:
        return report.roll.wanted
    return report.decision.recommended if report.decision else None


def _table(report: Report, previous: Document) -> list[dict[str, Any]] | None:
    situation = report.situation
    if situation is None or situation.table is None:
        return None
    lawful = report.decision.diagnostics.law if report.decision else None
    rows = []
    for row in situation.table.rows:
        entry: dict[str, Any] = {"profile": row.profile}
        _put(entry, "upToConcurrency", _border(row.up_to))
        _put(entry, "returnBelowConcurrency", _border(row.return_below))
        if row.band is not None:
            entry["bandLow"] = _border(row.band.low)
            _put(entry, "bandHigh", _border(row.band.high))
        rows.append(entry)
    if situation.settings.prediction is None:
        return rows
    return with_act_at(rows, lawful, previous.get("cutoffTable") or ())


def _border(value: float | None) -> int | None:
    """Return a concurrency as status takes it: a predicted cut-off may well lie below 1."""
    return None if value is None else min(max(1, round(value)), _MOST_CONCURRENCY)


def _cutoff(report: Report) -> dict[str, Any] | None:
    table = report.situation.table if report.situation else None
    if table is None:
        return None
    entry: dict[str, Any] = {"strategy": report.strategy.value, "verdict": table.verdict.value}
    reasons = [each[:_REASON_LIMIT] for each in table.reasons[:_REASONS_LIMIT]]
    _put(entry, "reasons", reasons or None)
    return entry


def _accelerator(accelerator: AcceleratorReport | None) -> dict[str, Any] | None:
    if accelerator is None:
        return None
    entry: dict[str, Any] = {
        "name": accelerator.name,
        "source": accelerator.found_by.partition("=")[0][:253],
    }
    _put(entry, "labels", [each[:512] for each in accelerator.labels[:_LABELS_LIMIT]] or None)
    return entry


def _last_decision(report: Report, previous: Document) -> dict[str, Any] | None:
    before: Document = previous.get("lastDecision") or {}
    told = _told(report)
    if told is None:
        return dict(before) or None
    turned = _recommended_now(report) != previous.get("recommendedProfile")
    same = before.get("reason") == told.reason.value and not turned
    same = same and not _has_gone_on(told, before, report.now)
    if same or _to_and_fro(report, previous):
        return dict(before)
    return {
        "time": timestamp(report.now),
        "reason": told.reason.value,
        "message": clean_text(told.message, _MESSAGE_LIMIT),
    }


def _has_gone_on(told: Problem, before: Document, now: float) -> bool:
    """Tell whether what takes minutes has gone on since it was told: once a minute is enough."""
    made_at = _moment(before.get("time"))
    moved = told.reason in GOES_ON and before.get("message") != told.message
    return moved and made_at is not None and not 0 <= now - made_at < CALM_SECONDS


def _told(report: Report) -> Problem | None:
    """Return the reason that stands for the whole pass, with its message."""
    if report.problem is not None or report.decision is None:
        return report.problem
    return Problem(reason=report.decision.reason, message=report.decision.message)


def _to_and_fro(report: Report, previous: Document) -> bool:
    """Tell whether the pass differs from the decision that stands only as a border makes it.

    Near a border the profile that the table asks for changes from tick to tick, whether that leads
    to a dwell or the serving is suspended.
    """
    before, told = previous.get("lastDecision") or {}, _told(report)
    made_at = _moment(before.get("time"))
    if told is None or made_at is None or not 0 <= report.now - made_at < CALM_SECONDS:
        return False
    if report.roll is not None and report.roll.open:
        return False
    if previous.get("recommendedProfile") is None and _recommended_now(report) is not None:
        return False  # it could not tell before: no border lies between the two
    return before.get("reason") == told.reason.value or (
        told.reason in CALM and before.get("reason") in _CALM_WORDS
    )


def _switch(switch: Switch) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "startTime": timestamp(switch.started_at),
        "to": switch.to_profile,
        "reason": switch.reason.value,
    }
    _put(entry, "from", switch.from_profile)
    _put(entry, "finishTime", None if switch.finished_at is None else timestamp(switch.finished_at))
    if switch.concurrency is not None and math.isfinite(switch.concurrency):
        entry["concurrency"] = min(max(0, round(switch.concurrency)), _MOST_CONCURRENCY)
    return entry


def _condition(finding: Finding, before: Document | None, report: Report) -> dict[str, Any]:
    same = before is not None and before["status"] == finding.status.value
    same_reason = same and before is not None and before["reason"] == finding.reason.value
    return {
        "type": finding.type.value,
        "status": finding.status.value,
        "reason": finding.reason.value,
        # Numbers in a message move with every tick: it is that of the moment it became so.
        "message": before["message"]
        if same_reason and before is not None and not _names_differ(before, finding, report)
        else clean_text(finding.message, _MESSAGE_LIMIT),
        "lastTransitionTime": before["lastTransitionTime"]
        if same and before is not None
        else timestamp(report.now),
        "observedGeneration": report.generation,
    }


def _names_differ(before: Document, finding: Finding, report: Report) -> bool:
    """Tell whether a message must be renewed although its reason stands.

    It must after an edit of the serving, and where the message is no measurement but names what
    is wrong with an object, since another object may be wrong in the same way.
    """
    if before.get("observedGeneration") != report.generation:
        return True
    return finding.type is not ConditionType.TELEMETRY_AVAILABLE and finding.reason not in _MEASURED


def _level(value: object) -> float | None:
    known = isinstance(value, int) and 0 <= value <= _MOST_CONCURRENCY
    return float(value) if known and isinstance(value, int) else None


def _moment(text: object) -> float | None:
    return epoch_seconds(text) if isinstance(text, str) else None


def _put(document: dict[str, Any], key: str, value: object) -> None:
    if value is not None:
        document[key] = value
