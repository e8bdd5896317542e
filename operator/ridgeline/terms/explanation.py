"""The form in which a reason is explained."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a reason means and what a person can do about it."""

    meaning: str
    way_out: str


NOTHING: Final = "Nothing to do."
