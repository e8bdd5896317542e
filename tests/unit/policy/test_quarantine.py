"""For how long a profile that failed is not chosen, and what lifts that."""

from dataclasses import replace

import pytest

from ridgeline.policy.quarantine import (
    LONGEST_SECONDS,
    MAX_QUARANTINED,
    Entries,
    binding,
    quarantined,
    still_concerned,
)
from ridgeline.terms.reasons import Reason

NOW = 1_800_000_000.0
HOUR = 3600.0
DAY = 24 * HOUR
WEEK = 7 * DAY


def failed(
    entries: Entries = (),
    profile: str = "eagle2",
    *,
    reason: Reason = Reason.CANARY_SLOWER,
    config: str = "c1",
    template: str = "t1",
    now: float = NOW,
) -> Entries:
    return quarantined(
        entries,
        profile,
        reason=reason,
        message="12 % more time per token",
        config=config,
        template=template,
        now=now,
    )


def spans(times: int, reason: Reason) -> list[float]:
    """For how long each of so many failures in a row binds."""
    found, entries = [], failed((), reason=reason)
    for _ in range(times):
        found.append(entries[-1].until - entries[-1].since)
        entries = failed(entries, reason=reason, now=entries[-1].until)
    return found


@pytest.mark.parametrize(
    "reason",
    [
        Reason.PODS_UNSCHEDULABLE,
        Reason.IMAGE_PULL_FAILED,
        Reason.CONTAINER_CANNOT_START,
        Reason.ROLL_DEADLINE_EXCEEDED,
        Reason.CANARY_NOT_JUDGED,
        Reason.CANARY_NOT_SERVING,
    ],
)
def test_what_the_surroundings_did_binds_for_an_hour(reason: Reason) -> None:
    assert spans(3, reason) == [HOUR, 2 * HOUR, 4 * HOUR]


@pytest.mark.parametrize(
    "reason",
    [
        Reason.ENGINE_REFUSES_CONFIG,
        Reason.PODS_CRASH,
        Reason.KILLED_BY_PROBE,
        Reason.CANARY_SLOWER,
        Reason.CANARY_BELOW_PROMISE,
        Reason.ANSWERS_DIFFER,
        Reason.WORSE_THAN_PROMISED,
    ],
)
def test_what_the_profile_did_binds_for_a_day_and_a_week_at_most(reason: Reason) -> None:
    assert spans(5, reason) == [DAY, 2 * DAY, 4 * DAY, WEEK, WEEK]


def test_it_stays_a_week_however_often_a_profile_fails() -> None:
    (entry,) = failed()
    worn = (replace(entry, times=10**6),)
    (again,) = failed(worn)
    assert (again.until - NOW, again.times) == (WEEK, 10**6 + 1)


def test_another_failure_of_the_same_profile_counts_on_and_replaces_the_entry() -> None:
    first = failed(reason=Reason.PODS_UNSCHEDULABLE)
    (entry,) = failed(first, reason=Reason.PODS_CRASH, now=NOW + HOUR)
    assert (entry.times, entry.since, entry.reason) == (2, NOW + HOUR, Reason.PODS_CRASH)
    assert entry.until == NOW + HOUR + 2 * DAY
    assert entry.message == "12 % more time per token"


@pytest.mark.parametrize(("config", "template"), [("c2", "t1"), ("c1", "t2")])
def test_an_edited_profile_or_target_begins_anew(config: str, template: str) -> None:
    (entry,) = failed(failed(), now=NOW + HOUR, config=config, template=template)
    assert (entry.times, entry.until) == (1, NOW + HOUR + DAY)


def test_other_profiles_keep_their_entries() -> None:
    both = failed(failed(), "ngram", now=NOW + 1.0)
    assert [each.profile for each in both] == ["eagle2", "ngram"]
    assert [each.times for each in both] == [1, 1]
    again = failed(both, "eagle2", now=NOW + 2.0)
    assert [(each.profile, each.times) for each in again] == [("ngram", 1), ("eagle2", 2)]


def test_only_the_newest_are_kept() -> None:
    entries: Entries = ()
    for number in range(MAX_QUARANTINED + 3):
        entries = failed(entries, f"p{number}", now=NOW + number)
    assert [each.profile for each in entries] == [f"p{n}" for n in range(3, MAX_QUARANTINED + 3)]


def test_an_entry_binds_until_its_time_is_over_and_is_remembered_after() -> None:
    entries = failed()
    until = entries[0].until
    assert binding(entries, NOW) == binding(entries, until - 1.0) == entries
    assert binding(entries, until) == ()
    (again,) = failed(entries, now=until + 30 * DAY)
    assert again.times == 2


def test_a_clock_that_jumped_back_far_binds_nobody_for_longer_than_the_longest() -> None:
    entries = failed()
    until = entries[0].until
    assert binding(entries, until - LONGEST_SECONDS) == entries
    assert binding(entries, until - LONGEST_SECONDS - 1.0) == ()


def test_an_edit_lifts_what_it_concerns_and_nothing_else() -> None:
    entries = failed(failed(), "ngram", config="n1")
    configs = {"eagle2": "c1", "ngram": "n1"}
    assert still_concerned(entries, configs.get, "t1") == entries
    assert still_concerned(entries, configs.get, "t2") == ()
    edited = still_concerned(entries, (configs | {"eagle2": "c2"}).get, "t1")
    assert [each.profile for each in edited] == ["ngram"]
    gone = still_concerned(entries, {"eagle2": "c1"}.get, "t1")
    assert [each.profile for each in gone] == ["eagle2"]
