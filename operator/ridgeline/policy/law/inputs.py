"""What the law looks at in one tick: sums over the fleet, curves, the state of the last roll."""

import math
from dataclasses import dataclass, field

from ridgeline.costmodel.curve import Curve

SHARE_FOR_BUSIER = 0.8
"""Share of the replicas that must be seen for switching off; switching on needs all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollStrategy:
    """How the Deployment rolls, as numbers of Pods.

    Attributes:
        replicas: Replicas asked for.
        surge: Pods that a roll may add (maxSurge rounded up), as far as there is room for them.
        unavailable: Pods that a roll may take away (maxUnavailable rounded down).
    """

    replicas: int
    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RollState:
    """Where the last roll is; all `None` and False for a target that was never rolled.

    Attributes:
        rolling: Whether a rollout of the target is under way, whoever began it.
        updated: Pods of the newest template, while it is.
        started_at: Epoch seconds when our last roll began.
        finished_at: Epoch seconds when it ended.
    """

    rolling: bool = False
    updated: int = 0
    started_at: float | None = None
    finished_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleNow:
    """What schedules say at this moment, lead time included.

    Attributes:
        profile: Profile that a window names, `None` outside of one.
        no_switch_on: Whether a window forbids switching on.
        crowd_is_short: Whether a window says that what comes will pass sooner than a roll pays.
    """

    profile: str | None = None
    no_switch_on: bool = False
    crowd_is_short: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LawInputs:
    """One tick of one fleet. Sums are over the replicas that are seen; the law scales them.

    A number that is not known is `None`; one that is not finite or negative is taken as not known.

    Attributes:
        running: Profile that the Pod template carries.
        curves: Tokens per second by concurrency of each profile, for one engine, from the profile
            for the least demand (most speculation) to the one for the most (none).
        lower_edges: For each pair of neighbours, the lower edge of the band ÷ the cut-off, both in
            concurrency, above 0 and at most 1. Empty for none known: 1 everywhere.
        engines: Engines that serve now, seen or not.
        replicas: Replicas that serve now, seen or not.
        strategy: How the Deployment rolls.
        seen_share: Share of the replicas that the sums are over.
        whole_answer: Whether the store of telemetry says of no part of itself that it is missing.
        generated_tokens_per_second: Output tokens per second.
        waiting_requests: Requests that wait, for whatever reason.
        mean_output_tokens: Mean answer of the requests that finished lately.
        concurrency: Requests in decode per engine, mean over the engines seen.
        waiting_for_capacity: Requests that wait for a place and nothing else.
        queued_requests: Mean number of requests in the queue (rate of the queue time's sum).
        preemptions_per_second: Requests per second that lost their place.
        roll: Where the last roll is.
        schedule: What schedules say.
        switches_left: Switches left of the day's budget; `None` when that is checked elsewhere.
    """

    running: str
    curves: tuple[Curve, ...]
    lower_edges: tuple[float, ...] = ()
    engines: int
    replicas: int
    strategy: RollStrategy
    seen_share: float = 1.0
    whole_answer: bool = True
    generated_tokens_per_second: float | None = None
    waiting_requests: float | None = None
    mean_output_tokens: float | None = None
    concurrency: float | None = None
    waiting_for_capacity: float | None = None
    queued_requests: float | None = None
    preemptions_per_second: float | None = None
    roll: RollState = field(default_factory=RollState)
    schedule: ScheduleNow = field(default_factory=ScheduleNow)
    switches_left: int | None = None

    @property
    def row(self) -> int | None:
        """Place of the running profile among the curves; `None` when it has none."""
        return next((i for i, each in enumerate(self.curves) if each.profile == self.running), None)

    def row_of(self, profile: str | None) -> int | None:
        """Return the place of a profile among the curves."""
        return next((i for i, each in enumerate(self.curves) if each.profile == profile), None)

    @property
    def complete(self) -> bool:
        """Whether every replica is seen, as far as anybody can tell."""
        return self.seen_share >= 1.0 and self.whole_answer

    def lower_edge(self, border: int) -> float:
        """Return lower edge ÷ cut-off of the border above a row, 1 where none is given."""
        if border >= len(self.lower_edges):
            return 1.0
        share = self.lower_edges[border]
        return share if math.isfinite(share) and 0.0 < share <= 1.0 else 1.0


MOST = 1e12
"""A larger number of tokens, requests or seconds is a fault: nothing sums to it in any fleet."""


def known(value: float | None) -> float | None:
    """Return a number that can be reckoned with, `None` for any other."""
    return value if value is not None and 0.0 <= value <= MOST else None
