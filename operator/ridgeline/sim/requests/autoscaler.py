"""A horizontal autoscaler on requests per replica, with the habits of Kubernetes'."""

import math
from collections import deque
from dataclasses import dataclass, field

from ridgeline.sim.requests.controller import Observation


@dataclass(slots=True, kw_only=True)
class Autoscaler:
    """Moves the number of replicas so that each holds about `target` requests.

    Up at once, down to the most that was wanted in the last `calm_seconds`, nothing within 10 %.

    Attributes:
        target: Requests per replica, running and waiting.
        least: Fewest replicas.
        most: Most replicas.
        calm_seconds: Stabilisation of scaling down.
    """

    target: float
    least: int
    most: int
    calm_seconds: float = 300.0
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)

    def replicas(self, seen: Observation, now: float) -> int:
        """Return the replicas to have; as they are without numbers, or while a roll goes on."""
        if not seen.engines or seen.rolling:
            return seen.replicas
        load = sum(each.running + each.waiting for each in seen.engines)
        ratio = load * seen.serving / len(seen.engines) / (self.target * seen.replicas)
        wanted = seen.replicas if abs(ratio - 1) <= 0.1 else math.ceil(ratio * seen.replicas)
        wanted = min(self.most, max(self.least, wanted))
        self._wanted.append((now, wanted))
        while self._wanted[0][0] < now - self.calm_seconds:
            self._wanted.popleft()
        return max(each for _, each in self._wanted) if wanted < seen.replicas else wanted
