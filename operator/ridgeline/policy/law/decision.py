"""What the law says: a wish, whether it may be carried out now, why, and every number behind it."""

from dataclasses import dataclass

from ridgeline.policy.comparison import Comparison
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.terms import Direction, LawMode, LawReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ActAt:
    """Where the law acts, for status and `explain`. Demands are tokens per second of the fleet.

    The border is the one above the running profile, or beneath the busiest. `None` is what is not
    known or not defined there.

    Attributes:
        quieter: Profile beneath the border.
        busier: Profile above.
        mode: By which rule it is crossed.
        peak: P, the week's peak ÷ D*.
        cutoff_demand: D*.
        cutoff_concurrency: B*.
        safe_demand: D_safe.
        off_demand: D_off.
        on_demand: D_on.
        off_concurrency: B_off, on the quieter profile's curve.
        on_concurrency: B_on, on the busier profile's curve.
        roll_cost: Cost of a roll over it now, request-seconds; `None` in insured mode, which needs
            none.
    """

    quieter: str
    busier: str
    mode: LawMode
    peak: float | None
    cutoff_demand: float | None
    cutoff_concurrency: float | None
    safe_demand: float
    off_demand: float | None
    on_demand: float
    off_concurrency: float | None
    on_concurrency: float
    roll_cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LawDecision:
    """The answer of `step`.

    Attributes:
        wish: Profile that the law would run: the running one when no move is wished.
        go: Whether the move to it may begin now; False when none is wished.
        direction: Which way it goes, `None` when none is wished.
        reason: Why: of the move when it may begin, of the wait when it is held, else of the rest.
        message: The same for a person, with the numbers.
        because: Why the move is wished and how long that lasts already, as the first half of a
            sentence; empty when none is wished.
        comparisons: Every number that was compared, in order.
        act_at: Where the law acts; `None` while it cannot be told.
        demand: D, tokens per second of the fleet; `None` when blind.
        concurrency: B per engine; `None` when blind.
        regret: S, request-seconds that staying has cost.
        notice: What a person should be told once, `None` most of the time.
        memory: What to remember for the next step.
    """

    wish: str
    go: bool
    direction: Direction | None
    reason: LawReason
    message: str
    comparisons: tuple[Comparison, ...]
    act_at: ActAt | None
    demand: float | None
    concurrency: float | None
    regret: float
    notice: str | None
    memory: LawMemory
    because: str = ""
