"""Edits of the schedules and the objective of a good serving."""

from typing import Any

from ridgeline.api import schedules, spec
from tests.unit.api.bodies import Case, Spec, at

(ONE_ACTION,) = schedules.Schedule.RULES
FIRST = "spec.schedules[0]"
HOUR = {"name": "rush", "cron": "0 12 * * *", "durationSeconds": 3600}


def cron(text: str) -> Any:
    return at("schedules", 0, "cron", value=text)


def asks(*things: str) -> Any:
    """Return an edit that makes the first schedule ask for these things and no others."""
    values = {"profile": "none", "switchOn": "Forbidden", "freeze": True, "crowd": "Short"}

    def edit(spec_: Spec) -> None:
        del spec_["schedules"][0]["profile"]
        spec_["schedules"][0].update({thing: values[thing] for thing in things})

    return edit


GROSS_ERRORS = (
    "0 8 * * * *",
    "0 0 8 * * MON",
    "@daily --- ",
    "60 8 * * *",
    "0 24 * * *",
    "0 8 0 * *",
    "0 8 32 * *",
    "0 8 * 13 *",
    "0 8 * * 8",
    "0 8 * * MO",
    "0 8 * * MON#6",
    "0 8 * * L",
    "*/0 8 * * *",
    "0 8 * * MON,",
    "0 8- * * *",
    "0 8 * * ?",
    "0 8 * * *\n",
    "0 8 ** * *",
)
GOOD_CRONS = (
    "0 8 * * *",
    "*/15 8-18 1,15 JAN-MAR mon-fri",
    "00 08 LW 2/3 7",
    "5/10 0-23/2 L * 5L",
    "0  8 * * MON#1,FRI#2",
)

BROKEN = (
    *(
        Case(f"cron {text!r}", cron(text), f"{FIRST}.cron", schedules.CRON_HAS_FIVE_FIELDS)
        for text in GROSS_ERRORS
    ),
    *(
        Case(f"a schedule that asks for {things}", asks(*things), FIRST, ONE_ACTION)
        for things in ((), ("profile", "freeze"), ("switchOn", "crowd"), ("freeze", "crowd"))
    ),
    Case(
        "a freeze that is none",
        at("schedules", 1, "freeze", value=False),
        "spec.schedules[1]",
        ONE_ACTION,
    ),
    Case(
        "two schedules of one name",
        at("schedules", 1, "name", value="office-hours"),
        "spec.schedules",
        schedules.NAMES_DIFFER,
    ),
    Case(
        "a schedule of an unknown profile",
        at("schedules", 0, "profile", value="medusa"),
        "spec.schedules",
        spec.SCHEDULES_NAME_PROFILES,
    ),
)

KEPT = (
    *(Case(f"cron {text!r}", cron(text)) for text in GOOD_CRONS),
    *(
        Case(f"a schedule that asks for {thing}", asks(thing))
        for thing in ("profile", "switchOn", "freeze", "crowd")
    ),
    Case(
        "a profile and no freeze",
        at("schedules", 0, "freeze", value=False),
    ),
    Case("no schedules", at("schedules", value=[])),
    Case(
        "sixteen schedules",
        at("schedules", value=[{**HOUR, "name": f"s{n}", "crowd": "Short"} for n in range(16)]),
    ),
    Case("an objective that says nothing", at("objective", value={})),
    Case("a limit alone", at("objective", value={"p99TPOTMilliseconds": 1})),
)

OUT_OF_BOUNDS = (
    Case(
        "seventeen schedules",
        at("schedules", value=[{**HOUR, "name": f"s{n}", "crowd": "Short"} for n in range(17)]),
        "spec.schedules",
    ),
    *(
        Case(
            f"a window of {seconds} s",
            at("schedules", 0, "durationSeconds", value=seconds),
            f"{FIRST}.durationSeconds",
        )
        for seconds in (59, 604_801, "10h", 60.5)
    ),
    Case("a cron too long", cron("0,1,2,3,4,5,6,7,8,9," * 7 + "0 8 * * *"), f"{FIRST}.cron"),
    *(
        Case(
            f"time zone {zone!r}",
            at("schedules", 0, "timeZone", value=zone),
            f"{FIRST}.timeZone",
        )
        for zone in ("", "+01:00", "../etc/passwd", "Europe/Berlin ")
    ),
    Case(
        "switching on as asked",
        at("schedules", 0, "switchOn", value="Allowed"),
        f"{FIRST}.switchOn",
    ),
    Case("a long crowd", at("schedules", 0, "crowd", value="Long"), f"{FIRST}.crowd"),
    Case("freeze as a word", at("schedules", 1, "freeze", value="yes"), "spec.schedules[1].freeze"),
    Case("a schedule without a cron", lambda s: s["schedules"][0].pop("cron"), f"{FIRST}.cron"),
    Case(
        "no limit",
        at("objective", "p99TPOTMilliseconds", value=0),
        "spec.objective.p99TPOTMilliseconds",
    ),
    Case("an unknown preference", at("objective", "prefer", value="Cost"), "spec.objective.prefer"),
)
