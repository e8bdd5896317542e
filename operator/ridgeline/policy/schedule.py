"""What schedules ask for at one moment, and how that is combined with what the law wishes.

Where several windows are open, the strongest holds: a freeze over no switching on over a profile.
Of the windows that name a profile the first in a person's list wins, and a window counts from its
lead time on: a roll that takes a quarter of an hour is begun a quarter of an hour before the crowd.

    a freeze is open                        nothing is rolled
    a profile is wanted, the load permits   it takes the place of the law's wish
    a profile is wanted, the load does not  the law's wish stays: a schedule never keeps a target on
                                            a profile that the load would make it leave
    no switching on, and that is the wish   held

Which moments a cron expression means is not told here: `settings` reads it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.verdict import Hold
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction
from ridgeline.terms.times import timestamp

UNLEARNED_LEAD_SECONDS: Final = 1200.0
"""Lead where no roll was seen yet: in simulation, 10 to 30 minutes ahead cost almost nothing."""

LONGEST_LEAD_SECONDS: Final = 3600.0
"""Most lead, however slow a roll was: beyond it the load of the hour before is another one."""

LEAD_PER_ROLL: Final = 1.25
"""Lead as a multiple of the learned duration: rolls of one target differ by about a quarter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window of a schedule.

    Attributes:
        schedule: Name of the schedule.
        order: Place of the schedule in its list, from 0.
        action: What it asks for.
        profile: The profile that it names; `None` with every other action.
        starts_at: Epoch seconds of its begin; `None` when it began longer ago than was looked.
        ends_at: Epoch seconds of its end, not in the window itself; `None` when none is in sight.
        starts: Its begin for a person, such as `08:00 Europe/Berlin`; empty without `starts_at`.
        ends: Its end likewise; empty without `ends_at`.
        remark: Why it counts as open although its times cannot be told; empty otherwise.
    """

    schedule: str
    order: int
    action: ScheduleAction
    profile: str | None = None
    starts_at: float | None = None
    ends_at: float | None = None
    starts: str = ""
    ends: str = ""
    remark: str = ""

    @property
    def asks_for(self) -> str:
        """What it asks for, in a word or two."""
        return self.profile or _ASKS_FOR[self.action]

    @property
    def until(self) -> str:
        """The end as the end of a sentence: `until 18:00 Europe/Berlin`."""
        if self.remark:
            return f"({self.remark})"
        return f"until {self.ends}" if self.ends else "with no end in sight"


_ASKS_FOR: Final = {
    ScheduleAction.FREEZE: "freeze",
    ScheduleAction.FORBID_SWITCH_ON: "no switching on",
    ScheduleAction.SHORT_CROWD: "a short crowd",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """The windows of a serving at one moment.

    Attributes:
        active: Windows that are open, in the order of their list.
        leading: The first in the list of those that name a profile and whose lead time has begun
            though they are not open yet.
        upcoming: The window that opens next.
    """

    active: tuple[Window, ...] = ()
    leading: Window | None = None
    upcoming: Window | None = None

    def open(self, action: ScheduleAction) -> Window | None:
        """Return the first open window with that action."""
        return next((window for window in self.active if window.action is action), None)

    @property
    def profile(self) -> str | None:
        """The profile that is wanted now, `None` when no window asks for one."""
        return self.wanted.profile if self.wanted is not None else None

    @property
    def no_switch_on(self) -> bool:
        """Whether a window forbids switching on."""
        return self.open(ScheduleAction.FORBID_SWITCH_ON) is not None

    @property
    def crowd_is_short(self) -> bool:
        """Whether a window says that the load passes sooner than a roll would pay."""
        return self.open(ScheduleAction.SHORT_CROWD) is not None

    @property
    def wanted(self) -> Window | None:
        """The window whose profile is wanted now, open or leading; the first in the list wins."""
        opened = self.open(ScheduleAction.PROFILE)
        both = [window for window in (opened, self.leading) if window is not None]
        return min(both, key=lambda window: window.order, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The profile that a target should run, and why. It may be the one that it runs."""

    profile: str
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A wish with the schedules' word in it.

    Attributes:
        wish: What is wished now; it stands as a recommendation while a hold lasts.
        hold: Why it may not be carried out, `None` when schedules have nothing against it.
    """

    wish: Wish
    hold: Hold | None = None


def lead_seconds(learned_roll_seconds: float | None) -> float:
    """Return how long before a window its profile is wanted, in seconds.

    Args:
        learned_roll_seconds: How long a roll of this target takes; `None` while none was seen.
    """
    learned = learned_roll_seconds
    if learned is None or not math.isfinite(learned) or learned < 0:
        return UNLEARNED_LEAD_SECONDS
    return min(LEAD_PER_ROLL * learned, LONGEST_LEAD_SECONDS)


def merge_with_schedule(
    state: ScheduleState | None,
    wish: Wish,
    *,
    switches_on: Callable[[str], bool],
    must_be_left: Callable[[str], bool],
) -> Merged:
    """Combine the law's wish with what schedules ask for.

    Args:
        state: The windows now; `None` when the serving has no schedule.
        wish: What the law wishes; the active profile when it wishes no change.
        switches_on: Whether rolling from the active profile to that one is switching on (to a
            range for less concurrency).
        must_be_left: Whether the load now is one at which the law would leave that profile for a
            range for more concurrency, or would not go to it (`left_by_load` for a table).
    """
    if state is None:
        return Merged(wish=wish)
    merged = _with_scheduled_profile(state, wish, must_be_left)
    freeze = state.open(ScheduleAction.FREEZE)
    if freeze is not None:
        message = f"schedule {freeze.schedule} freezes the target {freeze.until}: nothing is rolled"
        return Merged(wish=merged, hold=Hold(reason=Reason.FROZEN_BY_SCHEDULE, message=message))
    off = state.open(ScheduleAction.FORBID_SWITCH_ON)
    if off is not None and switches_on(merged.profile):
        message = f"schedule {off.schedule} forbids switching on {off.until}; " + (
            f"wanted: {merged.profile} ({merged.message})"
        )
        hold = Hold(reason=Reason.SWITCH_ON_FORBIDDEN_BY_SCHEDULE, message=message)
        return Merged(wish=merged, hold=hold)
    return Merged(wish=merged)


def left_by_load(
    table: CutoffTable, active: str | None, concurrency: float
) -> Callable[[str], bool]:
    """Return what tells whether the load forbids a profile, for a serving that follows a table.

    It forbids a profile for less concurrency than the active one until it is below every lower edge
    on the way there, and any other once it is at that profile's own cut-off. So a schedule and the
    table never chase each other: what the one switches on, the other does not leave at the same
    load. A profile without a row is always forbidden, since nobody could tell when to leave it.

    Args:
        table: The cut-off table that is followed.
        active: The active profile.
        concurrency: Requests in decode per engine, a mean over the rate window.
    """
    here = table.index_of(active) if active is not None else None

    def is_forbidden(profile: str) -> bool:
        row = table.index_of(profile)
        if row is None:
            return True
        start = row if here is None else max(row, here)
        return table.next_row(start, concurrency) > row

    return is_forbidden


def hold_through_crowd(state: ScheduleState | None) -> Hold | None:
    """Return why a saturated target is not rolled now where the roll would take capacity away.

    `None` when no schedule says that the crowd is short. A roll that leaves enough capacity in all
    its phases is not meant.
    """
    crowd = state.open(ScheduleAction.SHORT_CROWD) if state is not None else None
    if crowd is None:
        return None
    return Hold(
        reason=Reason.SHORT_CROWD_SCHEDULED,
        message=f"schedule {crowd.schedule} tells of a short crowd {crowd.until}: a roll that "
        "takes capacity away would last longer than it helps",
    )


def next_schedule_entry(state: ScheduleState | None) -> dict[str, Any] | None:
    """Return status.nextSchedule; `None` when no window opens any more."""
    window = state.upcoming if state is not None else None
    if window is None or window.starts_at is None:
        return None
    entry = {"name": window.schedule, "startTime": timestamp(window.starts_at)}
    if window.profile is not None:
        entry["profile"] = window.profile
    return entry | {"message": f"{window.asks_for} at {window.starts}"}


def _with_scheduled_profile(
    state: ScheduleState, wish: Wish, must_be_left: Callable[[str], bool]
) -> Wish:
    window = state.wanted
    if window is None or window.profile is None or must_be_left(window.profile):
        return wish
    when = window.until if window in state.active else f"from {window.starts} on, a roll ahead"
    return Wish(
        profile=window.profile,
        reason=Reason.SCHEDULED,
        message=f"schedule {window.schedule} asks for {window.profile} {when}",
    )
