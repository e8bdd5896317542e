"""What a decision remembers from the ones before it.

Slow memory lives in the serving's status and survives restarts; fast memory is lost with the
process, and starts empty: a restart delays a switch by at most a dwell and never causes one.
"""

from dataclasses import dataclass, field

from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.learned import Learned
from ridgeline.policy.proof import Proofs
from ridgeline.policy.quarantine import Entries
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One change of profile that was decided.

    Attributes:
        started_at: Epoch seconds when it was decided.
        finished_at: Epoch seconds when the roll ended; `None` while it runs.
        from_profile: Profile before, `None` when no profile described it.
        to_profile: Profile after.
        reason: Why.
        concurrency: Requests in decode per engine when it was decided; `None` where it was ordered,
            or is not known.
    """

    started_at: float
    finished_at: float | None
    from_profile: str | None
    to_profile: str
    reason: Reason
    concurrency: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowMemory:
    """Kept in status.

    Attributes:
        switches: From the oldest to the newest, at most ten.
        learned: What telemetry taught of the profiles; `None` before it taught anything.
        quarantine: Profiles that failed.
        proofs: What each profile has shown on a Pod template.
    """

    switches: tuple[Switch, ...] = ()
    learned: Learned | None = None
    quarantine: Entries = ()
    proofs: Proofs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A border that concurrency has crossed and not yet come back over.

    Attributes:
        towards: Profile of the row that applies beyond the border.
        since: Epoch seconds of the first decision that saw it.
    """

    towards: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FastMemory:
    """Kept in the process. A hold for missing data clears all of it: blindness is no dwell.

    Attributes:
        crossing: A border that was crossed, `None` while none is.
        calm_since: Epoch seconds since when load is low enough for a comparison that is due;
            `None` while it is not, or none is due.
    """

    crossing: Crossing | None = None
    calm_since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """All of it.

    Attributes:
        slow: Kept in status.
        fast: Kept in the process; holds clear it.
        law: What the control law remembers, slow and fast; a hold does not clear it.
    """

    slow: SlowMemory = field(default_factory=SlowMemory)
    fast: FastMemory = field(default_factory=FastMemory)
    law: LawMemory = field(default_factory=LawMemory)
