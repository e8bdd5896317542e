"""Where a roll stands."""

from enum import StrEnum


class RollState(StrEnum):
    """States of the latest roll of a target, as status shows them."""

    INTENDED = "Intended"
    """Announced in status; the target may or may not have been written."""
    ROLLING = "Rolling"
    """The target carries the profile; its replicas are being replaced."""
    FINISHED = "Finished"
    """Every replica runs the profile."""
    ABANDONED = "Abandoned"
    """Announced and not begun: the target had changed, or too much time had passed."""
    UNDONE = "Undone"
    """Somebody else took the profile out of the target."""
