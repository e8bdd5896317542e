"""The election between simulated operator processes: at most one holds the Lease at a time."""

from dataclasses import dataclass
from typing import Final

LEASE_SECONDS: Final = 15.0


@dataclass(slots=True)
class Lease:
    """Who may write.

    Attributes:
        holder: Name of the process that holds it, `None` while nobody does.
        free_at: Epoch seconds from which the next one may take it.
    """

    holder: str | None = None
    free_at: float = 0.0

    def lose(self, who: str, now: float) -> None:
        """Take it away from a process; the others wait until it has run out."""
        if self.holder == who:
            self.holder, self.free_at = None, now + LEASE_SECONDS

    def contend(self, candidates: list[str], now: float) -> bool:
        """Give it to the first candidate, where nobody holds it any more; tell whether it did."""
        if self.holder is not None or not candidates or now < self.free_at:
            return False
        self.holder = candidates[0]
        return True


@dataclass(frozen=True, slots=True)
class Share:
    """One process's sight of the Lease; implements the controller's port."""

    lease: Lease
    who: str

    @property
    def held(self) -> bool:
        """Whether this process is the leader."""
        return self.lease.holder == self.who

    @property
    def seconds_left(self) -> float:
        """Seconds until somebody else may hold it; the holder renews it all the time."""
        return LEASE_SECONDS if self.held else 0.0
