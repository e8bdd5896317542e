"""Which draft positions pay, and up to how many requests: read off the best lookahead.

Position i pays from one request on for as long as the best lookahead is at least i; where it would
pay again with still more requests (above the captured size) it is not told. Unlike the heuristic of
the same name this counts what drafting costs, and what a drafter costs that is loaded and idle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from ridgeline.costmodel.lookahead import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One draft position.

    Attributes:
        number: 1 for the first draft of a step.
        up_to: Most requests in a step up to which it pays; 0 where it does not pay at one.
        always: Whether that is the most that the engine admits.
    """

    number: int
    up_to: int
    always: bool


def positions(tiers: Sequence[Tier], lookahead: int) -> tuple[Position, ...]:
    """Return each position of a profile.

    Args:
        tiers: The best lookahead by requests in a step, without gaps from 1 up.
        lookahead: Positions that the profile drafts.
    """
    most = tiers[-1].last if tiers else 0
    found = []
    for number in range(1, lookahead + 1):
        up_to = _paying_up_to(tiers, number)
        found.append(Position(number=number, up_to=up_to, always=0 < up_to == most))
    return tuple(found)


def _paying_up_to(tiers: Sequence[Tier], number: int) -> int:
    paying = takewhile(lambda each: each.lookahead >= number, tiers)
    return max((each.last for each in paying), default=0)


def told(found: Sequence[Position]) -> str:
    """Return the positions in words for a person, with the requests in a step up to which."""
    groups: list[tuple[list[int], str]] = []
    for each in found:
        if each.up_to == 0:
            how = "nowhere"
        elif each.always:
            how = "at any load"
        else:
            how = f"up to {each.up_to}"
        if groups and groups[-1][1] == how:
            groups[-1][0].append(each.number)
        else:
            groups.append(([each.number], how))
    return "; ".join(f"{_numbers(numbers)} {how}" for numbers, how in groups)


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{numbers[0]}"
    return f"{numbers[0]} to {numbers[-1]}"
