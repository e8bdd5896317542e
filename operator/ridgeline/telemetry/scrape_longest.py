"""Pure: the longest answers of the last hour of one process, from one scrape to the next."""

from collections import deque
from typing import Final, NamedTuple

from ridgeline.telemetry.arithmetic import longest_answer
from ridgeline.telemetry.scrape_page import Histogram
from ridgeline.telemetry.scrape_quantile import quantile_of

HOUR_SECONDS: Final = 3600.0


class _Longest(NamedTuple):
    at: float
    bound: float
    beyond: bool

    @property
    def length(self) -> tuple[float, bool]:
        """What orders answers by their time: above the highest bound comes after it."""
        return self.bound, self.beyond


class LongestAnswers:
    """Keeps the longest answers of the last hour, and each of the later ones that may follow.

    What the first page of a process has counted is taken for new, since nobody knows when it was:
    for an hour the longest answer since the process's start counts.
    """

    def __init__(self) -> None:
        self._before: Histogram | None = None
        # The longest first and each later one shorter: as many as there are buckets at most.
        self._kept: deque[_Longest] = deque()

    def add(self, at: float, times: Histogram | None) -> None:
        """Look at the request times counted up to `at` (epoch seconds); `None` adds nothing."""
        if times is None:
            return
        before, self._before = self._before, times
        counts = times[1]
        if before is not None and before[0] == times[0]:
            counts = tuple(new - old for old, new in zip(before[1], times[1], strict=True))
        highest = quantile_of(1.0, times[0], counts)
        if highest is None:
            return
        lower, upper = highest.bounds
        newest = _Longest(at, upper, lower == upper)
        while self._kept and self._kept[-1].length <= newest.length:
            self._kept.pop()
        self._kept.append(newest)

    def at(self, now: float) -> tuple[float | None, bool]:
        """Bound of the longest answer that ended in the hour before `now`, and whether it is above.

        See `arithmetic.longest_answer`; `(None, False)` when none ended.
        """
        while self._kept and self._kept[0].at <= now - HOUR_SECONDS:
            self._kept.popleft()
        if not self._kept:
            return None, False
        return longest_answer(self._kept[0].bound, float(self._kept[0].beyond))
