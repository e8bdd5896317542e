"""What the law remembers: fast memory is lost with the process, slow memory lives in status.

A restart finds fast memory empty: timers start again, so it never causes a move and delays one by
at most a dwell (or by what regret had added up). Every collection is bounded.
"""

from dataclasses import dataclass, field

from ridgeline.policy.law.peak import PeakSketch
from ridgeline.policy.law.terms import LawMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A move that was asked for in the last step, and the load that led to it.

    Attributes:
        profile: Profile asked for.
        at: Epoch seconds.
        demand: Tokens per second and engine.
        concurrency: Requests in decode per engine.
        off_demand: D_off in tokens per second and engine, when servers filled up at a steady demand
            below it; else `None`.
    """

    profile: str
    at: float
    demand: float
    concurrency: float
    off_demand: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The five-minute slot under way, for the peak.

    Attributes:
        index: Epoch seconds ÷ 300, rounded down.
        seconds: Seconds of it that were seen.
        tokens: Demand over them, tokens per engine.
    """

    index: int
    seconds: float = 0.0
    tokens: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FastMemory:
    """Kept in the process.

    Attributes:
        seen_at: Epoch seconds of the last look that saw enough; `None` after a start.
        share: Share of the replicas seen then.
        waiting: Waiting requests of the fleet then; `None` when not known.
        demand: Smoothed demand, tokens per second of the fleet.
        served: Smoothed output, tokens per second of the fleet.
        concurrency: Smoothed concurrency per engine; `None` after a roll.
        highs: Highest smoothed demand by minute, (epoch minute, tokens per second), newest last;
            at most six.
        slot: The slot under way.
        busier_since: Since when some sign asks for a busier profile.
        quieter_since: Since when all signs allow a quieter one.
        saturated_since: Since when servers are saturated.
        regret: Request-seconds that staying has cost.
        asked: Move asked for in the last step.
    """

    seen_at: float | None = None
    share: float = 1.0
    waiting: float | None = None
    demand: float | None = None
    served: float | None = None
    concurrency: float | None = None
    highs: tuple[tuple[int, float], ...] = ()
    slot: Slot | None = None
    busier_since: float | None = None
    quieter_since: float | None = None
    saturated_since: float | None = None
    regret: float = 0.0
    asked: Asked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The last move that was made.

    Attributes:
        at: Epoch seconds when the template was first seen to carry the new profile.
        from_profile: Profile before.
        to_profile: Profile after.
        demand: Tokens per second and engine that led to it.
        concurrency: Requests in decode per engine that led to it.
    """

    at: float
    from_profile: str
    to_profile: str
    demand: float
    concurrency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What experience taught of the border between two neighbours; `None` where nothing.

    Attributes:
        quieter: Profile beneath.
        busier: Profile above.
        at: Epoch seconds when it was learned; it is forgotten from then on.
        off_demand: D_off is at most this, tokens per second and engine (ratchet).
        on_demand: D_on is at most this, tokens per second and engine (detector).
        on_concurrency: B_on is at most this (detector).
    """

    quieter: str
    busier: str
    at: float
    off_demand: float | None = None
    on_demand: float | None = None
    on_concurrency: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowMemory:
    """Kept in status.

    Attributes:
        peak: Sketch of the week's demand per engine.
        modes: Mode of each border when it was last computed, from the quietest.
        running: Running profile when last seen.
        turn: The last move.
        learned: One entry for each border where something was learned.
        locked_until: Until when switching on is locked.
        starts: Seconds that a replica took to start, by profile.
        roll_seen: When the last roll that was learned from had begun.
    """

    peak: PeakSketch = field(default_factory=PeakSketch)
    modes: tuple[LawMode, ...] = ()
    running: str | None = None
    turn: Turn | None = None
    learned: tuple[Learned, ...] = ()
    locked_until: float | None = None
    starts: tuple[tuple[str, float], ...] = ()
    roll_seen: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LawMemory:
    """Both kinds together."""

    slow: SlowMemory = field(default_factory=SlowMemory)
    fast: FastMemory = field(default_factory=FastMemory)
