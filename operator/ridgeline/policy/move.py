"""A move that the table asks for, and the checks between the wish and the switch, in order.

`evidence` (every replica for a quieter row), `dwell`, `daily_budget`, `oscillation`, `cooldown`,
`verdict`, `schedule`, `short_crowd`, `mode`, `roll_can_finish`. The budget stands before the
cooldown because what lasts longer is what a person wants to know. The mode comes after all that
makes a recommendation sound; whether the roll could finish concerns only who would begin it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.borders import asks_because
from ridgeline.policy.by_law import REASONS as LAW_REASONS
from ridgeline.policy.by_law import is_busier
from ridgeline.policy.comparison import Comparison
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.lifecycle import (
    budget_wait,
    cooldown_left,
    daily_budget,
    last_finish,
    switches_left,
)
from ridgeline.policy.memory import Crossing
from ridgeline.policy.oscillation import oscillation_hold
from ridgeline.policy.roll_plan import first_hold
from ridgeline.policy.schedule import Wish
from ridgeline.policy.scheduled import crowd_hold, schedule_hold
from ridgeline.policy.sight import joined_share, unseen
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import PASSED, Verdict, at_least, held, passed
from ridgeline.policy.wording import duration, number_beside
from ridgeline.terms.modes import Mode
from ridgeline.terms.names import FORCE_ANNOTATION
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


def evidence(move: Move) -> Verdict:
    """Guard that a move to a quieter row rests on every replica."""
    if move.busier:
        return PASSED
    fleet = move.situation.fleet
    compared = joined_share(fleet, 1.0, allows="moving to a quieter row")
    if compared.value < 1.0:
        return held(
            Reason.PARTIAL_DATA,
            f"{move.because}, but {unseen(fleet)}: switching to {move.profile} needs all of them",
            compared,
        )
    telemetry = move.situation.telemetry
    if telemetry is not None and telemetry.partial:
        return held(
            Reason.PARTIAL_DATA,
            f"{move.because}, but telemetry endpoint {telemetry.endpoint!r} answers only in part "
            f"({'; '.join(telemetry.partial)}): switching to {move.profile} needs all of it",
            compared,
        )
    return passed(compared)


def dwell(move: Move) -> Verdict:
    """Guard that the crossing lasted, and that more than one decision saw it."""
    compared = at_least(
        "seconds beyond the border",
        move.lasted,
        move.dwell,
        met="long enough",
        missed="not long enough yet",
    )
    if move.lasted < move.dwell:
        return held(
            Reason.DWELLING,
            f"{move.because} {move.for_how_long()}: {move.profile} would be better",
            compared,
        )
    if not move.seen_before:
        return held(
            Reason.DWELLING,
            f"{move.because}, seen for the first time: {move.profile} would be better; "
            "the next decision confirms it",
            compared,
            _sightings(move),
        )
    return passed(compared, _sightings(move))


def _sightings(move: Move) -> Comparison:
    return at_least(
        "decisions that saw it (2 or more count as 2)",
        2.0 if move.seen_before else 1.0,
        2.0,
        met="confirmed",
        missed="not confirmed yet",
    )


def budget(move: Move) -> Verdict:
    """Guard the switches of 24 hours: one must be left, and two for a move to a quieter row."""
    situation = move.situation
    needed = 1 if move.busier else 2
    left = switches_left(situation.memory, situation.settings, situation.now)
    compared = at_least(
        "switches left in 24 hours",
        left,
        needed,
        met="enough",
        missed="used up" if left == 0 else "the last one is kept for a busier row",
    )
    if left >= needed:
        return passed(compared)
    wait = budget_wait(situation.memory, situation.settings, situation.now, needed)
    kept = ", which is kept for moving to a busier row" if left else ""
    when = (
        f"{duration(wait)} to wait"
        if wait is not None
        else f"spec.maxSwitchesPerDay must be at least {needed} for this move"
    )
    return held(
        Reason.DAILY_BUDGET_SPENT,
        f"{move.because}: {move.profile} would be better, but {left} of "
        f"{daily_budget(situation.settings)} switches in 24 hours "
        f"{'is' if left == 1 else 'are'} left{kept} ({when})",
        compared,
    )


def oscillation(move: Move) -> Verdict:
    """Guard against doing and undoing at the same load; it binds only moves to a quieter row."""
    table = move.situation.table
    if move.busier or move.reason is Reason.SCHEDULED or table is None:
        return PASSED
    hold = oscillation_hold(move.situation, table)
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.because}: {move.profile} would be better, but {hold.message}")


def cooldown(move: Move) -> Verdict:
    """Guard the time after a roll; it binds only moves to a quieter row."""
    situation = move.situation
    ended = last_finish(situation.memory)
    if move.busier or ended is None:
        return PASSED
    limit = situation.settings.cooldown_seconds
    left = cooldown_left(situation.memory, situation.settings, situation.now)
    compared = at_least(
        "seconds since the last roll ended",
        max(0.0, situation.now - ended),
        limit,
        met="the cooldown is over",
        missed="the cooldown binds moves to a quieter row",
    )
    if left > 0:
        return held(
            Reason.COOLDOWN,
            f"{move.because}: {move.profile} would be better, but the cooldown of "
            f"{duration(limit)} after the last roll has {duration(left)} left",
            compared,
        )
    return passed(compared)


def mode(move: Move) -> Verdict:
    """Guard that the operator may act at all."""
    if move.situation.settings.mode is Mode.AUTOMATIC:
        return PASSED
    return held(
        Reason.RECOMMEND_ONLY,
        f"{move.told}: {move.profile} is better; "
        "set spec.mode to Automatic to let the operator roll the target",
    )


def verdict(move: Move) -> Verdict:
    """Guard that the strategy can tell whether speculation pays here at all."""
    table = move.situation.table
    if table is None or table.verdict is not CutoffVerdict.UNDECIDED:
        return PASSED
    return held(
        Reason.CUTOFF_UNDECIDED,
        f"{move.because}, and {move.profile} may be better, but the cut-off is undecided: "
        f"{'; '.join(table.doubts or table.reasons)}; {_way_out(move)}",
    )


def _way_out(move: Move) -> str:
    if move.situation.settings.prediction is None:
        return "measure it and set spec.cutoff with strategy Fixed"
    return (
        f"order {move.profile} once with the annotation {FORCE_ANNOTATION} to have it measured "
        "here, state its acceptancePercent, or set spec.cutoff with strategy Fixed"
    )


def schedule(move: Move) -> Verdict:
    """Guard that no schedule freezes the target, nor forbids switching on where that is asked."""
    wish = Wish(profile=move.profile, reason=move.reason, message=move.told)
    hold = schedule_hold(move.situation, wish, busier=move.busier)
    return PASSED if hold is None else held(hold.reason, hold.message)


def short_crowd(move: Move) -> Verdict:
    """Guard full servers through a crowd that passes sooner than a roll would help."""
    hold = crowd_hold(move.situation)
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.because}: {move.profile} would be better, but {hold.message}")


def roll_can_finish(move: Move) -> Verdict:
    """Guard that the roll could finish, and would cut no answer short."""
    plan = move.situation.facts.plan
    hold = first_hold(plan) if plan is not None else None
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.profile} is better, but no roll is begun: {hold.message}")


_Checks = tuple[tuple[str, Callable[[Move], Verdict]], ...]

LAST_CHECKS: Final[_Checks] = (
    ("verdict", verdict),
    ("schedule", schedule),
    ("mode", mode),
    ("roll_can_finish", roll_can_finish),
)
"""The checks of a move that the law asks for, which guards all the rest itself."""

MOVE_CHECKS: Final[_Checks] = (
    ("evidence", evidence),
    ("dwell", dwell),
    ("daily_budget", budget),
    ("oscillation", oscillation),
    ("cooldown", cooldown),
    ("verdict", verdict),
    ("schedule", schedule),
    ("short_crowd", short_crowd),
    ("mode", mode),
    ("roll_can_finish", roll_can_finish),
)
"""The checks of a move that the cut-off table asks for, in order."""

BLINDING: Final = frozenset({"evidence"})
"""Those that mean the operator cannot see enough: the dwell starts anew."""
