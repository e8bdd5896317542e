"""Looks on while a fault lasts: how many rolls were under way at once, how few replicas served."""

from __future__ import annotations

import threading
from typing import Final

from tests.faults.day.room import Room
from tests.faults.sight import Sight

_EVERY_S: Final = 0.2


class Witness:
    """Reads the API server past the operator's gateway; use as a context manager.

    Attributes:
        most_at_once: Most targets that were seen with Pods of two templates at one time.
        most_lacking: Most Ready replicas that a target was seen to lack.
        looks: How often it looked.
    """

    def __init__(self, room: Room) -> None:
        self.most_at_once = 0
        self.most_lacking = 0
        self.looks = 0
        self._room = room
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=30)

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            seen = self._room.look()
            if not seen:
                continue
            self.looks += 1
            under_way = sum(1 for each in seen.values() if rolls(each))
            self.most_at_once = max(self.most_at_once, under_way)
            lacking = (each.wanted - len(each.serving_pods) for each in seen.values())
            self.most_lacking = max(self.most_lacking, *lacking)


def rolls(sight: Sight) -> bool:
    """Whether a rolling update of the target has begun and not ended, by the Deployment alone."""
    status = sight.target.get("status") or {}
    behind = status.get("observedGeneration", 0) < sight.target["metadata"]["generation"]
    return behind or sight.updated < sight.wanted or status.get("replicas", 0) > sight.wanted
