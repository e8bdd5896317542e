"""Schedules: windows of time, and what each asks for."""

import re
from typing import Annotated, ClassVar, Final

from pydantic import Field, StrictInt, StringConstraints

from ridgeline.api.fields import ApiModel, Bool, DnsLabel, resolved
from ridgeline.api.rules import AtomicList, Rule
from ridgeline.terms.schedules import Crowd, ScheduleAction, SwitchOn

MAX_SCHEDULES: Final = 16

TIME_ZONE: Final = "UTC"
"""Time zone of a schedule that names none."""

_MONTHS: Final = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
_DAYS: Final = "SUN|MON|TUE|WED|THU|FRI|SAT"


def _field(value: str, *alone: str) -> str:
    """Return the pattern of a cron field: a list of values, ranges and steps.

    Args:
        value: Pattern of one value.
        alone: Patterns of what is no part of a range and takes no step.
    """
    spread = rf"([*]|({value})(-({value}))?)(/0*[1-9][0-9]*)?"
    item = "(" + "|".join([spread, *alone]) + ")"
    return f"{item}(,{item})*"


CRON_PATTERN: Final = (
    "(?i)^"
    + " +".join(
        [
            _field("[0-5]?[0-9]"),
            _field("[01]?[0-9]|2[0-3]"),
            _field("0?[1-9]|[12][0-9]|3[01]", "L", "LW"),
            _field(f"0?[1-9]|1[0-2]|{_MONTHS}"),
            _field(f"[0-7]|{_DAYS}", f"([0-7]|{_DAYS})#[1-5]", "[0-7]L"),
        ]
    )
    + "$"
)
"""Five fields as cronsim reads them. What a pattern cannot tell (a range that runs backwards, a day
that no month has) is found when the schedule is read."""

_CRON: Final = re.compile(CRON_PATTERN.removesuffix("$") + r"\Z", re.ASCII)

CRON_HAS_FIVE_FIELDS: Final = Rule[str](
    cel=f"self.matches('{CRON_PATTERN}')",
    message="write the five fields of cron: minute, hour, day of month, month and day of week, "
    "such as 0 8 * * MON-FRI (no seconds, no @daily)",
    offence=lambda cron: None if _CRON.match(cron) else cron,
)

Cron = Annotated[str, StringConstraints(min_length=9, max_length=128), CRON_HAS_FIVE_FIELDS]

WindowSeconds = Annotated[
    StrictInt, Field(ge=60, le=604_800, json_schema_extra={"format": "int32"})
]

TimeZone = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$"
    ),
]


def _actions_offence(schedule: "Schedule") -> str | None:
    return None if len(schedule.actions) == 1 else schedule.name


class Schedule(ApiModel):
    """A window of time that comes again, and the one thing that it asks for."""

    name: DnsLabel = Field(description="Name of the schedule, for status and messages.")
    cron: Cron = Field(
        description="When a window begins, in the five fields of cron (minute, hour, day of month, "
        "month, day of week), on the clock of timeZone."
    )
    duration_seconds: WindowSeconds = Field(
        description="How long a window lasts, in seconds that pass, also where clocks change. One "
        "that lasts until the next begins never ends."
    )
    time_zone: TimeZone | None = resolved(
        "Time zone of cron, by its name in the IANA database, such as Europe/Berlin.",
        unset_means=TIME_ZONE,
    )
    profile: DnsLabel | None = Field(
        default=None,
        description="Profile that is wanted in the window, and for as long before it as a roll "
        "takes. The operator leaves it where the load or the checks of a roll say so.",
    )
    switch_on: SwitchOn | None = Field(
        default=None,
        description="Forbidden: in the window nothing is rolled to a range for less concurrency.",
    )
    freeze: Bool | None = Field(
        default=None,
        description="true: no roll is begun in the window. A roll that is under way goes on, and "
        "an order by annotation is obeyed.",
    )
    crowd: Crowd | None = Field(
        default=None,
        description="Short: the load in the window passes sooner than a roll would pay. A "
        "saturated target is not rolled in it where the roll would take capacity away.",
    )

    @property
    def actions(self) -> tuple[ScheduleAction, ...]:
        """What the window asks for; exactly one in a schedule that was accepted."""
        asked = (
            (ScheduleAction.FREEZE, bool(self.freeze)),
            (ScheduleAction.FORBID_SWITCH_ON, self.switch_on is not None),
            (ScheduleAction.PROFILE, self.profile is not None),
            (ScheduleAction.SHORT_CROWD, self.crowd is not None),
        )
        return tuple(action for action, is_asked in asked if is_asked)

    @property
    def resolved_time_zone(self) -> str:
        """The time zone with the default put in."""
        return self.time_zone or TIME_ZONE

    RULES: ClassVar = (
        Rule["Schedule"](
            cel="[has(self.profile), has(self.switchOn), has(self.freeze) && self.freeze, "
            "has(self.crowd)].filter(asked, asked).size() == 1",
            message="a schedule asks for one thing: set one of profile, switchOn: Forbidden, "
            "freeze: true and crowd: Short, and write another schedule for another",
            offence=_actions_offence,
        ),
    )


def _name_twice(schedules: tuple[Schedule, ...]) -> str | None:
    names = [schedule.name for schedule in schedules]
    return next((name for name in names if names.count(name) > 1), None)


NAMES_DIFFER: Final = Rule[tuple[Schedule, ...]](
    cel="self.all(s, self.exists_one(t, t.name == s.name))",
    message="two schedules share a name: give every schedule its own",
    offence=_name_twice,
)

Schedules = Annotated[
    tuple[Schedule, ...], Field(max_length=MAX_SCHEDULES), AtomicList(), NAMES_DIFFER
]
"""In the order of a person: of two windows that name a profile the first in the list wins."""
