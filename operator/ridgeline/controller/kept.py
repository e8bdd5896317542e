"""What passes over a serving worked out and need not work out anew while nothing of it changes.

A thousand servings are looked at in every tick, and nearly all that they rest on (specs, policies,
Deployments, nodes, what was learned) is the same as in the tick before. An answer is kept with
everything that it was the answer to, so whatever is edited, it is worked out anew: it is never
told to forget for that.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from ridgeline.cluster.store import Key

T = TypeVar("T")


class Part(StrEnum):
    """Parts of a pass that are kept."""

    SPEC = "spec"
    PROFILES = "profiles"
    MEMORY = "memory"
    ROLL = "roll"
    TARGET = "target"
    BASIS = "basis"
    SETTINGS = "settings"
    ENGINE = "engine"
    ANSWER = "answer"
    SCHEDULES = "schedules"


class Kept:
    """The last answer of each part, by serving.

    Args:
        remember: Whether anything is kept; without, every answer is worked out anew.
    """

    def __init__(self, *, remember: bool = True) -> None:
        self._remember = remember
        self._answers: dict[Key, dict[Part, tuple[tuple[object, ...], Any]]] = {}

    def of(self, key: Key, part: Part, asked: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return an answer, worked out when the question is another than the one before.

        Args:
            key: The serving.
            part: What is asked for.
            asked: All that the answer depends on; what is the same object is found the same
                without a look into it.
            work: Works it out; what it raises is not kept.
        """
        parts = self._answers.get(key)
        if parts is None:
            parts = self._answers[key] = {}
        before = parts.get(part)
        if before is not None and before[0] == asked:
            found: T = before[1]
            return found
        answer = work()
        if self._remember:
            parts[part] = (asked, answer)
        return answer

    def forget(self, key: Key) -> None:
        """Drop what is kept of a serving that is gone."""
        self._answers.pop(key, None)
