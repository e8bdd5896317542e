"""What schedules ask of a serving that follows a table, and what they forbid any move."""

from dataclasses import replace

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.by_law import is_saturated, roll_strategy
from ridgeline.policy.lifecycle import learned_roll_seconds
from ridgeline.policy.memory import SlowMemory
from ridgeline.policy.schedule import (
    LONGEST_LEAD_SECONDS,
    Wish,
    hold_through_crowd,
    lead_seconds,
    left_by_load,
    merge_with_schedule,
)
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import Hold
from ridgeline.terms.reasons import Reason


def lead_of(slow: SlowMemory, now: float) -> float:
    """Return how long before a window its profile is wanted, in seconds.

    A roll that was begun ahead of a window teaches that rolls are faster than was thought; the lead
    that it was begun with holds until the window can have opened, or it would be undone before.
    """
    lead = lead_seconds(learned_roll_seconds(slow))
    last = slow.switches[-1] if slow.switches else None
    if last is None or last.reason is not Reason.SCHEDULED:
        return lead
    if now - last.started_at >= LONGEST_LEAD_SECONDS:
        return lead
    before = replace(slow, switches=slow.switches[:-1])
    return max(lead, lead_seconds(learned_roll_seconds(before)))


def scheduled_wish(situation: Situation, table: CutoffTable, concurrency: float) -> Wish | None:
    """Return the profile that a schedule names, unless the load forbids it; `None` without one."""
    active, state = situation.active, situation.settings.schedule
    if state is None or active is None:
        return None
    merged = merge_with_schedule(
        state,
        Wish(profile=active, reason=Reason.BEST_PROFILE_ACTIVE, message=""),
        switches_on=lambda _: False,
        must_be_left=left_by_load(table, active, concurrency),
    )
    return merged.wish if merged.wish.reason is Reason.SCHEDULED else None


def schedule_hold(situation: Situation, wish: Wish, *, busier: bool) -> Hold | None:
    """Return why schedules let a wished move not be made, `None` when they have nothing against it.

    Args:
        situation: The moment.
        wish: The move's profile, and why.
        busier: Whether it goes to a range for more concurrency, which only a freeze forbids.
    """
    return merge_with_schedule(
        situation.settings.schedule,
        wish,
        switches_on=lambda _: not busier,
        must_be_left=lambda _: True,
    ).hold


def crowd_hold(situation: Situation) -> Hold | None:
    """Return why full servers are not rolled through a crowd that a schedule says is short.

    `None` where no schedule says so, the servers are not full, or the roll takes nothing away.
    """
    hold = hold_through_crowd(situation.settings.schedule)
    takes_away = roll_strategy(situation).unavailable > 0
    return hold if hold is not None and takes_away and is_saturated(situation) else None
