"""What a person tells of the engine: its release, its own schedule, and further keys of its config.

Which of them a release takes is data of the operator and not of the schema: it is looked at before
a roll, and by `ridgeline lint`.
"""

from itertools import pairwise
from typing import Annotated, Final

from pydantic import Field, StrictInt, StringConstraints

from ridgeline.api import defaults
from ridgeline.api.fields import ApiModel, Concurrency, resolved
from ridgeline.api.rules import AtomicList, ListMap, Rule
from ridgeline.terms.modes import UnverifiedEngine

MAX_ROWS: Final = 16
MAX_EXTRA_KEYS: Final = 8
_INT32: Final = {"format": "int32"}

EngineVersion = Annotated[
    str,
    StringConstraints(
        min_length=3, max_length=32, pattern=r"^v?[0-9]{1,4}[.][0-9]{1,4}([.][0-9A-Za-z+_-]{1,8})*$"
    ),
]
ScheduledLookahead = Annotated[StrictInt, Field(ge=0, le=32, json_schema_extra=_INT32)]
ConfigKey = Annotated[
    str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z][a-z0-9_]*$")
]
ConfigValue = Annotated[
    str, StringConstraints(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9._/:@+=,-]+$")
]
"""As `ModelReference`: the kubelet would expand `$(…)` in an env item's value."""


class ScheduleRow(ApiModel):
    """The lookahead from some number of requests in a step on."""

    from_requests: Concurrency = Field(
        description="Requests in a step from which the row holds, up to the next row."
    )
    num_speculative_tokens: ScheduledLookahead = Field(
        description="Draft tokens per engine step there; 0 drafts nothing and keeps the drafter "
        "loaded."
    )


class ExtraKey(ApiModel):
    """A further key of vLLM's speculative config."""

    key: ConfigKey = Field(description="The key, as vLLM spells it.")
    value: ConfigValue = Field(description="Its value as a text.")


class Engine(ApiModel):
    """What a person tells of the engine's release."""

    version: EngineVersion | None = resolved(
        "Release of vLLM that the target runs, such as 0.24.0, where the image's tag names none.",
        unset_means="as the image's tag tells",
    )
    unverified: UnverifiedEngine = Field(
        default=defaults.UNVERIFIED_ENGINE,
        description="What mode Automatic does on a release of vLLM that this version of the "
        "operator does not know, or that nobody tells. Hold: it recommends. Allow: it acts as on "
        "the newest release before it that it knows.",
    )


Rows = tuple[ScheduleRow, ...]
Extra = tuple[ExtraKey, ...]

_NEIGHBOURS: Final = f"{list(range(1, MAX_ROWS))}.all(i, i >= size(self) || "


def _row_out_of_order(rows: Rows) -> int | None:
    return next(
        (
            after.from_requests
            for before, after in pairwise(rows)
            if after.from_requests <= before.from_requests
        ),
        None,
    )


def _row_that_rises(rows: Rows) -> int | None:
    return next(
        (
            after.num_speculative_tokens
            for before, after in pairwise(rows)
            if after.num_speculative_tokens >= before.num_speculative_tokens
        ),
        None,
    )


SCHEDULE_STARTS_AT_ONE: Final = Rule[Rows](
    cel="self[0].fromRequests == 1",
    message="let the first row hold from 1 request on: fromRequests: 1",
    offence=lambda rows: rows[0].from_requests if rows[0].from_requests != 1 else None,
)

SCHEDULE_ROWS_RISE: Final = Rule[Rows](
    cel=_NEIGHBOURS + "self[i - 1].fromRequests < self[i].fromRequests)",
    message="list the rows from the fewest requests to the most: raise fromRequests above the one "
    "before",
    offence=_row_out_of_order,
)

SCHEDULE_LOOKAHEAD_FALLS: Final = Rule[Rows](
    cel=_NEIGHBOURS + "self[i].numSpeculativeTokens < self[i - 1].numSpeculativeTokens)",
    message="draft fewer tokens in every row than in the one before: more requests leave less idle "
    "compute",
    offence=_row_that_rises,
)

LookaheadSchedule = Annotated[
    Rows,
    Field(min_length=1, max_length=MAX_ROWS),
    AtomicList(),
    SCHEDULE_STARTS_AT_ONE,
    SCHEDULE_ROWS_RISE,
    SCHEDULE_LOOKAHEAD_FALLS,
]

OWN_KEYS: Final = (
    "method",
    "model",
    "num_speculative_tokens",
    "num_speculative_tokens_per_batch_size",
    "prompt_lookup_max",
    "prompt_lookup_min",
)
"""Keys that fields of a profile render."""

EXTRA_KEYS_ARE_NOT_OURS: Final = Rule[Extra](
    cel=f"!self.exists(e, e.key in {list(OWN_KEYS)})",
    message="a field of the profile writes that key (model, numSpeculativeTokens, schedule, "
    "promptLookupMax and so on): set the field",
    offence=lambda extra: next((each.key for each in extra if each.key in OWN_KEYS), None),
)

ExtraKeys = Annotated[
    Extra,
    Field(min_length=1, max_length=MAX_EXTRA_KEYS),
    ListMap("key"),
    EXTRA_KEYS_ARE_NOT_OURS,
]


def schedule_above(rows: Rows | None, lookahead: int | None) -> object | None:
    """Return what in a schedule is more than the profile's own lookahead, `None` when nothing is.

    Args:
        rows: The schedule.
        lookahead: The profile's `numSpeculativeTokens`.
    """
    if rows is None:
        return None
    most = max(row.num_speculative_tokens for row in rows)
    return most if lookahead is None or most > lookahead else None
