"""Windows over clock changes, against a calendar that counts every minute.

The oracle knows no cron text and no bisection: it walks the minutes that pass, reads the wall clock
at each, and notes where a window begins.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ridgeline.api.schedules import Schedule
from ridgeline.policy.schedule import ScheduleState
from ridgeline.settings.cron import LOOK_SECONDS, Rhythm, at
from ridgeline.settings.schedules import schedule_state
from ridgeline.terms.schedules import ScheduleAction

CHANGES = (
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("UTC", datetime(2026, 6, 1, tzinfo=UTC)),
)
"""Forward and back by an hour, by half an hour, a whole day left out, and none at all."""

DAY = 86_400
BEFORE, AFTER = 11, 12
"""Days that the oracle walks, before and after the change."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """A cron expression as sets, and as text."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    stars: tuple[bool, bool, bool, bool]

    @property
    def text(self) -> str:
        fields = (self.minutes, self.hours, self.days, None, self.weekdays)
        stars = (*self.stars[:3], True, self.stars[3])
        return " ".join(
            "*" if star or field is None else ",".join(map(str, sorted(field)))
            for field, star in zip(fields, stars, strict=True)
        )

    @property
    def plain(self) -> bool:
        return not (self.stars[0] or self.stars[1])

    def match(self, wall: datetime) -> bool:
        any_minute, any_hour, any_day, any_weekday = self.stars
        if not (any_minute or wall.minute in self.minutes):
            return False
        if not (any_hour or wall.hour in self.hours):
            return False
        day = any_day or wall.day in self.days
        weekday = any_weekday or wall.isoweekday() % 7 in self.weekdays
        return (day and weekday) if any_day or any_weekday else (day or weekday)


@cache
def minutes_of(zone: str, change: datetime) -> tuple[tuple[float, datetime, bool], ...]:
    """Every minute around a change: the moment, the wall, and whether the wall shows it anew."""
    begin = change - timedelta(days=BEFORE)
    walked = []
    shown = set()
    for number in range((BEFORE + AFTER) * 1440):
        moment = begin + timedelta(minutes=number)
        wall = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        walked.append((moment.timestamp(), wall, wall not in shown))
        shown.add(wall)
    return tuple(walked)


def begins(times: Times, zone: str, change: datetime) -> list[float]:
    found = []
    minute = timedelta(minutes=1)
    before: datetime | None = None
    for moment, wall, new in minutes_of(zone, change):
        matches = times.match(wall) and (new or not times.plain)
        if times.plain and before is not None and wall - before > minute:
            skipped = before + minute
            while skipped < wall and not matches:
                matches = times.match(skipped)
                skipped += minute
        if matches:
            found.append(moment)
        before = wall
    return found


def merged(starts: list[float], seconds: int) -> list[tuple[float, float]]:
    spans: list[tuple[float, float]] = []
    for start in starts:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], start + seconds)
        else:
            spans.append((start, start + seconds))
    return spans


def some(low: int, high: int, most: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(low, high), min_size=1, max_size=most)


TIMES = st.builds(
    Times,
    minutes=some(0, 59, 4),
    hours=st.one_of(some(0, 4, 3), some(0, 23, 3)),
    days=some(1, 31, 6),
    weekdays=some(0, 6, 4),
    stars=st.tuples(
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False, False, True]),
        st.sampled_from([True, True, False]),
        st.sampled_from([True, True, False]),
    ),
)
SECONDS = st.one_of(
    st.sampled_from([60, 90, 1800, 3600, 7200, DAY, 2 * DAY]), st.integers(60, 3 * DAY)
)
APART = st.one_of(st.integers(-4 * 3600, 4 * 3600), st.integers(-2 * DAY, 2 * DAY))


@hypothesis_settings(max_examples=120)
@given(st.sampled_from(CHANGES), TIMES, SECONDS, APART)
def test_windows_are_where_a_clock_on_the_wall_puts_them(
    change: tuple[str, datetime], times: Times, seconds: int, apart: int
) -> None:
    zone, moment = change
    now = moment.timestamp() + apart
    walked = merged(begins(times, zone, moment), seconds)
    seen = at(Rhythm(cron=times.text, zone=zone, seconds=seconds), now)

    position = bisect_right(walked, now, key=lambda span: span[0])
    current = walked[position - 1] if position and now < walked[position - 1][1] else None
    later = next((span for span in walked if span[0] > now), None)

    assert (seen.current is None) == (current is None)
    if seen.current is not None and current is not None:
        assert_same(seen.current.start, current[0], far=now - current[0], change=moment)
        assert_same(seen.current.end, current[1], far=current[1] - now, change=moment)
        assert seen.current.end is None or seen.current.end > now
    if seen.current is not None and seen.current.end is None:
        assert seen.following is None
    elif later is not None:
        assert seen.following is not None
        assert seen.following.start == later[0]
        if later[1] < moment.timestamp() + AFTER * DAY:  # else the oracle did not see its end
            assert seen.following.end in (later[1], None)
            assert seen.following.end is not None or later[1] - later[0] >= LOOK_SECONDS
    else:
        last = moment.timestamp() + AFTER * DAY
        assert seen.following is None or (seen.following.start or 0) >= last


