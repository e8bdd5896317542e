"""What `kubectl ridgeline explain -o json|yaml` prints: plain values, nothing unset."""

from typing import Any

from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain_decision import without_none
from ridgeline.controller.explain_fact import Fact

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
        "operator": _operator(explanation),
        "decision": None if explanation.decided is None else dict(explanation.decided),
        "notDecided": list(explanation.decision) if explanation.decided is None else None,
        "facts": _facts(explanation.facts),
        "remembered": _facts(explanation.remembered) if explanation.live is not None else None,
        "queries": [{"name": name, "promql": promql} for name, promql in explanation.asked],
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
            without_none({key: each.get(key) for key in ("eventTime", "type", "reason", "note")})
            for each in explanation.events
        ],
    }
    return without_none(found)


def _operator(explanation: Explanation) -> dict[str, Any] | None:
    """Return who answered, or why nobody did; `None` where nobody was asked."""
    live = explanation.live
    if live is None:
        without = explanation.without
        return None if without is None else {"wentWithout": without}
    return without_none(
        {
            "instance": live.instance,
            "leader": live.leader,
            "passAgeSeconds": live.age_seconds,
            "tickSeconds": live.tick_seconds,
            "generation": live.generation,
            "watchHeardSecondsAgo": live.watch_heard_seconds_ago,
        }
    )


def _facts(facts: tuple[Fact, ...]) -> list[dict[str, Any]]:
    return [
        without_none({"what": each.what, "value": each.value, "ageSeconds": each.age_seconds})
        for each in facts
    ]
