"""How sure a cut-off table is of speculation on this hardware."""

from enum import StrEnum


class Verdict(StrEnum):
    """Whether speculation is worth having at all, somewhere in the table."""

    YES = "Yes"
    """It pays below the cut-off; the table may be acted on."""
    NO = "No"
    """It pays at no concurrency; the table has the row without speculation alone."""
    UNDECIDED = "Undecided"
    """It depends on what is not known; the table is a recommendation, never acted on."""
