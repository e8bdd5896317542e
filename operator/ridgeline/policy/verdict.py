"""What one check says: go on, or hold, and the numbers it looked at either way."""

from dataclasses import dataclass
from typing import Final

from ridgeline.policy.comparison import Comparison
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Why nothing may be changed now.

    Attributes:
        reason: The name of the situation.
        message: One sentence for a person: what was seen, and what to do where something can be.
    """

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer of one check; `hold` is `None` when the check lets the decision go on."""

    hold: Hold | None = None
    comparisons: tuple[Comparison, ...] = ()


PASSED: Final = Verdict()
"""Nothing to say, nothing compared."""


def held(reason: Reason, message: str, *comparisons: Comparison) -> Verdict:
    """Return a verdict that holds."""
    return Verdict(hold=Hold(reason=reason, message=message), comparisons=comparisons)


def passed(*comparisons: Comparison) -> Verdict:
    """Return a verdict that lets the decision go on, with what was compared."""
    return Verdict(comparisons=comparisons)


def at_least(name: str, value: float, limit: float, *, met: str, missed: str) -> Comparison:
    """Compare `value >= limit` and say what follows from it."""
    enough = value >= limit
    return Comparison(
        name=name,
        value=value,
        relation=">=" if enough else "<",
        limit=limit,
        consequence=met if enough else missed,
    )


def at_most(name: str, value: float, limit: float, *, met: str, missed: str) -> Comparison:
    """Compare `value <= limit` and say what follows from it."""
    within = value <= limit
    return Comparison(
        name=name,
        value=value,
        relation="<=" if within else ">",
        limit=limit,
        consequence=met if within else missed,
    )
