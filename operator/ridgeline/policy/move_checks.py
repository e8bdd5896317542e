"""The checks between the wish for a move and the switch, in order.

`evidence` (every replica for a quieter row), `dwell`, `daily_budget`, `oscillation`, `cooldown`,
`verdict`, `engine`, `quarantine`, `schedule`, `short_crowd`, `mode`, `release`, `roll_can_finish`,
`canary`. The budget
stands before the cooldown because what lasts longer is what a person wants to know. The mode comes
after all that makes a recommendation sound; whether the roll could finish, and how it would be
made, concerns only who would begin it.
"""

from collections.abc import Callable
from typing import Final

from ridgeline.policy.comparison import Comparison
from ridgeline.policy.engine_report import refusal, release_obstacle
from ridgeline.policy.lifecycle import (
    budget_wait,
    cooldown_left,
    daily_budget,
    last_finish,
    switches_left,
)
from ridgeline.policy.move import Move
from ridgeline.policy.oscillation import oscillation_hold
from ridgeline.policy.roll_plan import first_hold
from ridgeline.policy.schedule import Wish
from ridgeline.policy.scheduled import crowd_hold, schedule_hold
from ridgeline.policy.sight import joined_share, unseen
from ridgeline.policy.verdict import PASSED, Verdict, at_least, held, passed
from ridgeline.policy.way import canary, may_try, quarantine, trial_obstacle
from ridgeline.policy.wording import duration
from ridgeline.terms.modes import Mode
from ridgeline.terms.names import FORCE_ANNOTATION
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict as CutoffVerdict


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
    """Guard that the strategy can tell whether speculation pays here at all, or that it may try."""
    table = move.situation.table
    if table is None or table.verdict is not CutoffVerdict.UNDECIDED or may_try(move):
        return PASSED
    return held(
        Reason.CUTOFF_UNDECIDED,
        f"{move.because}, and {move.profile} may be better, but the cut-off is undecided: "
        f"{'; '.join(table.doubts or table.reasons)}; {_way_out(move)}",
    )


def _way_out(move: Move) -> str:
    if move.situation.settings.prediction is None:
        return "measure it and set spec.cutoff with strategy Fixed"
    obstacle = trial_obstacle(move)
    tried = f" (it is not tried on a canary: {obstacle})" if obstacle else ""
    return (
        f"order {move.profile} once with the annotation {FORCE_ANNOTATION} to have it measured "
        f"here{tried}, state its acceptancePercent, or set spec.cutoff with strategy Fixed"
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


def engine(move: Move) -> Verdict:
    """Guard that the engine would start with the profile, as far as its release is known."""
    hold = refusal(move.situation.settings.engine, move.profile)
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.because}: {move.profile} would be better, but {hold.message}")


def release(move: Move) -> Verdict:
    """Guard that rolls are made on releases that were read, or that a person allowed."""
    hold = release_obstacle(move.situation.settings.engine)
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.profile} is better, but no roll is begun: {hold.message}")


def roll_can_finish(move: Move) -> Verdict:
    """Guard that the roll could finish, and would cut no answer short."""
    plan = move.situation.facts.plan
    hold = None
    if plan is not None:
        # Being late with a busier row cuts more answers, by queues, than its roll does.
        hold = first_hold(plan, move.profile, voluntary=not move.busier)
    if hold is None:
        return PASSED
    return held(hold.reason, f"{move.profile} is better, but no roll is begun: {hold.message}")


_Checks = tuple[tuple[str, Callable[[Move], Verdict]], ...]

LAST_CHECKS: Final[_Checks] = (
    ("verdict", verdict),
    ("engine", engine),
    ("quarantine", quarantine),
    ("schedule", schedule),
    ("mode", mode),
    ("release", release),
    ("roll_can_finish", roll_can_finish),
    ("canary", canary),
)
"""The checks of a move that the law asks for, which guards all the rest itself."""

MOVE_CHECKS: Final[_Checks] = (
    ("evidence", evidence),
    ("dwell", dwell),
    ("daily_budget", budget),
    ("oscillation", oscillation),
    ("cooldown", cooldown),
    ("verdict", verdict),
    ("engine", engine),
    ("quarantine", quarantine),
    ("schedule", schedule),
    ("short_crowd", short_crowd),
    ("mode", mode),
    ("release", release),
    ("roll_can_finish", roll_can_finish),
    ("canary", canary),
)
"""The checks of a move that the cut-off table asks for, in order."""

BLINDING: Final = frozenset({"evidence"})
"""Those that mean the operator cannot see enough: the dwell starts anew."""
