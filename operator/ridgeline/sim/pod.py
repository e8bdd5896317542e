"""A simulated Pod: bound to a node, its container started, Ready, ended, started again, gone."""

import math
from dataclasses import dataclass

from ridgeline.sim.fate import FORGIVEN_AFTER_SECONDS, Ended, Fate, back_off
from ridgeline.sim.template import Template

PULL_BACK_OFF_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class SimulatedPod:
    """A Pod with one container; it is gone from the cluster at `stops_at`.

    Attributes:
        created_at: Epoch seconds, as are all times here.
        starts_at: When its container becomes Ready, if it does.
        fate: What becomes of its container; `None`: it serves.
        node: Node that it is bound to; empty when nodes do not matter.
        unschedulable: Why it is bound to none; empty when it is.
        waiting: Reason and message of a container that does not run, `None` when it runs.
        began_at: When its container started last.
        begins_at: When its container starts again.
        ended: How its container ended last.
        restarts: How often its container was started again.
    """

    name: str
    uid: str
    version: int
    template: Template
    created_at: float
    starts_at: float
    startup_seconds: float = 0.0
    fate: Fate | None = None
    node: str = ""
    unschedulable: str = ""
    waiting: tuple[str, str] | None = None
    began_at: float = 0.0
    begins_at: float = math.inf
    ended: Ended | None = None
    restarts: int = 0
    ready_since: float | None = None
    stops_at: float = math.inf

    @property
    def deleting(self) -> bool:
        """Whether it was told to stop."""
        return math.isfinite(self.stops_at)

    @property
    def serves(self) -> bool:
        """Whether it is Ready and not going."""
        return self.ready_since is not None and not self.deleting

    @property
    def trouble(self) -> str:
        """Why its container does not run, in the kubelet's word; empty when it does."""
        return self.waiting[0] if self.waiting else ""

    @property
    def pending(self) -> bool:
        """Whether its container has never run."""
        return bool(self.unschedulable) or (self.waiting is not None and self.ended is None)

    @property
    def due_at(self) -> float:
        """When its container does the next thing; infinite when it does none."""
        if self.deleting:
            return self.stops_at
        if self.unschedulable:
            return math.inf
        if self.waiting is not None:
            return self.begins_at
        return min(self._ends_at, self._ready_at)

    @property
    def _ends_at(self) -> float:
        after = self.fate.ends_after if self.fate else None
        return math.inf if after is None else self.began_at + after

    @property
    def _ready_at(self) -> float:
        never = self.ready_since is not None or (self.fate is not None and not self.fate.ready)
        return math.inf if never else self.starts_at

    def begin(self, now: float) -> None:
        """Let its container start, or let the pull of its image fail."""
        self.began_at, self.begins_at = now, math.inf
        if self.fate is not None and self.fate.pull_error:
            self.waiting = ("ErrImagePull", self.fate.pull_error)
            self.begins_at = now + PULL_BACK_OFF_SECONDS
            return
        self.waiting = None
        self.starts_at = now + self.startup_seconds

    def step(self, now: float) -> bool:
        """Let its container do what is due; tell whether the Pod is another one by it."""
        if self.deleting or self.due_at > now:
            return False
        if self.waiting is not None:
            self._wait_on(now)
        elif self._ends_at <= self._ready_at:
            self._end(now)
        else:
            self.ready_since = float(int(now))
        return True

    def crash(self, now: float, exit_code: int = 1, message: str = "") -> None:
        """Let its container end now."""
        self._end(now, Fate(exit_code=exit_code, message=message))

    def _wait_on(self, now: float) -> None:
        error = self.fate.pull_error if self.fate else ""
        if error:
            self.waiting = ("ImagePullBackOff", f"Back-off pulling image: ErrImagePull: {error}")
            self.begins_at = math.inf
            return
        self.restarts += 1
        self.begin(now)

    def _end(self, now: float, how: Fate | None = None) -> None:
        how = how or self.fate or Fate()
        self.ended = Ended(
            exit_code=how.exit_code,
            reason=how.reason,
            message=how.message,
            began_at=self.began_at,
            ended_at=now,
        )
        self.ready_since = None
        forgiven = now - self.began_at > FORGIVEN_AFTER_SECONDS
        wait = 0.0 if forgiven else back_off(self.restarts)
        if wait == 0.0:
            self.restarts += 1
            self.begin(now)
            return
        self.waiting = (
            "CrashLoopBackOff",
            f"back-off {wait:.0f}s restarting failed container in pod {self.name}",
        )
        self.begins_at = now + wait


def least_useful(pod: SimulatedPod) -> tuple[bool, bool, bool, float, str]:
    """Sort key: which Pods a ReplicaSet takes away first.

    As the ReplicaSet controller sorts: unbound before bound, pending before running, not Ready
    before Ready, then the newest.
    """
    return (not pod.unschedulable, not pod.pending, pod.serves, -pod.created_at, pod.name)
