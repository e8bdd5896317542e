"""Pure: engines that are scraped too seldom for the rate window, so that this is said.

A rate needs two samples in the window. An engine with one has an age and nothing else: its series
began just now, or the store scrapes more rarely than every half window, or hardly more often.
"""

from collections.abc import Mapping
from typing import Final

from ridgeline.telemetry.parse import SignalTable
from ridgeline.telemetry.queries import FAST

SCRAPES_PER_WINDOW: Final = 4
"""How many scrapes a window should hold: one or two that fail leave the rates standing."""

_AGE: Final = "sample_age"


def sparse_remarks(fast: Mapping[str, SignalTable], window_seconds: float) -> tuple[str, ...]:
    """A remark when engines have samples and no rate; none when every engine has one.

    Args:
        fast: A table for each name of `FAST`, all of one evaluation time.
        window_seconds: Rate window.
    """
    known = [name for name in FAST if name != _AGE]
    lone = set(fast[_AGE].values)
    for name in known:
        lone -= fast[name].values.keys() | fast[name].not_finite | fast[name].ambiguous
    if not lone:
        return ()
    first = min(lone)
    return (
        f"some engines have fewer than two samples in the rate window of {window_seconds:g} s "
        f"(the first is {first.namespace}/{first.pod} engine {first.engine}), so no rates: unless "
        f"they are new, scrape at least every {window_seconds / SCRAPES_PER_WINDOW:g} s, or raise "
        "rateWindowSeconds",
    )
