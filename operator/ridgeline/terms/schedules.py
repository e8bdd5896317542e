"""Words of schedules: what a window asks for."""

from enum import StrEnum


class SwitchOn(StrEnum):
    """What a window says about moves towards more speculation."""

    FORBIDDEN = "Forbidden"


class Crowd(StrEnum):
    """What a window says about the load in it."""

    SHORT = "Short"


class ScheduleAction(StrEnum):
    """What a window does, from the strongest to the weakest."""

    FREEZE = "Freeze"
    """Nothing is rolled."""
    FORBID_SWITCH_ON = "ForbidSwitchOn"
    """Nothing is rolled towards more speculation."""
    PROFILE = "Profile"
    """A profile is wanted."""
    SHORT_CROWD = "ShortCrowd"
    """The load is high for a time that a roll would not be worth."""
