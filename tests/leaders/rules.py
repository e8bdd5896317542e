"""What two operators that share their work must never do, and how it is told that they did."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from tests.leaders.audit import Entry


class Kind(enum.StrEnum):
    """What was broken."""

    FOREIGN = "a field or an object that is not the operator's"
    UNFENCED = "a write that does not name the object and the version that were read"
    STALE = "a write over a newer one"
    NOT_HOLDER = "a write by one who does not hold the Lease"
    EXPIRED = "a write after the Lease had run out"
    TWO_ROLLS = "a second roll of a target whose roll has not ended"
    OVER_BUDGET = "more rolls at a time than allowed"
    UNANNOUNCED = "a roll that does not stand in the serving's status"
    TWICE = "the same roll written twice"
    BLIND = "a roll decided while nothing could be seen"


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One rule that was broken.

    Attributes:
        kind: Which.
        at: Epoch seconds of the request.
        user: Who.
        target: Namespace and name of the object.
        told: What was seen.
    """

    kind: Kind
    at: float
    user: str
    target: str
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What is allowed.

    Attributes:
        users: Accounts of the operators, each its own.
        agents: Beginnings of the programs' names, where others use these accounts too; empty: all.
        lease: Namespace and name of their Lease.
        max_rolls: Rolls that may be under way at a time.
        blind_after_s: For so long after their telemetry ended they may decide by what they saw.
    """

    users: frozenset[str]
    agents: tuple[str, ...] = ()
    lease: tuple[str, str]
    max_rolls: int
    blind_after_s: float

    def ours(self, entry: Entry) -> bool:
        """Whether an operator made this request."""
        by_agent = not self.agents or entry.agent.startswith(self.agents)
        return entry.user in self.users and by_agent


def broken(kind: Kind, entry: Entry, told: str = "") -> Violation:
    """Say that an entry breaks a rule."""
    target = f"{entry.resource} {entry.namespace}/{entry.name}"
    return Violation(kind=kind, at=entry.at, user=entry.user, target=target, told=told)


@dataclass(kw_only=True)
class Report:
    """What an observer has seen.

    Attributes:
        entries: Requests that it looked at.
        writes: Writes of the operators that were stored, by resource, Leases aside.
        refused: Writes of the operators that were refused because something had changed (409).
        rolls: Rolls that were begun.
        takeovers: How often another than before came to hold the Lease.
        late_events: Events of one who did not hold the Lease any more.
        late_writes: Other writes by one whose Lease had run out while it was stopped, and whom
            nobody had followed.
        violations: Rules that were broken.
    """

    entries: int = 0
    writes: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    rolls: int = 0
    takeovers: int = 0
    late_events: int = 0
    late_writes: int = 0
    violations: list[Violation] = field(default_factory=list)
