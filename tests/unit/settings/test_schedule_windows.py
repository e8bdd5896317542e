"""Which windows are open, which lead, which come next, and what is said of schedules."""

from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pytest

from ridgeline.api.schedules import Schedule
from ridgeline.policy.schedule import ScheduleState, next_schedule_entry
from ridgeline.settings.cron import Rhythm, at, trouble
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.schedules import (
    findings_of,
    schedule_findings,
    schedule_of,
    schedule_state,
)
from ridgeline.terms.reasons import Reason
from ridgeline.terms.schedules import ScheduleAction
from tests.unit.settings.asked import policy, serving

BERLIN = "Europe/Berlin"
HOUR = 3600
NAMES = ("eagle", "none")


def schedule(name: str = "day", cron: str = "0 8 * * *", **fields: Any) -> Schedule:
    """Return a schedule in Berlin: ten hours from eight o'clock on that want `none`."""
    action = {} if fields.keys() & {"freeze", "switchOn", "crowd"} else {"profile": "none"}
    return Schedule.model_validate(
        {
            "name": name,
            "cron": cron,
            "durationSeconds": 10 * HOUR,
            "timeZone": BERLIN,
            **action,
            **fields,
        }
    )


def moment(text: str, zone: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def state(*schedules: Schedule, when: str, lead: float = 0.0) -> ScheduleState:
    return schedule_state(schedules, moment(when), lead, NAMES)


def names(state_: ScheduleState) -> list[str]:
    return [window.schedule for window in state_.active]


class TestState:
    @pytest.mark.parametrize(
        ("when", "opened"),
        [
            ("2026-06-01 07:59:59", False),
            ("2026-06-01 08:00", True),
            ("2026-06-01 17:59:59", True),
            ("2026-06-01 18:00", False),
        ],
    )
    def test_a_window_is_open_from_its_begin_on_and_not_at_its_end(
        self, when: str, opened: bool
    ) -> None:
        assert (names(state(schedule(), when=when)) == ["day"]) is opened

    def test_the_next_window_is_told_on_its_own_clock(self) -> None:
        seen = state(schedule(), when="2026-06-01 07:00")
        assert seen.upcoming is not None
        assert (seen.upcoming.starts, seen.upcoming.ends) == (
            "08:00 Europe/Berlin",
            "18:00 Europe/Berlin",
        )
        assert next_schedule_entry(seen) == {
            "name": "day",
            "startTime": "2026-06-01T06:00:00Z",
            "profile": "none",
            "message": "none at 08:00 Europe/Berlin",
        }

    @pytest.mark.parametrize(
        ("when", "told"),
        [
            ("2026-06-02 07:00", "2026-06-08 08:00 Europe/Berlin"),
            ("2026-06-07 07:59", "2026-06-08 08:00 Europe/Berlin"),
            ("2026-06-07 08:00", "08:00 Europe/Berlin"),
        ],
    )
    def test_one_that_is_more_than_a_day_away_is_told_with_its_date(
        self, when: str, told: str
    ) -> None:
        seen = state(schedule(cron="0 8 * * MON"), when=when)
        assert seen.upcoming is not None
        assert seen.upcoming.starts == told

    def test_the_zone_is_utc_where_nobody_says(self) -> None:
        plain = Schedule.model_validate(
            {"name": "day", "cron": "0 8 * * *", "durationSeconds": 60, "crowd": "Short"}
        )
        seen = state(plain, when="2026-06-01 07:00")
        assert seen.upcoming is not None
        assert seen.upcoming.starts == "08:00 UTC"

    def test_the_next_of_several_is_the_one_that_opens_first(self) -> None:
        late, soon = schedule("late", "0 20 * * *"), schedule("soon", "0 9 * * *")
        seen = state(late, soon, when="2026-06-01 07:00")
        assert seen.upcoming is not None
        assert seen.upcoming.schedule == "soon"

    def test_no_schedule_is_no_window(self) -> None:
        assert state(when="2026-06-01 07:00") == ScheduleState()
        assert next_schedule_entry(ScheduleState()) is None

    def test_a_window_that_lasts_until_the_next_is_always_open(self) -> None:
        always = schedule(cron="0 * * * *", durationSeconds=HOUR)
        seen = state(always, when="2026-06-01 07:30")
        (window,) = seen.active
        assert (window.starts_at, window.ends_at, seen.upcoming) == (None, None, None)
        assert window.until == "with no end in sight"

    def test_windows_that_touch_are_one(self) -> None:
        rush = schedule(cron="*/10 8-9 * * *", durationSeconds=600)
        (window,) = state(rush, when="2026-06-01 08:35").active
        assert (window.starts_at, window.ends_at) == (
            moment("2026-06-01 08:00"),
            moment("2026-06-01 10:00"),
        )

    def test_the_end_of_a_working_week_of_whole_days_is_in_sight_from_its_first_day(self) -> None:
        week = schedule(cron="0 0 * * MON-FRI", durationSeconds=24 * HOUR)
        (window,) = state(week, when="2026-06-01 00:00").active
        assert (window.starts_at, window.ends_at) == (
            moment("2026-06-01 00:00"),
            moment("2026-06-06 00:00"),
        )
        assert window.ends == "2026-06-06 00:00 Europe/Berlin"
        (friday,) = state(week, when="2026-06-05 23:00").active
        assert (friday.starts_at, friday.ends_at) == (window.starts_at, window.ends_at)

    def test_a_window_of_an_unknown_profile_is_not_followed(self) -> None:
        other = schedule(profile="medusa")
        assert state(other, when="2026-06-01 09:00") == ScheduleState()
        everywhere = schedule_state((other,), moment("2026-06-01 09:00"), 0.0)
        assert everywhere.profile == "medusa"

    @pytest.mark.parametrize("now", [float("nan"), float("inf"), -1.0, 1e12])
    def test_a_moment_that_no_calendar_has_is_refused(self, now: float) -> None:
        with pytest.raises(ValueError, match="now must be epoch seconds"):
            schedule_state((schedule(),), now, 0.0)


class TestLead:
    @pytest.mark.parametrize(
        ("when", "leads"),
        [("2026-06-01 07:44:59", False), ("2026-06-01 07:45", True), ("2026-06-01 08:00", False)],
    )
    def test_a_profile_is_wanted_from_its_lead_time_on(self, when: str, leads: bool) -> None:
        seen = state(schedule(), when=when, lead=900.0)
        assert (seen.leading is not None) is leads
        assert (seen.profile == "none") is (leads or when.endswith("08:00"))

    @pytest.mark.parametrize("action", [{"freeze": True}, {"switchOn": "Forbidden"}])
    def test_only_a_profile_has_a_lead_time(self, action: dict[str, Any]) -> None:
        seen = state(schedule(**action), when="2026-06-01 07:59", lead=900.0)
        assert seen.leading is None
        assert seen.upcoming is not None

    def test_day_and_night_lead_towards_the_first_of_the_list_alone(self) -> None:
        day = schedule("day", "0 8 * * *", durationSeconds=12 * HOUR)
        night = schedule("night", "0 20 * * *", durationSeconds=12 * HOUR, profile="eagle")
        morning = state(day, night, when="2026-06-01 07:50", lead=900.0)
        evening = state(day, night, when="2026-06-01 19:50", lead=900.0)
        assert (morning.profile, evening.profile) == ("none", "none")
        assert state(night, day, when="2026-06-01 07:50", lead=900.0).profile == "eagle"


class TestClockChanges:
    def test_a_time_that_does_not_exist_is_when_the_clock_is_set(self) -> None:
        night = schedule(cron="30 2 * * *", durationSeconds=HOUR)
        (window,) = state(night, when="2026-03-29 03:10").active
        assert window.starts == "03:00 Europe/Berlin"
        assert window.ends_at == moment("2026-03-29 04:00")

    def test_a_time_that_comes_twice_is_the_first_and_lasts_real_seconds(self) -> None:
        night = schedule(cron="30 2 * * *", durationSeconds=HOUR)
        first = schedule_state((night,), moment("2026-10-25 01:00"), 0.0).upcoming
        assert first is not None
        assert first.starts_at == moment("2026-10-25 02:30")  # the first of the two
        assert first.ends_at == moment("2026-10-25 02:30") + HOUR
        second = schedule_state((night,), moment("2026-10-25 02:30") + HOUR + 60, 0.0)
        assert second.active == ()

    def test_a_star_follows_the_time_that_passes(self) -> None:
        half = Rhythm(cron="*/30 2 * * *", zone=BERLIN, seconds=60)
        begin, starts = moment("2026-10-25 01:59"), []
        for _ in range(5):
            following = at(half, begin).following
            assert following is not None
            assert following.start is not None
            begin = following.start
            starts.append(begin - moment("2026-10-25 02:00"))
        assert starts[:4] == [0, 1800, 3600, 5400]
        gap = at(half, moment("2026-03-29 01:59")).following
        assert gap is not None
        assert gap.start == moment("2026-03-30 02:00")

    def test_a_lead_time_is_in_seconds_that_pass(self) -> None:
        early = schedule(cron="0 4 * * *", durationSeconds=HOUR)
        assert state(early, when="2026-03-29 01:30", lead=5400.0).leading is not None
        assert state(early, when="2026-03-28 01:30", lead=5400.0).leading is None


class TestWhatCannotBeRead:
    BAD = ("0 17-8 * * *", "0 0 30 2 *", "0 0 31 2,4 *")

    @pytest.mark.parametrize("cron", BAD)
    @pytest.mark.parametrize("action", [{"freeze": True}, {"switchOn": "Forbidden"}])
    def test_what_protects_counts_as_open(self, cron: str, action: dict[str, Any]) -> None:
        seen = state(schedule(cron=cron, **action), when="2026-06-01 09:00")
        (window,) = seen.active
        assert window.action in (ScheduleAction.FREEZE, ScheduleAction.FORBID_SWITCH_ON)
        assert cron in window.until
        assert seen.upcoming is None

    @pytest.mark.parametrize("cron", BAD)
    @pytest.mark.parametrize("action", [{"profile": "none"}, {"crowd": "Short"}])
    def test_what_asks_for_a_change_is_not_followed(
        self, cron: str, action: dict[str, Any]
    ) -> None:
        assert state(schedule(cron=cron, **action), when="2026-06-01 09:00") == ScheduleState()

    @pytest.mark.parametrize("zone", ["Europe/Berlln", "Europe", "Mars"])
    def test_an_unknown_time_zone_is_trouble(self, zone: str) -> None:
        assert f"timeZone is {zone!r}" in str(trouble("0 8 * * *", zone))
        assert state(schedule(timeZone=zone), when="2026-06-01 09:00") == ScheduleState()

    def test_the_rest_of_the_list_is_followed(self) -> None:
        seen = state(
            schedule("bad", "0 17-8 * * *"), schedule("good"), when="2026-06-01 09:00", lead=0.0
        )
        assert names(seen) == ["good"]
        assert seen.active[0].order == 1


def told(
    *schedules: Schedule, profiles: tuple[str, ...] | None = NAMES
) -> list[tuple[Reason, str]]:
    found = schedule_findings(schedules, profiles, moment("2026-06-01 09:00"))
    return [(each.reason, each.message) for each in found]


class TestFindings:
    def test_a_good_list_has_none(self) -> None:
        day = schedule("day", durationSeconds=12 * HOUR)
        night = schedule("night", "0 20 * * *", durationSeconds=12 * HOUR, profile="eagle")
        freeze = schedule("launch", "0 9 1 * *", freeze=True)
        assert told(day, night, freeze) == []

    @pytest.mark.parametrize(
        ("fields", "parts"),
        [
            ({"timeZone": "Europe/Berlln"}, ("'Europe/Berlln'", "such as Europe/Berlin")),
            ({"cron": "0 17-8 * * *"}, ("'0 17-8 * * *'", "ranges that run forwards")),
            ({"cron": "0 0 30 2 *"}, ("'0 0 30 2 *'", "times that exist")),
            ({"cron": "0 0 */30 2 SUN#5"}, ("'0 0 */30 2 SUN#5'", "never comes")),
            ({"profile": "medusa"}, ("'medusa'", "eagle, none", "not followed")),
        ],
    )
    def test_what_cannot_be_followed_is_told_with_the_way_out(
        self, fields: dict[str, Any], parts: tuple[str, ...]
    ) -> None:
        ((reason, message),) = told(schedule("first"), schedule("second", **fields))
        assert reason is Reason.SCHEDULE_INVALID
        for part in ("spec.schedules[1] (second): ", *parts):
            assert part in message

    def test_a_policy_alone_knows_no_profiles(self) -> None:
        assert told(schedule(profile="medusa"), profiles=None) == []

    def test_the_source_is_named(self) -> None:
        bad = (schedule(timeZone="Mars"),)
        (found,) = schedule_findings(bad, NAMES, 0.0, source="policy shared")
        assert found.message.startswith("spec.schedules[0] of policy shared (day): timeZone")

    def test_two_profiles_at_once_are_told_and_who_wins(self) -> None:
        day = schedule("day")
        rush = schedule("rush", "0 12 * * FRI", durationSeconds=HOUR, profile="eagle")
        ((reason, message),) = told(day, rush)
        assert reason is Reason.SCHEDULES_OVERLAP
        assert "day and rush want different profiles" in message
        assert "day wins" in message

    @pytest.mark.parametrize(
        "other",
        [
            schedule("same", "0 12 * * *"),
            schedule("freeze", "0 12 * * *", freeze=True),
            schedule("after", "0 18 * * *", durationSeconds=HOUR, profile="eagle"),
            schedule("before", "0 7 * * *", durationSeconds=HOUR, profile="eagle"),
            schedule("zone", "0 12 * * *", timeZone="Mars", profile="eagle"),
        ],
        ids=lambda each: each.name,
    )
    def test_what_is_no_overlap_of_two_profiles(self, other: Schedule) -> None:
        assert Reason.SCHEDULES_OVERLAP not in [reason for reason, _ in told(schedule(), other)]

    def test_an_overlap_on_one_day_of_the_year_is_found(self) -> None:
        holiday = schedule("holiday", "0 0 24 12 *", durationSeconds=86_400, profile="eagle")
        christmas = schedule("evening", "0 18 24 12 *", durationSeconds=HOUR)
        assert [reason for reason, _ in told(holiday, christmas)] == [Reason.SCHEDULES_OVERLAP]

    def test_always_and_sometimes_overlap(self) -> None:
        always = schedule("always", "0 * * * *", durationSeconds=HOUR, profile="eagle")
        assert [reason for reason, _ in told(always, schedule())] == [Reason.SCHEDULES_OVERLAP]


class TestServing:
    SHARED: ClassVar = [
        {"name": "day", "cron": "0 8 * * *", "durationSeconds": HOUR, "profile": "none"},
        {"name": "rush", "cron": "0 8 * * *", "durationSeconds": HOUR, "profile": "medusa"},
    ]

    def resolved(self, **own: Any) -> ResolvedSpec:
        asked = serving(policyRef={"name": "shared"}, **own)
        return resolve_spec(asked, ("shared", policy(schedules=self.SHARED)))

    def test_the_schedules_of_a_policy_are_followed_as_far_as_the_serving_has_their_profiles(
        self,
    ) -> None:
        now = moment("2026-06-01 08:30", "UTC")
        seen = schedule_of(self.resolved(), now, 0.0)
        assert seen is not None
        assert names(seen) == ["day"]
        (found,) = findings_of(self.resolved(), now)
        assert found.message.startswith("spec.schedules[1] of policy shared (rush): profile")
        assert "eagle, ngram, none" in found.message

    def test_the_lead_time_is_handed_on(self) -> None:
        seen = schedule_of(self.resolved(), moment("2026-06-01 07:50", "UTC"), 900.0)
        assert seen is not None
        assert seen.profile == "none"

    def test_a_serving_without_schedules_has_no_state_and_no_finding(self) -> None:
        none = self.resolved(schedules=[])
        assert schedule_of(none, 0.0, 0.0) is None
        assert findings_of(none, 0.0) == ()

    def test_its_own_schedules_are_told_without_a_source(self) -> None:
        own = [{**self.SHARED[0], "timeZone": "Mars"}]
        (found,) = findings_of(self.resolved(schedules=own), 0.0)
        assert found.message.startswith("spec.schedules[0] (day): timeZone")
