"""What `kubectl ridgeline explain -o json|yaml` prints: plain values, nothing unset."""

from dataclasses import asdict
from typing import Any

from ridgeline.controller.explain import Explanation
from ridgeline.policy.decision import Decision

_PROFILE_KEYS = ("profile", "speedUp", "tokensPerSecond", "tpot", "stepTimes", "acceptance")


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as values that JSON and YAML hold."""
    serving = explanation.serving
    found: dict[str, Any] = {
        "namespace": serving.namespace,
        "serving": serving.name,
        "trouble": explanation.trouble,
        "cause": None
        if explanation.cause is None
        else {
            "reason": explanation.cause.reason,
            "message": explanation.cause.message,
            "knownBy": explanation.cause.known_by,
        },
        "decision": None if explanation.decided is None else _decision(explanation),
        "notDecided": list(explanation.decision) if explanation.decided is None else None,
        "facts": [
            _without_none({"what": each.what, "value": each.value, "ageSeconds": each.age_seconds})
            for each in explanation.facts
        ],
        "concurrency": explanation.concurrency,
        "cutoffTable": list(explanation.table),
        "settings": [
            {"field": field, "value": value, "from": source}
            for field, value, source in explanation.settings
        ],
        "basis": [{"what": what, "value": value} for what, value in explanation.basis],
        "profiles": [dict(zip(_PROFILE_KEYS, row, strict=True)) for row in explanation.profiles],
        "notes": [{"about": about, "what": what} for about, what in explanation.notes],
        "checks": [
            {
                "profile": each.profile,
                "checks": [
                    {"check": one.name, "answer": one.answer.value, "why": one.why}
                    for one in each.checks
                ],
            }
            for each in explanation.checks
        ],
        "status": dict(serving.status),
        "events": [
            _without_none({key: each.get(key) for key in ("eventTime", "type", "reason", "note")})
            for each in explanation.events
        ],
    }
    return _without_none(found)


def _decision(explanation: Explanation) -> dict[str, Any]:
    decision = explanation.decided
    if decision is None:
        raise AssertionError("there is a decision")
    told = decision.diagnostics
    return _without_none(
        {
            "outcome": decision.outcome.value,
            "reason": decision.reason.value,
            "message": decision.message,
            "profile": decision.profile,
            "recommended": decision.recommended,
            "decidedBy": told.decided_by,
            "passed": list(told.passed),
            "compared": [asdict(each) for each in told.comparisons],
            "seen": _without_none(asdict(told.estimates)),
            "law": _law(decision),
            "wouldChange": list(explanation.would_change),
        }
    )


def _law(decision: Decision) -> dict[str, Any] | None:
    lawful = decision.diagnostics.law
    if lawful is None:
        return None
    act = lawful.act_at
    found = {"demand": lawful.demand, "regretRequestSeconds": lawful.regret}
    if act is not None:
        found |= {
            "cutoffDemand": act.cutoff_demand,
            "cutoffConcurrency": act.cutoff_concurrency,
            "rollSafeDemand": act.safe_demand,
            "offDemand": act.off_demand,
            "onDemand": act.on_demand,
            "expectedPeak": act.peak,
            "rollCostRequestSeconds": act.roll_cost,
        }
    return _without_none(found)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
