"""A profile's schedule and extra keys → what the engine's speculative config holds."""

import re
from itertools import pairwise
from typing import Final

from ridgeline.api.engine_settings import ExtraKey, ScheduleRow
from ridgeline.engine.speculative_config import Scalar
from ridgeline.engine.speculative_config import ScheduleRow as ConfigRow

LAST_REQUESTS: Final = 1024
"""End of a schedule's last row where that begins earlier. What lies behind the last row takes its
lookahead anyway (vLLM `v1/spec_decode/dynamic/utils.py`); the end shows a reader that it does."""

_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{1,15}")


def schedule_rows(rows: tuple[ScheduleRow, ...] | None) -> tuple[ConfigRow, ...] | None:
    """Return a schedule as rows of first, last and lookahead, without gaps; `None` for none."""
    if rows is None:
        return None
    last = rows[-1]
    return (
        *(
            (row.from_requests, after.from_requests - 1, row.num_speculative_tokens)
            for row, after in pairwise(rows)
        ),
        (
            last.from_requests,
            max(last.from_requests, LAST_REQUESTS),
            last.num_speculative_tokens,
        ),
    )


def extra_values(extra: tuple[ExtraKey, ...] | None) -> tuple[tuple[str, Scalar], ...]:
    """Return extra keys with their values as JSON means them, by key."""
    return tuple(sorted((each.key, _value(each.value)) for each in extra or ()))


def _value(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
