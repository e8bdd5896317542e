"""The operator's own answer to "why?": what its last pass over a serving knew, compared, decided.

It holds what the status of a serving has no room for. Names of hosts and addresses are taken out,
every text and list is bounded, and a number that is not finite is left out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.controller.explain_basis import basis_lines, table_rows
from ridgeline.controller.explain_decision import decision_document, without_none
from ridgeline.controller.explain_fact import Fact
from ridgeline.controller.explain_facts import facts_told
from ridgeline.controller.explain_remembered import remembered
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision
from ridgeline.policy.explain import explain_lines, ways_out
from ridgeline.settings.explain import all_setting_lines
from ridgeline.telemetry.record_scrub import without_addresses

MOST_CHARACTERS: Final = 2000
MOST_ENTRIES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass: what it knew, and what the operator made of it."""

    view: View
    told: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The moment of a question, and who is asked.

    Attributes:
        version: Version of the operator.
        instance: Name of the process, as in its Events and its Lease.
        leader: Whether it holds the Lease; a standby decides too, and writes nothing.
        tick_seconds: How often it makes a pass.
        now: Epoch seconds.
        watch_heard_seconds_ago: When the most silent of its watch streams last brought anything;
            `None` where that is not known.
        generation: Generation of the serving that it knows.
    """

    version: str
    instance: str
    leader: bool
    tick_seconds: float
    now: float
    watch_heard_seconds_ago: float | None
    generation: int


def answer_document(found: Pass, asked: Asked) -> dict[str, Any]:
    """Return the answer as values that JSON holds; ages of facts are as of the pass."""
    view, told = found.view, found.told
    serving = view.serving
    document = {
        "version": asked.version,
        "instance": asked.instance,
        "leader": asked.leader,
        "tickSeconds": asked.tick_seconds,
        "watchHeardSecondsAgo": asked.watch_heard_seconds_ago,
        "namespace": serving.namespace,
        "serving": serving.name,
        "uid": serving.uid,
        "generation": asked.generation,
        "passGeneration": serving.generation,
        "passAgeSeconds": max(0.0, asked.now - view.now),
        "decision": decision_document(told, ways_out(told, view.settings)),
        "lines": list(explain_lines(told, view.settings)),
        "concurrency": told.diagnostics.estimates.concurrency,
        "facts": _facts(facts_told(view, ())),
        "remembered": _facts(remembered(view, told.memory)),
        "settings": [
            {"field": field, "value": value, "from": source}
            for field, value, source in all_setting_lines(view.basis.resolved)
        ],
        "basis": [{"what": what, "value": value} for what, value in basis_lines(view)],
        "cutoffTable": list(table_rows(view)),
    }
    return {key: _bounded(value) for key, value in without_none(document).items()}


def _facts(facts: tuple[Fact, ...]) -> list[dict[str, Any]]:
    return [
        without_none({"what": each.what, "value": each.value, "ageSeconds": each.age_seconds})
        for each in facts
    ]


def _bounded(value: object) -> object:
    """Return plain values without addresses, cut where they are long, and finite."""
    if isinstance(value, str):
        return without_addresses(value[:MOST_CHARACTERS])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        entries = list(value.items())[:MOST_ENTRIES]
        return {str(key): _bounded(each) for key, each in entries}
    if isinstance(value, list | tuple):
        return [_bounded(each) for each in value[:MOST_ENTRIES]]
    return value
