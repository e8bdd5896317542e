"""What schedules do to the law's wish."""

import math

import pytest

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.schedule import (
    LONGEST_LEAD_SECONDS,
    UNLEARNED_LEAD_SECONDS,
    Merged,
    ScheduleState,
    Window,
    Wish,
    hold_through_crowd,
    lead_seconds,
    left_by_load,
    merge_with_schedule,
    next_schedule_entry,
)
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction

STAY = Wish(profile="none", reason=Reason.INSIDE_BAND, message="inside the band")
FASTER = Wish(profile="eagle", reason=Reason.BELOW_CUTOFF, message="below 16 for 600 s")


def window(action: ScheduleAction, order: int = 0, **fields: object) -> Window:
    """Return a window of that action until six o'clock."""
    known: dict[str, object] = {
        "schedule": f"s{order}",
        "order": order,
        "action": action,
        "starts_at": 1_800_000_000.0,
        "ends_at": 1_800_036_000.0,
        "starts": "08:00 Europe/Berlin",
        "ends": "18:00 Europe/Berlin",
    }
    return Window(**{**known, **fields})  # type: ignore[arg-type]


def wants(profile: str, order: int = 0) -> Window:
    return window(ScheduleAction.PROFILE, order, profile=profile)


FREEZE = window(ScheduleAction.FREEZE, 8)
NO_SWITCH_ON = window(ScheduleAction.FORBID_SWITCH_ON, 9)
CROWD = window(ScheduleAction.SHORT_CROWD, 7)


def merged(
    *active: Window, wish: Wish = STAY, left: tuple[str, ...] = (), leading: Window | None = None
) -> Merged:
    """Merge for a target that runs `none`; rolling to anything else is switching on."""
    return merge_with_schedule(
        ScheduleState(active=active, leading=leading),
        wish,
        switches_on=lambda profile: profile != "none",
        must_be_left=lambda profile: profile in left,
    )


@pytest.mark.parametrize("wish", [STAY, FASTER])
def test_without_a_window_the_wish_stands(wish: Wish) -> None:
    assert merged(wish=wish) == Merged(wish=wish)
    assert merged(CROWD, wish=wish) == Merged(wish=wish)
    unasked = merge_with_schedule(
        None, wish, switches_on=lambda _: True, must_be_left=lambda _: True
    )
    assert unasked == Merged(wish=wish)


def test_a_scheduled_profile_takes_the_place_of_the_wish() -> None:
    found = merged(wants("eagle"))
    assert found.hold is None
    assert (found.wish.profile, found.wish.reason) == ("eagle", Reason.SCHEDULED)
    assert found.wish.message == "schedule s0 asks for eagle until 18:00 Europe/Berlin"


def test_a_profile_whose_lead_time_has_begun_is_wished_and_says_from_when() -> None:
    found = merged(leading=wants("eagle"))
    assert (found.wish.profile, found.wish.reason) == ("eagle", Reason.SCHEDULED)
    assert "from 08:00 Europe/Berlin on" in found.wish.message


def test_the_first_in_the_list_wins_among_profiles_open_or_leading() -> None:
    assert merged(wants("eagle", 1), wants("ngram", 2)).wish.profile == "eagle"
    assert merged(wants("eagle", 1), leading=wants("ngram", 0)).wish.profile == "ngram"
    assert merged(wants("eagle", 1), leading=wants("ngram", 2)).wish.profile == "eagle"


def test_the_load_is_stronger_than_a_scheduled_profile() -> None:
    assert merged(wants("eagle"), left=("eagle",)) == Merged(wish=STAY)


@pytest.mark.parametrize(
    ("active", "concurrency", "forbidden"),
    [
        ("none", 15.9, ()),
        ("none", 16.0, ("eagle",)),
        ("none", 29.9, ("eagle",)),
        ("none", 30.0, ("eagle", "ngram")),
        ("eagle", 19.9, ()),
        ("eagle", 20.0, ("eagle",)),
        ("eagle", 40.0, ("eagle", "ngram")),
        ("ngram", 16.0, ("eagle",)),
        ("ngram", 39.9, ("eagle",)),
        (None, 19.9, ()),
        ("stranger", 20.0, ("eagle",)),
    ],
)
def test_the_load_forbids_what_the_table_would_leave_or_not_go_to(
    active: str | None, concurrency: float, forbidden: tuple[str, ...]
) -> None:
    table = CutoffTable(
        (
            CutoffRow(profile="eagle", up_to=20.0, return_below=16.0),
            CutoffRow(profile="ngram", up_to=40.0, return_below=30.0),
            CutoffRow(profile="none"),
        )
    )
    is_forbidden = left_by_load(table, active, concurrency)
    assert tuple(row.profile for row in table.rows if is_forbidden(row.profile)) == forbidden
    assert is_forbidden("stranger")


