"""Which move is asked for: schedules and signs upwards first, then downwards, then regret."""

from dataclasses import replace

from ridgeline.policy.law.borders import keeps_capacity
from ridgeline.policy.law.experience import is_busier, recent_alike
from ridgeline.policy.law.insured import (
    Sign,
    busier_sign,
    quiet_enough,
    quieter_sign,
    saturation_sign,
)
from ridgeline.policy.law.memory import FastMemory
from ridgeline.policy.law.moment import Moment, Proposal
from ridgeline.policy.law.regret import with_regret
from ridgeline.policy.law.terms import LawMode, LawReason
from ridgeline.policy.wording import number, number_beside


def propose(moment: Moment, fast: FastMemory) -> tuple[Proposal | None, FastMemory]:
    """Return the move that is asked for, and memory with timers and regret brought up to now."""
    upwards = _scheduled_busier(moment) or busier_sign(moment)
    downwards = _scheduled_quieter(moment) or quieter_sign(moment)
    full = None if moment.seen.draining else saturation_sign(moment)
    fast = replace(
        fast,
        busier_since=_since(fast.busier_since, moment, upwards is not None),
        quieter_since=_since(
            fast.quieter_since, moment, downwards is not None and moment.seen.complete
        ),
        saturated_since=_since(fast.saturated_since, moment, full is not None),
    )
    by_regret, fast = _regret(moment, fast)
    proposals = (
        _lasting(moment, upwards, fast.busier_since, moment.settings.busier_dwell_seconds),
        _lasting(moment, full, fast.saturated_since, _escape(moment)) if upwards is None else None,
        _lasting(moment, downwards, fast.quieter_since, _quieter_dwell(moment, downwards)),
        by_regret,
    )
    ripe = [each for each in proposals if each is not None and each.lasted >= each.needed]
    waiting = [each for each in proposals if each is not None]
    chosen = next(iter(ripe or waiting), None)
    if chosen is None:
        return None, fast
    return replace(chosen, row=_far_enough(moment, chosen.row)), fast


def _since(before: float | None, moment: Moment, holds: bool) -> float | None:
    """Return since when something holds; what holds for the first time holds since now."""
    if not holds:
        return None
    return moment.now if before is None else min(before, moment.now)


def _lasting(
    moment: Moment, sign: Sign | None, since: float | None, needed: float
) -> Proposal | None:
    if sign is None:
        return None
    return Proposal(
        row=sign.row,
        reason=sign.reason,
        because=sign.because,
        lasted=0.0 if since is None else moment.now - since,
        needed=needed,
    )


def _escape(moment: Moment) -> float:
    settings = moment.settings
    if keeps_capacity(moment.inputs):
        return settings.escape_seconds_surge
    return settings.escape_seconds


def _quieter_dwell(moment: Moment, sign: Sign | None) -> float:
    settings = moment.settings
    if sign is not None and sign.reason is LawReason.SCHEDULED:
        return settings.busier_dwell_seconds
    return settings.quieter_dwell_seconds


def _scheduled_busier(moment: Moment) -> Sign | None:
    named = moment.inputs.row_of(moment.inputs.schedule.profile)
    if named is None or named <= moment.row:
        return None
    return _by_schedule(moment, named)


def _scheduled_quieter(moment: Moment) -> Sign | None:
    """Return a schedule's sign downwards, as far as load allows: it never chases the law."""
    named = moment.inputs.row_of(moment.inputs.schedule.profile)
    if named is None or named >= moment.row:
        return None
    row = moment.row
    while row > named and quiet_enough(moment, row - 1):
        row -= 1
    return _by_schedule(moment, row) if row < moment.row else None


def _by_schedule(moment: Moment, row: int) -> Sign:
    return Sign(
        row=row,
        reason=LawReason.SCHEDULED,
        because=f"a schedule names {moment.inputs.schedule.profile} now",
    )


def _regret(moment: Moment, fast: FastMemory) -> tuple[Proposal | None, FastMemory]:
    rows = _regretted_rows(moment)
    if len(rows) < 2:
        return None, replace(fast, regret=0.0)
    regret = with_regret(
        fast.regret,
        running=moment.curve.profile,
        requests={moment.profile(row): moment.requests_on(row) for row in rows},
        seconds=moment.seen.seconds,
        settings=moment.settings,
    )
    towards = moment.inputs.row_of(regret.towards)
    if towards is None:
        return None, replace(fast, regret=regret.request_seconds)
    needed = moment.settings.regret_share * moment.cost_of(towards)
    # Beyond what a move needs, regret is no reason to move after the load has turned.
    spent = min(regret.request_seconds, needed)
    proposal = Proposal(
        row=towards,
        reason=LawReason.REGRET,
        because=f"at {number(moment.seen.demand)} tokens/s {moment.curve.profile} has cost "
        f"{number_beside(spent, needed)} request-seconds more than {regret.towards}, of "
        f"{number(needed)} that a roll is worth",
        lasted=spent,
        needed=needed,
        unit="request-seconds",
    )
    return proposal, replace(fast, regret=spent)


def _regretted_rows(moment: Moment) -> tuple[int, ...]:
    """Return the running row and those that are reached over borders in regret mode alone."""
    low = high = moment.row
    while high < moment.top and moment.borders[high].mode is LawMode.REGRET:
        high += 1
    while low > 0 and moment.borders[low - 1].mode is LawMode.REGRET and _allowed(moment, low - 1):
        low -= 1
    return tuple(range(low, high + 1))


def _allowed(moment: Moment, below: int) -> bool:
    """Tell whether sight, the queue and experience let a border be crossed downwards."""
    border, seen = moment.borders[below], moment.seen
    demand, level = border.taught_demand, border.taught_concurrency
    return (
        seen.complete
        and not seen.saturated
        and (demand is None or seen.demand < demand)
        and (level is None or seen.concurrency < level)
    )


def _far_enough(moment: Moment, row: int) -> int:
    """Return the row of a move upwards, farther where the last move was made at the same load.

    A second move upwards goes to the top, one that undoes a move downwards at least back to where
    that one came from: so a load that stays the same causes two moves at most.
    """
    if row <= moment.row:
        return row
    turn = recent_alike(
        moment.slow,
        demand=moment.demand_per_engine,
        concurrency=moment.seen.concurrency,
        now=moment.now,
        settings=moment.settings,
    )
    if turn is None:
        return row
    if is_busier(moment.inputs, turn):
        return max(row, moment.top)
    back = moment.inputs.row_of(turn.from_profile)
    return row if back is None else max(row, back)
