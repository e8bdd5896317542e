"""Pure: what a record must not hold is taken out of the few free texts that facts carry.

Errors and warnings of an endpoint may name hosts; a record travels into bug reports.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv6Address
from typing import Final

from ridgeline.policy.facts import Facts, Problem, TelemetryFacts
from ridgeline.telemetry.record import RecordedDecision, RecordedTick

STAND_IN: Final = "[address]"

_ADDRESS: Final = re.compile(
    r"""
    \bhttps?://[^\s'"<>)\];,]+                       # an address of the web
    | (?<=\bhost\ )\S+                               # Cannot connect to host NAME:PORT
    | (?<=\bredirect\ to\ )[\w.-]+                   # where an endpoint sends us
    | (?<=\bnot\ valid\ for\ ')[^']+                # the name that a certificate does not have
    | (?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)(?::\d+)?
    | \bip(?:-\d{1,3}){4}\b[\w.-]*                   # node names that are addresses
    """,
    re.VERBOSE,
)
_MAYBE_IPV6: Final = re.compile(r"(?<![\w:.])[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")


def without_addresses(text: str) -> str:
    """Return the text with `[address]` in place of every URL, host and IP address."""
    return _ADDRESS.sub(STAND_IN, _MAYBE_IPV6.sub(_unless_ipv6, text))


def _unless_ipv6(found: re.Match[str]) -> str:
    """Return the stand-in for an IPv6 address, and any other text (a time of day) as it is."""
    token = found[0].rstrip(".")
    # A colon at the end may belong to the address (`fe80::`) or to the sentence.
    for address in (token, token.removesuffix(":")):
        try:
            IPv6Address(address)
        except ValueError:
            continue
        return STAND_IN + found[0][len(address) :]
    return found[0]


def scrubbed(tick: RecordedTick) -> RecordedTick:
    """Return the tick with no address in what endpoints said, and in messages that repeat it."""
    facts, decision, overruled = tick.facts, tick.decision, tick.overruled
    return replace(
        tick,
        facts=_facts(facts),
        decision=None if decision is None else _decision(decision),
        overruled=None if overruled is None else _problem(overruled),
    )


def _facts(facts: Facts) -> Facts:
    telemetry = facts.telemetry
    if isinstance(telemetry, Problem):
        return facts
    cleaned = _telemetry(telemetry)
    # Most ticks have nothing to take out: then the value is not built anew.
    return facts if cleaned == telemetry else replace(facts, telemetry=cleaned)


def _telemetry(told: TelemetryFacts) -> TelemetryFacts:
    return replace(
        told,
        error=None if told.error is None else without_addresses(told.error),
        warnings=_each(told.warnings),
        partial=_each(told.partial),
    )


def _decision(decision: RecordedDecision) -> RecordedDecision:
    return replace(decision, message=without_addresses(decision.message))


def _problem(problem: Problem) -> Problem:
    return replace(problem, message=without_addresses(problem.message))


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(without_addresses(each) for each in texts)
