"""What the cost model answers when a fact is missing: a value, never an exception or a guess."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotSay:
    """A prediction that could not be made.

    Attributes:
        reason: What is missing or does not add up, as a sentence for a person.
        way_out: What would make it known.
        impossible: Whether the profile could not run at all, so that nothing is lost without it.
    """

    reason: str
    way_out: str
    impossible: bool = False

    def __str__(self) -> str:
        """Return both as one sentence."""
        return f"{self.reason}: {self.way_out}"
