"""A move that the table, a schedule or the law asks for, before it is checked (`move_checks`)."""

from dataclasses import dataclass

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.borders import asks_because
from ridgeline.policy.by_law import REASONS as LAW_REASONS
from ridgeline.policy.by_law import is_busier
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.memory import Crossing
from ridgeline.policy.schedule import Wish
from ridgeline.policy.situation import Situation
from ridgeline.policy.wording import number_beside
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict as CutoffVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move from the active row to another.

    Attributes:
        situation: The moment.
        profile: Profile of the row that the table asks for.
        busier: Whether that row is for more concurrency (towards off).
        because: Why, as the first half of a sentence.
        crossing: The crossing as it is to be remembered.
        seen_before: Whether an earlier decision saw it too.
        lasted: Seconds it has lasted.
        dwell: Seconds it must last.
        reason: Why, should it become a switch.
        lawful: The law's own sentence, where the law asks for the move.
    """

    situation: Situation
    profile: str
    busier: bool
    because: str
    crossing: Crossing
    seen_before: bool
    lasted: float
    dwell: float
    reason: Reason
    lawful: str = ""

    @property
    def told(self) -> str:
        """Why, and for how long already, as the first half of a sentence."""
        if self.lawful or self.reason is Reason.SCHEDULED:
            return self.lawful or self.because
        return f"{self.because} {self.for_how_long()}"

    def for_how_long(self) -> str:
        """Return how long the crossing lasted and must last, as a part of a sentence."""
        lasted = number_beside(self.lasted, self.dwell)
        return f"for {lasted} s (needs {number_beside(self.dwell, self.lasted)} s)"


def wanted_move(
    situation: Situation, table: CutoffTable, row: int, towards: int, concurrency: float
) -> Move:
    """Return the move from `row` to another row `towards`, with its dwell so far."""
    busier = towards > row
    times = situation.settings.stabilization
    dwell = times.busier_seconds if busier else times.quieter_seconds
    profile = table.rows[towards].profile
    since = _crossed_since(situation, table, row, busier)
    return Move(
        situation=situation,
        profile=profile,
        busier=busier,
        because=asks_because(table, row, towards, concurrency),
        crossing=Crossing(towards=profile, since=situation.now if since is None else since),
        seen_before=since is not None,
        lasted=0.0 if since is None else max(0.0, situation.now - since),
        dwell=dwell,
        reason=Reason.ABOVE_CUTOFF if busier else Reason.BELOW_CUTOFF,
    )


def scheduled_move(situation: Situation, table: CutoffTable, row: int, wish: Wish) -> Move:
    """Return the move to the profile that a schedule names; it has dwelled enough."""
    towards = table.index_of(wish.profile)
    return Move(
        situation=situation,
        profile=wish.profile,
        busier=towards is not None and towards > row,
        because=wish.message,
        crossing=Crossing(towards=wish.profile, since=situation.now),
        seen_before=True,
        lasted=0.0,
        dwell=0.0,
        reason=Reason.SCHEDULED,
    )


def leaving_move(situation: Situation, table: CutoffTable) -> Move:
    """Return the move from a profile that is best at no concurrency to the one that is best now."""
    concurrency = situation.estimates.concurrency
    profile = table.rows[-1 if concurrency is None else table.row_at(concurrency)].profile
    speculates = situation.settings.methods[profile].speculates
    times = situation.settings.stabilization
    crossing = situation.memory.fast.crossing
    since = crossing.since if crossing is not None and crossing.towards == profile else None
    return Move(
        situation=situation,
        profile=profile,
        busier=not speculates,
        because=f"{situation.active} is best at no concurrency here ({'; '.join(table.reasons)})"
        if table.verdict is not CutoffVerdict.NO
        else f"no speculation pays here ({'; '.join(table.reasons)})",
        crossing=Crossing(towards=profile, since=situation.now if since is None else since),
        seen_before=since is not None,
        lasted=0.0 if since is None else max(0.0, situation.now - since),
        dwell=times.quieter_seconds if speculates else times.busier_seconds,
        reason=Reason.BELOW_CUTOFF if speculates else Reason.ABOVE_CUTOFF,
    )


def law_move(situation: Situation, lawful: LawDecision) -> Move:
    """Return the move that the law asks for; dwell, budget and cooldown are behind it."""
    return Move(
        situation=situation,
        profile=lawful.wish,
        busier=is_busier(lawful),
        because=lawful.because,
        crossing=Crossing(towards=lawful.wish, since=situation.now),
        seen_before=True,
        lasted=0.0,
        dwell=0.0,
        reason=LAW_REASONS[lawful.reason],
        lawful=lawful.because,
    )


def _crossed_since(
    situation: Situation, table: CutoffTable, row: int, busier: bool
) -> float | None:
    """Return since when concurrency has been beyond the active row's border on this side.

    A crossing towards any row on the same side counts: whoever has passed the farther border has
    passed the nearer one too. Were the dwell to start again on each change between two rows on
    the same side, concurrency that swings round *their* border would hold the fleet on a third.
    """
    crossing = situation.memory.fast.crossing
    if crossing is None:
        return None
    towards = table.index_of(crossing.towards)
    if towards is None or towards == row or (towards > row) != busier:
        return None
    return crossing.since
