"""Entries of a log in the order in which the store took them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.leaders.audit import Entry

PATIENCE_S = 3.0
"""An entry that is told later than this after a later one is out of order; the log is that late
where many requests are answered at once."""


class StoreOrder:
    """Sorts what comes in, by the revision at which it was stored.

    A log tells requests when they have been answered, and two that are answered at the same time in
    any order. What stored nothing is placed by the time of its answer.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._waiting: list[Entry] = []
        self._newest = float("-inf")
        self._revision = 0

    def add(self, entries: Iterable[Entry]) -> list[Entry]:
        """Take entries in; return those that nothing can come before any more."""
        self._waiting += entries
        self._newest = max([self._newest, *(each.done for each in self._waiting)])
        return self._until(self._newest - self._patience_s)

    def rest(self) -> list[Entry]:
        """Return all that still wait."""
        return self._until(float("inf"))

    def _until(self, time: float) -> list[Entry]:
        due = sorted(
            (each for each in self._waiting if each.done <= time), key=lambda one: one.done
        )
        self._waiting = [each for each in self._waiting if each.done > time]
        placed = []
        for entry in due:
            version = entry.version
            self._revision = max(self._revision, version or 0)
            placed.append((version or self._revision, entry))
        return [entry for _, entry in sorted(placed, key=lambda one: one[0])]
