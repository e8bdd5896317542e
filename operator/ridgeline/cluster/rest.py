"""How long the API server asked to be left alone (429 or 503 with `Retry-After`).

Its priority and fairness turns calls away when a client has too many in its queue. Whoever goes on
asking then takes places from others, so one answer of this kind holds for all calls of the
connection.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

ASKED_BY: Final = frozenset({429, 503})
"""Statuses with which a server asks for a rest."""

USUAL_SECONDS: Final = 1.0
"""A rest of which the length cannot be read; the API server itself asks for so long."""

LONGEST_SECONDS: Final = 60.0
"""No server is left alone for longer, whatever it asks for."""


class Rest:
    """Remembers until when nothing is to be asked."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until = 0.0

    @property
    def seconds_left(self) -> float:
        """Seconds in which nothing is to be asked; 0 when there are none."""
        return max(0.0, self._until - self._clock())

    def heard(self, status: int, retry_after: str | None) -> None:
        """Take note of an answer.

        Args:
            status: Its HTTP status.
            retry_after: Its header `Retry-After`; `None` without one: nothing is asked for then.
        """
        if status in ASKED_BY and retry_after is not None:
            self._until = max(self._until, self._clock() + _seconds(retry_after))


def _seconds(text: str) -> float:
    """Return the length of a rest; a date in place of seconds is no use without its clock."""
    told = text.strip()
    if not (told.isascii() and told.isdigit()):
        return USUAL_SECONDS
    return min(LONGEST_SECONDS, float(told[:6]))
