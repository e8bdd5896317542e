"""The law's own words: why it wishes what it wishes, by which rule, and in which direction."""

from enum import StrEnum


class LawReason(StrEnum):
    """One name per situation."""

    # A move that may be made now.
    DEMAND_ABOVE_OFF = "DemandAboveOff"
    """Demand stayed above the act-at demand of the border."""
    CONCURRENCY_ABOVE_OFF = "ConcurrencyAboveOff"
    """Concurrency stayed above its act-at value although demand did not."""
    SATURATED = "Saturated"
    """Requests wait for capacity, or lose their place."""
    ALL_QUIET = "AllQuiet"
    """Demand and concurrency stayed low, and nothing waits."""
    REGRET = "Regret"
    """Staying has cost more than half of what a roll costs."""
    SCHEDULED = "Scheduled"
    """A schedule names the profile."""
    # A move that is wished and not made now.
    DWELLING = "Dwelling"
    """It has not lasted yet."""
    LOCKED = "Locked"
    """The same load led to the opposite decision a short while ago."""
    COOLDOWN = "Cooldown"
    """The last roll ended too short a while ago to switch on."""
    BUDGET_SPENT = "BudgetSpent"
    """The day's switches are used, or the last one is kept for switching off."""
    PARTIAL_DATA = "PartialData"
    """Switching on needs every replica in sight."""
    SCHEDULE_FORBIDS = "ScheduleForbids"
    """A schedule forbids switching on, or names a busier profile."""
    ROLL_WOULD_SATURATE = "RollWouldSaturate"
    """Some phase of the roll could not carry the demand."""
    TOO_SMALL_TO_ROLL = "TooSmallToRoll"
    """So few replicas, and no surge, that hardly any demand could be carried during a roll."""
    # No move is wished.
    STAYS = "Stays"
    """The running profile is right."""
    ROLLING = "Rolling"
    """A roll is under way: its own effect on the signals is no evidence."""
    SETTLING = "Settling"
    """A roll has just ended."""
    BLIND = "Blind"
    """Too little is seen."""
    NO_CURVE = "NoCurve"
    """The running profile has no curve."""


class LawMode(StrEnum):
    """By which rule a border is crossed."""

    INSURED = "Insured"
    """The peak will pass the cut-off: leave before it, while a roll is still safe."""
    REGRET = "Regret"
    """The peak is not known to: move only for what staying has cost already."""


class Direction(StrEnum):
    """Which way a move goes in the order of profiles."""

    BUSIER = "Busier"
    """Towards a profile for more demand: towards no speculation."""
    QUIETER = "Quieter"
    """Towards more speculation."""


class Preference(StrEnum):
    """What comes next once the latency limit holds."""

    LATENCY = "Latency"
    """Speculate as long as the expected peak allows it."""
    THROUGHPUT = "Throughput"
    """Always keep the capacity for a peak: every border is insured."""
