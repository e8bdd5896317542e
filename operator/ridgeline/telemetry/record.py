"""What a record holds: for every pass over a serving, what was known and what was decided.

A record is a file of JSON lines, compressed with gzip. It consists of *members*: complete gzip
streams one after the other, each of which stands for itself. A member begins with a header line,
and tells settings and memory of each serving anew, so that a file that is cut, or whose beginning
was dropped, can be read from any member on.

There are no prompts in it, no addresses, no secrets, and no environment but the speculative config.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Facts, Problem
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.terms.reasons import Reason

FORMAT: Final = 1
"""Rises when a reader of the number before could no longer read the file."""

OPERATOR: Final = "operator"
PAST: Final = "past"


class RecordError(Exception):
    """A record cannot be read or written; the message is for a person."""


class UnreadableRecordError(RecordError):
    """The file is not there, may not be read, or is something else than a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEndpoint:
    """A telemetry endpoint, without its address.

    Attributes:
        name: Its name in the operator's configuration.
        matchers: Its static matchers as label and operator (`cluster=`); values may be secret.
    """

    name: str
    matchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHeader:
    """What holds for every line of a member.

    Attributes:
        format: Number of the format.
        ridgeline: Version that wrote it.
        source: `operator` for its own loop, `past` for range queries.
        window_seconds: Rate window of the signals.
        endpoints: Endpoints that the numbers come from.
        step_seconds: Step of the range queries; `None` for the operator's own loop.
    """

    format: int = FORMAT
    ridgeline: str
    source: str
    window_seconds: float
    endpoints: tuple[RecordedEndpoint, ...] = ()
    step_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """What `decide` answered, without the memory (the next tick tells it) and the comparisons."""

    outcome: Outcome
    profile: str | None
    recommended: str | None
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTick:
    """One pass over one serving.

    Attributes:
        at: Epoch seconds.
        namespace: Namespace of the serving.
        serving: Its name; of a record of the past, the name of the target.
        facts: What `decide` was told.
        settings: What a person asked for then; `None` in a record of the past.
        memory: What was remembered then; `None` in a record of the past.
        decision: What `decide` answered; `None` in a record of the past.
        overruled: Why the operator did something else all the same, `None` when it did not.
        unknown: Names of the facts that were not known and hold a stand-in.
    """

    at: float
    namespace: str
    serving: str
    facts: Facts
    settings: PolicySettings | None = None
    memory: Memory | None = None
    decision: RecordedDecision | None = None
    overruled: Problem | None = None
    unknown: tuple[str, ...] = ()


def recorded_decision(decision: Decision) -> RecordedDecision:
    """Return what a record keeps of a decision."""
    return RecordedDecision(
        outcome=decision.outcome,
        profile=decision.profile,
        recommended=decision.recommended,
        reason=decision.reason,
        message=decision.message,
    )


def recorded_endpoints(endpoints: Mapping[str, object]) -> tuple[RecordedEndpoint, ...]:
    """Return what a record tells of endpoints of any kind, by their names."""
    return tuple(
        RecordedEndpoint(name=name, matchers=_matchers(endpoints[name]))
        for name in sorted(endpoints)
    )


def _matchers(endpoint: object) -> tuple[str, ...]:
    if not isinstance(endpoint, Endpoint):
        return ()
    return tuple(f"{each.label}{each.operator}" for each in endpoint.matchers)
