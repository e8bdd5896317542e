"""What stands between a wish and a move, in order; the first that does not pass holds it.

Both ways: the day's budget, of which the last switch is kept for going busier. Quieter alone: every
replica seen, no schedule against it, not locked by the detector, the cooldown since the last roll,
and a roll that carries the highest demand of the last five minutes with 10 % to spare (it is
voluntary and can wait). Busier alone: the roll is begun while every phase carries the demand with
5 % to spare; else if surge keeps the capacity; else when the busier profile carries at least 10 %
more and either the servers are full already, or demand is near the cut-off and the signs have
lasted for ten minutes (longer than a burst), unless a schedule says that the crowd is short. It
must not be a hard "never when capacity is short": that locks a fleet in the losing profile, and a
roll is dearer the longer it waits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ridgeline.policy.comparison import Comparison
from ridgeline.policy.law.borders import keeps_capacity
from ridgeline.policy.law.capacity import least_capacity
from ridgeline.policy.law.experience import is_busier, recent_alike
from ridgeline.policy.law.inputs import MOST
from ridgeline.policy.law.memory import Turn
from ridgeline.policy.law.moment import Moment
from ridgeline.policy.law.terms import LawMode, LawReason
from ridgeline.policy.verdict import at_least, at_most
from ridgeline.policy.wording import duration, number, number_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """Why a wished move is not made now.

    Attributes:
        reason: The name of it.
        message: The same for a person, the second half of a sentence.
        opposite: The move that the detector holds this one against.
    """

    reason: LawReason
    message: str
    opposite: Turn | None = None


Checked = tuple[Barrier | None, tuple[Comparison, ...]]
Guard = Callable[[Moment, int], Checked]

_FEW_REPLICAS: Final = 2


def budget(moment: Moment, row: int) -> Checked:
    """Guard the day's switches: one must be left, and two for going quieter."""
    left = moment.inputs.switches_left
    if left is None:
        return None, ()
    needed = 1 if row > moment.row else 2
    compared = at_least(
        "switches left in 24 hours", left, needed, met="enough", missed="the budget is spent"
    )
    if left >= needed:
        return None, (compared,)
    kept = " (the last one is kept for going busier)" if left > 0 else ""
    told = f"{left} of the day's switches are left{kept}"
    return Barrier(reason=LawReason.BUDGET_SPENT, message=told), (compared,)


def all_seen(moment: Moment, _row: int) -> Checked:
    """Guard that switching on rests on every replica."""
    share = min(1.0, moment.inputs.seen_share)
    compared = at_least(
        "share of the replicas seen", share, 1.0, met="all", missed="too few for switching on"
    )
    if moment.seen.complete:
        return None, (compared,)
    told = f"{number_beside(100 * share, 100)} % of the replicas are seen, and it needs all"
    if not moment.inputs.whole_answer:
        told = "telemetry answers only in part, and it needs all"
    return Barrier(reason=LawReason.PARTIAL_DATA, message=told), (compared,)


def schedule(moment: Moment, row: int) -> Checked:
    """Guard that no schedule speaks against switching on."""
    told = moment.inputs.schedule
    if told.no_switch_on:
        message = "a schedule forbids switching on now"
        return Barrier(reason=LawReason.SCHEDULE_FORBIDS, message=message), ()
    named = moment.inputs.row_of(told.profile)
    if named is not None and row < named:
        message = f"a schedule names {told.profile} now"
        return Barrier(reason=LawReason.SCHEDULE_FORBIDS, message=message), ()
    return None, ()


def lock(moment: Moment, _row: int) -> Checked:
    """Guard against doing and undoing at the same load."""
    until, now = moment.slow.locked_until, moment.now
    if until is not None and now < until:
        left = duration(until - now)
        message = f"switching on is locked for {left} more: two decisions at one load disagreed"
        return Barrier(reason=LawReason.LOCKED, message=message), ()
    turn = recent_alike(
        moment.slow,
        demand=moment.demand_per_engine,
        concurrency=moment.seen.concurrency,
        now=now,
        settings=moment.settings,
    )
    if turn is None or is_busier(moment.inputs, turn) is not True:
        return None, ()
    message = (
        f"{turn.to_profile} was chosen {duration(max(0.0, now - turn.at))} ago at the same load "
        f"({number(turn.demand)} tokens/s and {number(turn.concurrency)} requests per engine)"
    )
    return Barrier(reason=LawReason.LOCKED, message=message, opposite=turn), ()


