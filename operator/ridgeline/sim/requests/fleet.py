"""A Deployment of simulated replicas: rolling updates, start-up, drain, scaling.

The rules are those of a Deployment: never more Pods on GPUs than replicas + surge (a Pod that
drains still holds its GPU), never fewer in service than replicas − unavailable, where unavailable
is 0 with surge and 1 without.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ridgeline.sim.requests.engines import Engines


class Phase(Enum):
    """What a Pod is at."""

    STARTING = "starting"
    SERVING = "serving"
    DRAINING = "draining"


@dataclass(slots=True)
class Pod:
    """One replica; `until` is when its start or its grace period ends."""

    place: int
    profile: int
    phase: Phase
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RollSettings:
    """How replicas are replaced.

    Attributes:
        surge: Spare GPUs: Pods that may start before another goes. 0 or 1.
        least_start_seconds: Shortest start-up of a Pod.
        most_start_seconds: Longest start-up of a Pod.
        grace_seconds: Time a Pod has to finish its requests before it is killed.
    """

    surge: int = 0
    least_start_seconds: float = 120.0
    most_start_seconds: float = 300.0
    grace_seconds: float = 120.0

    def mean_seconds(self, replicas: int, drain_seconds: float) -> float:
        """Return how long a roll takes on average, given how long a drain takes."""
        start = (self.least_start_seconds + self.most_start_seconds) / 2
        return replicas * (start + min(drain_seconds, self.grace_seconds))


class Fleet:
    """Pods of one Deployment; `step` does what its controller and the kubelet would do by then."""

    def __init__(
        self,
        engines: Engines,
        *,
        replicas: int,
        most_replicas: int,
        profile: int,
        rolls: RollSettings,
        rng: np.random.Generator,
    ) -> None:
        """Begin with so many warm replicas in service."""
        self._engines = engines
        self._rolls = rolls
        self._rng = rng
        self._free = list(range(most_replicas + rolls.surge))
        self.replicas = replicas
        self.profile = profile
        self.pods: list[Pod] = []
        for _ in range(replicas):
            place = self._free.pop(0)
            engines.start(place, profile, 0.0)
            engines.warm_up(place)
            self.pods.append(Pod(place, profile, Phase.SERVING, 0.0))

    @property
    def rolling(self) -> bool:
        """Whether a Pod of another profile is left, or one starts or drains."""
        return (
            any(
                each.profile != self.profile or each.phase is not Phase.SERVING
                for each in self.pods
            )
            or len(self.pods) != self.replicas
        )

    @property
    def serving(self) -> list[Pod]:
        """Pods that take requests."""
        return [each for each in self.pods if each.phase is Phase.SERVING]

    def roll_to(self, profile: int) -> None:
        """Ask for another profile."""
        self.profile = profile

    def scale_to(self, replicas: int) -> None:
        """Ask for another number of replicas."""
        self.replicas = replicas

    def step(self, now: float) -> None:
        """End what has ended, and begin what may begin."""
        if not self.rolling:
            return
        self._end(now)
        while self._begin(now):
            pass

    def _end(self, now: float) -> None:
        for pod in list(self.pods):
            if pod.phase is Phase.STARTING and now >= pod.until:
                pod.phase = Phase.SERVING
                self._engines.start(pod.place, pod.profile, now)
            elif pod.phase is Phase.DRAINING:
                empty = sum(self._engines.held(pod.place)) == 0
                if empty or now >= pod.until:
                    self._engines.evict(pod.place, now)
                    self._remove(pod)

    def _begin(self, now: float) -> bool:
        """Start or drain one Pod; tell whether there was anything to do."""
        current = [each for each in self.pods if each.profile == self.profile]
        current = [each for each in current if each.phase is not Phase.DRAINING]
        if len(current) < self.replicas and len(self.pods) < self.replicas + self._rolls.surge:
            self._start(now)
            return True
        stale = [
            each
            for each in self.pods
            if each.profile != self.profile and each.phase is not Phase.DRAINING
        ]
        surplus = current[self.replicas :]
        for pod in (*stale, *surplus):
            if pod.phase is Phase.STARTING:
                self._remove(pod)
                return True
        least = self.replicas - (0 if self._rolls.surge else 1)
        if (stale or surplus) and len(self.serving) > least:
            self._drain((stale or surplus)[0], now)
            return True
        return False

    def _start(self, now: float) -> None:
        place = self._free.pop(0)
        start = self._rng.uniform(self._rolls.least_start_seconds, self._rolls.most_start_seconds)
        self.pods.append(Pod(place, self.profile, Phase.STARTING, now + start))

    def _drain(self, pod: Pod, now: float) -> None:
        pod.phase = Phase.DRAINING
        pod.until = now + self._rolls.grace_seconds
        self._engines.drain(pod.place)

    def _remove(self, pod: Pod) -> None:
        self.pods.remove(pod)
        self._free.append(pod.place)
