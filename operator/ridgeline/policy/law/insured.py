"""Insured borders: off on any sign, on only when all agree.

Leave for a busier profile when any of {D > D_off, B > B_off, saturation} has lasted 60 s; for a
quieter one when all of {D < D_on, B < B_on, not saturated} have lasted 600 s.

Each signal alone fails somewhere: B is made by the profile itself, so a band on B rolls for ever
where the cut-off is set too high; D as served stops rising when the servers are full, so a
threshold above that is never reached. Together they are sound.

With more than two profiles D > D_off moves past every border that D has passed, B alone one row up,
saturation to the busiest profile. Downwards every border on the way must allow it. D_on < D_off at
each border, so what D has moved up over, the same D does not come down over, and the reverse.
"""

from dataclasses import dataclass

from ridgeline.policy.law.borders import off_concurrency, on_concurrency
from ridgeline.policy.law.moment import Moment
from ridgeline.policy.law.terms import LawMode, LawReason
from ridgeline.policy.wording import number, number_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Why another profile is asked for now, whether or not that has lasted.

    Attributes:
        row: Row that it asks for.
        reason: Why.
        because: The same for a person.
    """

    row: int
    reason: LawReason
    because: str


def busier_sign(moment: Moment) -> Sign | None:
    """Return the sign to leave over an insured border upwards: the first, to the busiest row."""
    if moment.above is None or moment.above.mode is not LawMode.INSURED:
        return None
    signs = [
        sign
        for sign in (_by_demand(moment), _by_concurrency(moment), saturation_sign(moment))
        if sign is not None
    ]
    if not signs:
        return None
    row = max(sign.row for sign in signs)
    return Sign(row=row, reason=signs[0].reason, because=signs[0].because)


def _by_demand(moment: Moment) -> Sign | None:
    row, demand = moment.row, moment.seen.demand
    while row < moment.top:
        limit = moment.borders[row].off_demand
        if limit is None or demand <= limit:
            break
        row += 1
    if row == moment.row:
        return None
    limit = moment.borders[row - 1].off_demand or 0.0
    return Sign(
        row=row,
        reason=LawReason.DEMAND_ABOVE_OFF,
        because=f"demand is {number_beside(demand, limit)} tokens/s, above {number(limit)}, where "
        f"{moment.borders[row - 1].quieter} is left",
    )


def _by_concurrency(moment: Moment) -> Sign | None:
    border = moment.above
    limit = off_concurrency(border, moment.curve, moment.seen.engines) if border else None
    if border is None or limit is None or moment.seen.concurrency <= limit:
        return None
    return Sign(
        row=moment.row + 1,
        reason=LawReason.CONCURRENCY_ABOVE_OFF,
        because=f"concurrency per engine is {number_beside(moment.seen.concurrency, limit)}, above "
        f"{number(limit)}, where {border.quieter} is left",
    )


def saturation_sign(moment: Moment) -> Sign | None:
    """Return the sign of full servers, where a busier profile has more capacity.

    Where the curves never cross, only what full servers were seen to deliver can speak: a profile
    that is predicted to deliver clearly more is gone to, unless the queue is being worked off.
    """
    if not moment.seen.saturated:
        return None
    row = moment.top
    if row == moment.row and not moment.seen.draining:
        row = _carries_more_than_served(moment)
    if row == moment.row:
        return None
    return Sign(
        row=row,
        reason=LawReason.SATURATED,
        because="requests wait for capacity or lose their place",
    )


def _carries_more_than_served(moment: Moment) -> int:
    """Return the busiest row predicted to deliver clearly more than was seen, else the running."""
    least = moment.settings.worth_share * moment.seen.served
    rows = range(moment.row + 1, len(moment.inputs.curves))
    enough = [r for r in rows if moment.inputs.curves[r].capacity * moment.seen.engines >= least]
    return max(enough, default=moment.row)


def quieter_sign(moment: Moment) -> Sign | None:
    """Return the sign to leave over insured borders downwards, as far as all of them allow."""
    row = moment.row
    while row > 0 and moment.borders[row - 1].mode is LawMode.INSURED:
        if not quiet_enough(moment, row - 1):
            break
        row -= 1
    if row == moment.row:
        return None
    border = moment.borders[moment.row - 1]
    level = on_concurrency(border, moment.curve, moment.seen.engines)
    return Sign(
        row=row,
        reason=LawReason.ALL_QUIET,
        because=f"demand is {number_beside(moment.seen.demand, border.on_demand)} tokens/s (below "
        f"{number(border.on_demand)}), concurrency per engine "
        f"{number_beside(moment.seen.concurrency, level)} (below {number(level)}), "
        "and nothing waits for capacity",
    )


def quiet_enough(moment: Moment, below: int) -> bool:
    """Tell whether demand, concurrency and the queue all allow crossing a border downwards."""
    border, seen = moment.borders[below], moment.seen
    return (
        not seen.saturated
        and seen.demand < border.on_demand
        and seen.concurrency < on_concurrency(border, moment.curve, seen.engines)
    )
