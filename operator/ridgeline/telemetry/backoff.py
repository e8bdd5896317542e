"""Pure: when a failing endpoint is asked again. Times are epoch seconds, given by the caller."""

from dataclasses import dataclass
from typing import Final

LONGEST_ASKED_SECONDS: Final = 600.0
"""Longest wait that an endpoint may ask for: a wrong header must not blind us for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential back-off: after n failures in a row, wait `first × 2^(n−1)`, at most `longest`.

    An endpoint that asks for a longer wait (`Retry-After`) gets it, within reason.

    Attributes:
        first_seconds: Wait after the first failure.
        longest_seconds: Longest wait of our own; bounds how late a recovery is noticed.
        failures: Failures in a row.
        failed_at: When the last one was, `None` before any.
        asked_seconds: Wait that the endpoint asked for with its last failure; 0 for none.
    """

    first_seconds: float = 15.0
    longest_seconds: float = 120.0
    failures: int = 0
    failed_at: float | None = None
    asked_seconds: float = 0.0

    @property
    def wait_seconds(self) -> float:
        """How long to wait after the last failure; 0 when there was none."""
        if not self.failures:
            return 0.0
        # The exponent is bounded: a float overflows after a thousand doublings.
        own = min(self.longest_seconds, self.first_seconds * 2.0 ** min(self.failures - 1, 60))
        return max(own, min(self.asked_seconds, LONGEST_ASKED_SECONDS))

    @property
    def next_attempt_at(self) -> float | None:
        """Epoch seconds before which nothing is asked, `None` when nothing failed."""
        return None if self.failed_at is None else self.failed_at + self.wait_seconds

    def allows(self, now: float) -> bool:
        """Whether the endpoint may be asked at `now`; a clock set back does not lengthen a wait."""
        if self.failed_at is None or self.next_attempt_at is None:
            return True
        return now >= self.next_attempt_at or now < self.failed_at

    def failed(self, now: float, *, retry_after_seconds: float | None = None) -> "Backoff":
        """The back-off after one more failure at `now`.

        Args:
            now: Epoch seconds.
            retry_after_seconds: Wait that the endpoint asked for, `None` when it did not.
        """
        return Backoff(
            first_seconds=self.first_seconds,
            longest_seconds=self.longest_seconds,
            failures=self.failures + 1,
            failed_at=now,
            asked_seconds=retry_after_seconds or 0.0,
        )

    def succeeded(self) -> "Backoff":
        """The back-off after a success: as if nothing had ever failed."""
        return Backoff(first_seconds=self.first_seconds, longest_seconds=self.longest_seconds)
