"""Edits of a good serving in what it says of the engine: schedules and further keys."""

from typing import Any

from ridgeline.api import engine_settings, profiles
from tests.unit.api.bodies import Case, at

SCHEDULE_WITHIN_LOOKAHEAD = profiles.Profile.RULES[5]
DISABLED_IS_BARE = profiles.Profile.RULES[-1]
SCHEDULE = "spec.profiles[0].schedule"
EXTRA = "spec.profiles[0].extra"


def rows(*told: tuple[int, int]) -> list[dict[str, int]]:
    """Return schedule rows of fromRequests and numSpeculativeTokens."""
    return [{"fromRequests": first, "numSpeculativeTokens": k} for first, k in told]


def keys(*told: tuple[str, str]) -> list[dict[str, str]]:
    """Return extra keys."""
    return [{"key": key, "value": value} for key, value in told]


def schedule(*told: tuple[int, int]) -> Any:
    return at("profiles", 0, "schedule", value=rows(*told))


BROKEN = (
    Case(
        "schedule not from one request on",
        schedule((2, 4), (9, 0)),
        SCHEDULE,
        engine_settings.SCHEDULE_STARTS_AT_ONE,
    ),
    Case(
        "schedule rows out of order",
        schedule((1, 4), (9, 2), (9, 0)),
        SCHEDULE,
        engine_settings.SCHEDULE_ROWS_RISE,
    ),
    Case(
        "schedule that drafts more for more requests",
        schedule((1, 2), (9, 4)),
        SCHEDULE,
        engine_settings.SCHEDULE_LOOKAHEAD_FALLS,
    ),
    Case(
        "schedule with two rows alike",
        schedule((1, 2), (9, 2)),
        SCHEDULE,
        engine_settings.SCHEDULE_LOOKAHEAD_FALLS,
    ),
    Case(
        "schedule above the lookahead",
        schedule((1, 5), (9, 0)),
        SCHEDULE,
        SCHEDULE_WITHIN_LOOKAHEAD,
    ),
    Case(
        "extra key of a field",
        at("profiles", 0, "extra", value=keys(("model", "a/b"))),
        EXTRA,
        engine_settings.EXTRA_KEYS_ARE_NOT_OURS,
    ),
    Case(
        "Disabled with a further key",
        at("profiles", 2, "extra", value=keys(("quantization", "fp8"))),
        "spec.profiles[2]",
        DISABLED_IS_BARE,
    ),
)

MORE = (
    Case(
        "Disabled with a schedule",
        at("profiles", 2, "schedule", value=rows((1, 0))),
        "spec.profiles[2].schedule",
        SCHEDULE_WITHIN_LOOKAHEAD,
    ),
)

KEPT = (
    Case("a schedule", schedule((1, 4), (17, 2), (65, 0))),
    Case("a schedule of one row", schedule((1, 3))),
    Case("further keys", at("profiles", 0, "extra", value=keys(("quantization", "fp8")))),
    Case(
        "two profiles that differ in the schedule",
        at(
            "profiles",
            1,
            value={
                "name": "ngram",
                "method": "Eagle",
                "model": "org/head",
                "numSpeculativeTokens": 4,
                "schedule": rows((1, 4), (65, 0)),
            },
        ),
    ),
    Case(
        "two profiles that differ in a further key",
        at(
            "profiles",
            1,
            value={
                "name": "ngram",
                "method": "Eagle",
                "model": "org/head",
                "numSpeculativeTokens": 4,
                "extra": keys(("revision", "main")),
            },
        ),
    ),
    Case(
        "an engine's release",
        at("engine", value={"version": "v0.24.0", "unverified": "Allow"}),
    ),
)

OUT_OF_BOUNDS = (
    *(
        Case(
            f"version {version!r}",
            at("engine", "version", value=version),
            "spec.engine.version",
        )
        for version in ("latest", "24", "0.24.0 or so", 0.24)
    ),
    Case(
        "a row that drafts 33",
        schedule((1, 33), (9, 0)),
        f"{SCHEDULE}[0].numSpeculativeTokens",
    ),
    Case("a row from 0 requests", schedule((0, 4), (9, 0)), f"{SCHEDULE}[0].fromRequests"),
    Case("a schedule without rows", schedule(), SCHEDULE),
    Case(
        "a value that the kubelet would expand",
        at("profiles", 0, "extra", value=keys(("revision", "$(TOKEN)"), ("quantization", "fp8"))),
        f"{EXTRA}[0].value",
    ),
    Case(
        "a key that is none",
        at("profiles", 0, "extra", value=keys(("Re-vision", "main"), ("quantization", "fp8"))),
        f"{EXTRA}[0].key",
    ),
)
