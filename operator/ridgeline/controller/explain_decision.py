"""A decision as plain values: what `explain -o json` and the operator's own answer hold of it."""

from dataclasses import asdict
from typing import Any

from ridgeline.policy.decision import Decision
from ridgeline.policy.explain import not_worth_it


def decision_document(decision: Decision, would_change: tuple[str, ...]) -> dict[str, Any]:
    """Return a decision with everything that led to it; what is not known is left out.

    Args:
        decision: The decision.
        would_change: What would change it, each a sentence.
    """
    told = decision.diagnostics
    return without_none(
        {
            "outcome": decision.outcome.value,
            "reason": decision.reason.value,
            "message": decision.message,
            "profile": decision.profile,
            "recommended": decision.recommended,
            "decidedBy": told.decided_by,
            "passed": list(told.passed),
            "compared": [asdict(each) for each in told.comparisons],
            "seen": without_none(asdict(told.estimates)),
            "law": _law(decision),
            "wouldChange": list(would_change),
            "notWorthIt": not_worth_it(decision),
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
    return without_none(found)


def without_none(values: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that say something."""
    return {key: value for key, value in values.items() if value is not None}