def assert_same(told: float | None, walked: float, *, far: float, change: datetime) -> None:
    """A bound is right; or it lies so far away that it need not be told, or was not walked to."""
    first, last = change.timestamp() - BEFORE * DAY, change.timestamp() + AFTER * DAY
    seen_whole = first + 4 * DAY < walked < last
    assert told == walked or (far >= LOOK_SECONDS and (told is None or not seen_whole))


@given(st.sampled_from(CHANGES[:6]), TIMES.filter(lambda times: times.plain), APART)
def test_plain_times_begin_where_cronsim_says(
    change: tuple[str, datetime], times: Times, apart: int
) -> None:
    zone, moment = change
    begin = (moment - timedelta(days=3)).astimezone(ZoneInfo(zone))
    told = CronSim(times.text, begin)
    starts = sorted({next(told).timestamp() for _ in range(8)})
    rhythm = Rhythm(cron=times.text, zone=zone, seconds=1)
    now = begin.timestamp()
    for start in starts[:-1]:
        following = at(rhythm, now).following
        assert following is not None
        assert following.start == start
        now = start


ASKED: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"profile": "none"},
        {"profile": "eagle"},
        {"profile": "medusa"},
        {"switchOn": "Forbidden"},
        {"freeze": True},
        {"crowd": "Short"},
    ]
)


@st.composite
def schedule_lists(draw: st.DrawFn) -> tuple[Schedule, ...]:
    parts = draw(st.lists(st.tuples(TIMES, st.integers(60, 2 * DAY), ASKED), max_size=4))
    return tuple(
        Schedule.model_validate(
            {
                "name": f"s{number}",
                "cron": times.text,
                "durationSeconds": seconds,
                "timeZone": "Europe/Berlin",
                **asked,
            }
        )
        for number, (times, seconds, asked) in enumerate(parts)
    )


BERLIN = CHANGES[1]
LEADS = st.sampled_from([0.0, 900.0, 3600.0])


@given(schedule_lists(), APART, LEADS)
def test_a_state_is_what_each_schedule_says_by_itself(
    schedules: tuple[Schedule, ...], apart: int, lead: float
) -> None:
    now = BERLIN[1].timestamp() + apart
    state = schedule_state(schedules, now, lead, ("none", "eagle"))
    alone = [schedule_state((each,), now, lead, ("none", "eagle")) for each in schedules]
    assert [w.schedule for w in state.active] == [w.schedule for s in alone for w in s.active]
    assert all(window.profile != "medusa" for window in state.active)
    starts = [s.upcoming.starts_at for s in alone if s.upcoming and s.upcoming.starts_at]
    assert (state.upcoming.starts_at if state.upcoming else None) == min(starts, default=None)
    leading = [s.leading.schedule for s in alone if s.leading]
    assert (state.leading.schedule if state.leading else None) == next(iter(leading), None)
    assert_first_wins(schedules, state)


def assert_first_wins(schedules: tuple[Schedule, ...], state: ScheduleState) -> None:
    open_now = {window.schedule for window in state.active if window.profile}
    if state.leading is not None:
        open_now.add(state.leading.schedule)
    if state.wanted is None:
        assert not open_now
    else:
        first = next(each for each in schedules if each.name in open_now)
        assert state.wanted.schedule == first.name


@given(schedule_lists(), APART, LEADS)
def test_a_lead_time_begins_that_long_before_the_window_and_only_for_a_profile(
    schedules: tuple[Schedule, ...], apart: int, lead: float
) -> None:
    now = BERLIN[1].timestamp() + apart
    leading = schedule_state(schedules, now, lead).leading
    if leading is None:
        return
    assert leading.action is ScheduleAction.PROFILE
    assert leading.starts_at is not None
    assert now < leading.starts_at <= now + lead
    opened = schedule_state(schedules, leading.starts_at, 0.0)
    assert leading.schedule in [window.schedule for window in opened.active]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe"])
def test_the_same_moment_gives_the_same_answer_whatever_was_asked_before(zone: str) -> None:
    rhythm = Rhythm(cron="*/20 1-3 * * *", zone=zone, seconds=1200)
    moment = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()
    forward = [at(rhythm, moment + 60 * step) for step in range(600)]
    backward = [at(rhythm, moment + 60 * step) for step in reversed(range(600))]
    assert forward == backward[::-1]
