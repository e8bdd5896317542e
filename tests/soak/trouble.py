"""What goes wrong between an operator process and the API server, one strike at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Harm(StrEnum):
    """What becomes of a call."""

    TOO_MANY = "429 Too Many Requests"
    BROKEN = "500 Internal Server Error"
    RESET = "connection reset"
    TIMEOUT = "no answer in time"
    LATE = "no answer in time, and it lands later"
    GARBAGE = "answered by a proxy's page"
    KILLED = "the operator is killed"
    LEASE_LOST = "the Lease is lost"
    INTERRUPTED = "somebody else writes in between"
    SLOW = "the answer is slow"


HTTP: Final = {Harm.TOO_MANY: 429, Harm.BROKEN: 500}

LATE_SECONDS: Final = 20.0
"""A call without an answer may still be carried out by the API server so much later."""

SLOW_SECONDS: Final = 8.0
"""How long a slow call takes, before it is carried out; the operator would wait for 10."""


@dataclass(slots=True, kw_only=True)
class Strike:
    """One thing that goes wrong.

    Attributes:
        harm: What.
        kind: Kind of request that it strikes; empty for any.
        skip: So many such requests pass before it strikes.
        after: Whether the request has its effect before.
        times: How many requests it strikes.
        meanwhile: What somebody else does in that moment.
    """

    harm: Harm
    kind: str = ""
    skip: int = 0
    after: bool = False
    times: int = 1
    meanwhile: Callable[[], None] = lambda: None


class Trouble:
    """The strikes that wait for one operator process."""

    def __init__(self) -> None:
        self._waiting: list[Strike] = []

    def expect(self, strike: Strike) -> None:
        """Let a strike wait for its request."""
        self._waiting.append(strike)

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self._waiting.clear()

    def of(self, kind: str) -> Strike | None:
        """Return what strikes a request of a kind that is made now."""
        for strike in self._waiting:
            if strike.kind not in ("", kind):
                continue
            if strike.skip > 0:
                strike.skip -= 1
                continue
            strike.times -= 1
            if strike.times <= 0:
                self._waiting.remove(strike)
            return strike
        return None