def cooldown(moment: Moment, row: int) -> Checked:
    """Guard the time after a roll, in which nothing is switched on."""
    ended = moment.inputs.roll.finished_at
    if ended is None:
        return None, ()
    crossed = moment.borders[row : moment.row]
    insured = any(border.mode is LawMode.INSURED for border in crossed)
    settings = moment.settings
    limit = settings.insured_cooldown_seconds if insured else settings.regret_cooldown_seconds
    since = max(0.0, moment.now - ended)
    compared = at_least(
        "seconds since the last roll ended",
        since,
        limit,
        met="the cooldown is over",
        missed="the cooldown binds switching on",
    )
    if since >= limit:
        return None, (compared,)
    told = f"the cooldown of {duration(limit)} has {duration(limit - since)} left"
    return Barrier(reason=LawReason.COOLDOWN, message=told), (compared,)


def carried_on(moment: Moment, row: int) -> Checked:
    """Guard that a roll which can wait carries the recent maximum of demand."""
    least = least_capacity(moment.roll_to(row))
    limit = moment.settings.voluntary_share * least
    compared = _room("highest demand of 5 minutes, tokens/s", moment.seen.high, limit)
    if moment.seen.high <= limit:
        return None, (compared,)
    return _too_much(moment, moment.seen.high, limit), (compared,)


def carried_off(moment: Moment, row: int) -> Checked:
    """Guard that a roll away from a profile does not do what it is to prevent."""
    roll = moment.roll_to(row)
    limit = moment.settings.off_roll_share * least_capacity(roll)
    compared = _room("demand, tokens/s", moment.seen.demand, limit)
    if moment.seen.demand <= limit or keeps_capacity(moment.inputs):
        return None, (compared,)
    worth = moment.settings.worth_share
    before = roll.old.capacity * moment.seen.engines
    # What full servers deliver is known better than what they were predicted to.
    before = min(before, moment.seen.served) if moment.seen.saturated else before
    gain = min(MOST, roll.new.capacity * moment.seen.engines / before) if before > 0 else MOST
    worthwhile = at_least(
        "capacity of the busier profile ÷ that of the running one",
        gain,
        worth,
        met="worth a roll of full servers",
        missed="not worth a roll of full servers",
    )
    short = moment.inputs.schedule.crowd_is_short
    late = moment.above.late_demand if moment.above is not None else None
    lasts = moment.busier_for >= moment.settings.patience_seconds
    no_burst = lasts and late is not None and moment.seen.demand > late
    if (moment.seen.saturated or no_burst) and gain >= worth and not short:
        return None, (compared, worthwhile)
    return _too_much(moment, moment.seen.demand, limit), (compared, worthwhile)


def _room(name: str, demand: float, limit: float) -> Comparison:
    return at_most(
        name,
        demand,
        limit,
        met="every phase of the roll carries it",
        missed="some phase of the roll could not carry it",
    )


def _too_much(moment: Moment, demand: float, limit: float) -> Barrier:
    strategy = moment.inputs.strategy
    small = strategy.replicas <= _FEW_REPLICAS and not keeps_capacity(moment.inputs)
    told = (
        f"a roll can carry {number_beside(limit, demand)} tokens/s with one batch of replicas out, "
        f"and {number_beside(demand, limit)} are asked for"
    )
    if small:
        told += "; with so few replicas and no surge little can be gained (allow maxSurge 1)"
    reason = LawReason.TOO_SMALL_TO_ROLL if small else LawReason.ROLL_WOULD_SATURATE
    return Barrier(reason=reason, message=told)


QUIETER_GUARDS: Final[tuple[Guard, ...]] = (all_seen, schedule, lock, budget, cooldown, carried_on)
BUSIER_GUARDS: Final[tuple[Guard, ...]] = (budget, carried_off)


def first_barrier(moment: Moment, row: int) -> Checked:
    """Return what holds a move to a row, and every number that was compared on the way."""
    compared: tuple[Comparison, ...] = ()
    for guard in BUSIER_GUARDS if row > moment.row else QUIETER_GUARDS:
        barrier, numbers = guard(moment, row)
        compared += numbers
        if barrier is not None:
            return barrier, compared
    return None, compared