def test_a_freeze_holds_everything_and_keeps_the_wish_as_a_recommendation() -> None:
    found = merged(wants("ngram"), FREEZE, NO_SWITCH_ON, wish=FASTER)
    assert found.wish.profile == "ngram"
    assert found.hold is not None
    assert found.hold.reason is Reason.FROZEN_BY_SCHEDULE
    assert found.hold.message == (
        "schedule s8 freezes the target until 18:00 Europe/Berlin: nothing is rolled"
    )
    assert merged(FREEZE).hold is not None


@pytest.mark.parametrize("active", [(), (wants("eagle"),)])
def test_no_switching_on_holds_the_law_and_a_scheduled_profile(active: tuple[Window, ...]) -> None:
    found = merged(*active, NO_SWITCH_ON, wish=FASTER)
    assert found.wish.profile == "eagle"
    assert found.hold is not None
    assert found.hold.reason is Reason.SWITCH_ON_FORBIDDEN_BY_SCHEDULE
    assert "s9 forbids switching on until 18:00" in found.hold.message


def test_no_switching_on_lets_everything_else_pass() -> None:
    assert merged(NO_SWITCH_ON) == Merged(wish=STAY)
    assert merged(NO_SWITCH_ON, wants("none"), wish=FASTER).hold is None


def test_a_window_that_cannot_be_read_says_why_it_holds() -> None:
    unread = window(ScheduleAction.FREEZE, ends="", remark="timeZone is 'Mars'")
    found = merged(unread)
    assert found.hold is not None
    assert "timeZone is 'Mars'" in found.hold.message


def test_a_short_crowd_is_a_reason_to_sit_it_out() -> None:
    hold = hold_through_crowd(ScheduleState(active=(CROWD,)))
    assert hold is not None
    assert hold.reason is Reason.SHORT_CROWD_SCHEDULED
    assert "s7" in hold.message
    assert hold_through_crowd(ScheduleState(active=(FREEZE,))) is None
    assert hold_through_crowd(None) is None


def test_the_law_reads_three_words_from_a_state() -> None:
    state = ScheduleState(active=(CROWD, NO_SWITCH_ON), leading=wants("none"))
    assert (state.profile, state.no_switch_on, state.crowd_is_short) == ("none", True, True)
    nothing = ScheduleState(active=(FREEZE,))
    assert (nothing.profile, nothing.no_switch_on, nothing.crowd_is_short) == (None, False, False)


@pytest.mark.parametrize(
    ("learned", "lead"),
    [
        (None, UNLEARNED_LEAD_SECONDS),
        (math.nan, UNLEARNED_LEAD_SECONDS),
        (math.inf, UNLEARNED_LEAD_SECONDS),
        (-1.0, UNLEARNED_LEAD_SECONDS),
        (0.0, 0.0),
        (800.0, 1000.0),
        (7200.0, LONGEST_LEAD_SECONDS),
    ],
)
def test_the_lead_time_follows_the_learned_roll(learned: float | None, lead: float) -> None:
    assert lead_seconds(learned) == lead


@pytest.mark.parametrize(
    ("coming", "message"),
    [
        (FREEZE, "freeze at 08:00 Europe/Berlin"),
        (NO_SWITCH_ON, "no switching on at 08:00 Europe/Berlin"),
        (CROWD, "a short crowd at 08:00 Europe/Berlin"),
    ],
)
def test_status_tells_what_comes_next(coming: Window, message: str) -> None:
    assert next_schedule_entry(ScheduleState(upcoming=coming)) == {
        "name": coming.schedule,
        "startTime": "2027-01-15T08:00:00Z",
        "message": message,
    }
    assert next_schedule_entry(None) is None
