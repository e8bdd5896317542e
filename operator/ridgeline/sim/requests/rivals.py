"""What people have in place of ridgeline: nothing, a script with a threshold, a cron job."""

from dataclasses import dataclass

from ridgeline.sim.requests.controller import Observation
from ridgeline.sim.requests.published import NONE, SPECULATING
from ridgeline.sim.requests.traffic import DAY, WEEK


class Static:
    """Changes nothing."""

    def decide(self, observation: Observation, now: float) -> str | None:  # noqa: ARG002
        """See Controller."""
        return None


@dataclass(kw_only=True)
class Threshold:
    """A band on concurrency per engine: `off` and above none, below `on` the other profile.

    Attributes:
        off: Concurrency from which on speculation is left.
        on: Concurrency below which it is begun.
        speculating: Profile below.
        none: Profile above.
    """

    off: float
    on: float
    speculating: str = SPECULATING
    none: str = NONE

    def decide(self, observation: Observation, now: float) -> str | None:  # noqa: ARG002
        """See Controller."""
        level = observation.concurrency
        if level is None:
            return None
        if observation.active_profile == self.none:
            return self.speculating if level < self.on else None
        return self.none if level >= self.off else None


@dataclass(kw_only=True)
class Windows:
    """A person's cron windows: none over a weekday's busy hours, rolled to ahead of them.

    Attributes:
        begins: Second of the day.
        ends: Second of the day.
    """

    begins: float
    ends: float

    def decide(self, observation: Observation, now: float) -> str | None:  # noqa: ARG002
        """See Controller."""
        weekday = (now % WEEK) // DAY not in (2.0, 3.0)
        busy = weekday and self.begins <= now % DAY < self.ends
        return NONE if busy else SPECULATING
