"""What the control law remembers in status, so that a restart forgets nothing that matters."""

from typing import Annotated, Final

from pydantic import Field, StrictInt

from ridgeline.api.fields import ApiModel, Count, DnsLabel, Timestamp
from ridgeline.api.profiles import MAX_PROFILES
from ridgeline.api.rules import AtomicList

MAX_DAYS: Final = 8
MAX_SLOTS: Final = 11

Milli = Annotated[StrictInt, Field(ge=0, le=10**15, json_schema_extra={"format": "int64"})]
"""Thousandths of tokens per second and engine, or of requests per engine; four digits of it."""

Day = Annotated[StrictInt, Field(ge=0, le=10_000_000, json_schema_extra={"format": "int32"})]


class PeakDay(ApiModel):
    """The highest demand of one day."""

    day: Day = Field(description="Days since 1970-01-01, UTC.")
    slots: Count = Field(description="Slots of five minutes that were seen.")
    highest_demand_milli: Annotated[
        tuple[Milli, ...], Field(max_length=MAX_SLOTS), AtomicList()
    ] = Field(
        default=(),
        description="Demand of the highest slots in thousandths of tokens per second and engine, "
        "falling: the "
        "first eleven of the newest day, the 1st, 4th and 11th of a day before.",
    )


class PeakStatus(ApiModel):
    """The demand of the last week."""

    first_day: Day | None = Field(
        default=None, description="First day that was ever seen; a peak is told after a week."
    )
    days: Annotated[tuple[PeakDay, ...], Field(max_length=MAX_DAYS), AtomicList()] = Field(
        default=(), description="The days seen, from the oldest."
    )


class TurnStatus(ApiModel):
    """The last change of profile, with the load that led to it."""

    time: Timestamp = Field(description="When the target was first seen to carry the new profile.")
    from_profile: DnsLabel = Field(alias="from", description="Profile before.")
    to_profile: DnsLabel = Field(alias="to", description="Profile after.")
    demand_milli: Milli = Field(description="Thousandths of tokens per second and engine.")
    concurrency_milli: Milli = Field(description="Thousandths of requests in decode per engine.")


class BorderLesson(ApiModel):
    """What experience taught of the border between two profiles."""

    quieter: DnsLabel = Field(description="Profile below the border.")
    busier: DnsLabel = Field(description="Profile above it.")
    time: Timestamp = Field(description="When it was learned; it fades from then on.")
    off_demand_milli: Milli | None = Field(
        default=None,
        description="Leave upwards at this demand at the latest, in thousandths of tokens per "
        "second and engine.",
    )
    on_demand_milli: Milli | None = Field(
        default=None,
        description="Come back below this demand only, in thousandths of tokens per second and "
        "engine.",
    )
    on_concurrency_milli: Milli | None = Field(
        default=None,
        description="Come back below this concurrency only, in thousandths of requests per engine.",
    )


class StartTime(ApiModel):
    """How long a replica takes to start."""

    profile: DnsLabel = Field(description="Profile that it starts with.")
    seconds: Count = Field(description="From the new Pod template to Ready, in a roll.")


class ControlStatus(ApiModel):
    """What the control law remembers."""

    modes: Annotated[
        tuple[Annotated[str, Field(max_length=32)], ...],
        Field(max_length=MAX_PROFILES),
        AtomicList(),
    ] = Field(
        default=(),
        description="For each border of the cut-off table: Insured (left before the week's peak "
        "passes it) or Regret (left for what staying has cost).",
    )
    running: DnsLabel | None = Field(default=None, description="Profile that was last seen.")
    turn: TurnStatus | None = Field(default=None, description="The last change of profile.")
    lessons: Annotated[tuple[BorderLesson, ...], Field(max_length=MAX_PROFILES), AtomicList()] = (
        Field(default=(), description="What saturation and opposite decisions taught.")
    )
    locked_until: Timestamp | None = Field(
        default=None,
        description="Until when switching on is locked, after opposite decisions at one load.",
    )
    starts: Annotated[tuple[StartTime, ...], Field(max_length=MAX_PROFILES), AtomicList()] = Field(
        default=(), description="How long replicas take to start, by profile."
    )
    roll_seen: Timestamp | None = Field(
        default=None, description="Begin of the last roll that start times were learned from."
    )
    peak: PeakStatus | None = Field(default=None, description="The demand of the last week.")
