"""What is counted of a canary and of the replicas beside it, and what is left out."""

from dataclasses import replace

import pytest

from ridgeline.policy.canary.evidence import (
    SURVIVORS,
    WARM_UP_WINDOWS,
    Evidence,
    gathered,
    gathered_fleet,
)
from ridgeline.policy.facts import Facts, ReplicaFacts
from tests.unit.policy.canary.sides import NO_TARGET, WINDOW, facts, replica

OLD = replica("old", "none")
CANARY = replica("new", "eagle2", concurrency=2.0, tokens=160.0)
START = 10_000.0


def seen(now: Facts, *, seconds: float, every: float = 15.0, start: float = START) -> Evidence:
    """The evidence after the same facts were looked at for a while."""
    found: Evidence | None = None
    for tick in range(int(seconds / every) + 1):
        found = gathered(found, now, "eagle2", 0.0, start + tick * every)
    assert found is not None
    return found


def test_each_window_counts_once_however_often_it_is_looked_at() -> None:
    often = seen(facts(OLD, CANARY), seconds=600.0, every=5.0)
    seldom = seen(facts(OLD, CANARY), seconds=600.0, every=30.0)
    assert often.windows == seldom.windows == 9
    assert often.new.request_seconds == pytest.approx(2.0 * 9 * WINDOW)
    assert often.new.tokens == pytest.approx(160.0 * 9 * WINDOW)
    assert often.old.tokens == pytest.approx(200.0 * 9 * WINDOW)
    assert often.new.concurrency == pytest.approx(2.0)
    assert often.new.seconds_per_token == pytest.approx(2.0 / 160.0)


def test_nothing_is_counted_until_the_warm_up_after_the_first_tokens_is_over() -> None:
    early = seen(facts(OLD, CANARY), seconds=WARM_UP_WINDOWS * WINDOW - 15.0)
    assert (early.windows, early.first_tokens_at) == (0, START)
    assert seen(facts(OLD, CANARY), seconds=WARM_UP_WINDOWS * WINDOW).windows == 1


def test_a_canary_that_is_ready_and_makes_no_token_has_not_begun() -> None:
    idle = seen(facts(OLD, replica("new", "eagle2", concurrency=0.0, tokens=0.0)), seconds=600.0)
    assert (idle.windows, idle.first_tokens_at) == (0, None)


@pytest.mark.parametrize("profile", ["eagle2", "none"])
def test_a_pod_that_joins_late_is_left_out_for_its_own_warm_up(profile: str) -> None:
    warm = (1.0 + WARM_UP_WINDOWS) * WINDOW
    for ready, counted in ((WINDOW, 1), (warm - 1.0, 1), (warm, 2)):
        now = facts(OLD, CANARY, replica("late", profile, ready=ready))
        found = seen(now, seconds=300.0)
        group = found.new if profile == "eagle2" else found.old
        assert group.replicas == counted


@pytest.mark.parametrize(
    "unseen",
    [
        replica("new", "eagle2", age=61.0),
        replica("new", "eagle2", concurrency=None),
        replica("new", "eagle2", tokens=None),
        replica("new", "eagle2", engines=1, expected=2),
        replace(CANARY, engines=CANARY.engines * 2),
        replace(CANARY, engines=()),
        replica("new", "eagle2", ready=WINDOW - 1.0),
    ],
    ids=["stale", "no concurrency", "no tokens", "engine missing", "twice", "silent", "young"],
)
def test_a_replica_that_is_not_seen_whole_is_not_counted(unseen: ReplicaFacts) -> None:
    assert seen(facts(OLD, unseen), seconds=600.0).windows == 0
    beside = replace(unseen, name="old", profile="none")
    assert seen(facts(beside, CANARY), seconds=600.0).windows == 0


def test_no_window_counts_without_a_replica_on_each_side() -> None:
    assert seen(facts(CANARY), seconds=600.0).windows == 0
    assert seen(facts(OLD), seconds=600.0).windows == 0


def test_no_window_counts_in_which_a_canary_that_served_is_not_seen() -> None:
    before = seen(facts(OLD, CANARY), seconds=300.0)
    for lost in (facts(OLD), facts(OLD, replica("new", "eagle2", age=61.0))):
        after = gathered(before, lost, "eagle2", 0.0, START + 600.0)
        assert (after.windows, after.old) == (before.windows, before.old)


def test_numbers_that_were_read_long_ago_are_not_counted_again() -> None:
    assert seen(facts(OLD, CANARY, read_ago=54.0), seconds=300.0).windows > 0
    assert seen(facts(OLD, CANARY, read_ago=56.0), seconds=300.0).windows == 0


def test_nothing_is_counted_while_telemetry_is_lost_and_nothing_forgotten() -> None:
    before = seen(facts(OLD, CANARY), seconds=300.0)
    lost = facts(OLD, CANARY, error="connection refused")
    assert gathered(before, lost, "eagle2", 0.0, START + 400.0) == before
    none = replace(facts(OLD, CANARY), telemetry=NO_TARGET)
    assert gathered(before, none, "eagle2", 0.0, START + 400.0) == before


def test_another_roll_begins_without_the_evidence_of_the_one_before() -> None:
    before = seen(facts(OLD, CANARY), seconds=300.0)
    after = gathered(before, facts(OLD, CANARY), "eagle2", 5.0, START + 400.0)
    assert (after.started_at, after.windows) == (5.0, 0)


def test_a_clock_that_jumps_back_delays_evidence_by_no_more_than_the_warm_up() -> None:
    found = seen(facts(OLD, CANARY), seconds=0.0)
    for tick in range(13):
        now = START - 3600.0 + tick * 15.0
        found = gathered(found, facts(OLD, CANARY), "eagle2", 0.0, now)
    assert found.windows == 2
    later = START - 7200.0
    assert gathered(found, facts(OLD, CANARY), "eagle2", 0.0, later).first_tokens_at == later


def test_replicas_in_another_order_are_the_same_evidence() -> None:
    many = [replica(f"old-{n}", "none", tokens=100.0 + 0.1 * n) for n in range(5)]
    many += [replica(f"new-{n}", "eagle2", tokens=90.0 + 0.3 * n) for n in range(3)]
    assert seen(facts(*many), seconds=300.0) == seen(facts(*reversed(many)), seconds=300.0)


STOPS = (("length", 0.1), ("stop", 0.4))


def test_answers_are_counted_by_reason_and_length() -> None:
    old = replica("old", "none", finished=STOPS, answer=50.0)
    new = replica("new", "eagle2", finished=STOPS, answer=40.0)
    found = seen(facts(old, new), seconds=600.0)
    assert dict(found.old.finished) == pytest.approx({"length": 54.0, "stop": 216.0})
    assert found.old.mean_answer == pytest.approx(50.0)
    assert found.new.mean_answer == pytest.approx(40.0)


def test_answers_of_a_canary_count_only_once_long_ones_can_have_finished() -> None:
    # 4 requests at 200 tokens/s: 20 ms per token; answers of 3000 tokens take a minute.
    old = replica("old", "none", finished=STOPS, answer=3000.0)
    new = replica("new", "eagle2", finished=STOPS, answer=300.0)
    begins = SURVIVORS * 60.0 + WINDOW
    assert seen(facts(old, new), seconds=begins - 60.0).new.answers == 0.0
    late = seen(facts(old, new), seconds=begins + 60.0)
    assert 0.0 < late.new.answers < late.old.answers
    assert late.new.tokens == late.old.tokens


def test_the_slower_side_tells_how_long_an_answer_takes() -> None:
    old = replica("old", "none", finished=STOPS, answer=1000.0)
    slow = replica("new", "eagle2", tokens=50.0, finished=STOPS, answer=1000.0)
    assert seen(facts(old, slow), seconds=270.0).new.answers == 0.0
    alike = replica("new", "eagle2", finished=STOPS, answer=1000.0)
    assert seen(facts(old, alike), seconds=270.0).new.answers > 0.0


def test_answers_without_a_length_beside_them_are_not_counted() -> None:
    new = replica("new", "eagle2", finished=STOPS, answer=10.0)
    assert seen(facts(OLD, new), seconds=600.0).new.finished == ()


def test_a_fleet_after_its_roll_counts_whole_or_not_at_all() -> None:
    fleet = [replica(f"new-{n}", "eagle2") for n in range(3)]
    settled = WARM_UP_WINDOWS * WINDOW

    def looked(*replicas: ReplicaFacts, at: float) -> Evidence:
        return gathered_fleet(None, facts(*replicas), "eagle2", START, START + at)

    assert looked(*fleet, at=settled - 1.0).windows == 0
    found = looked(*fleet, at=settled)
    assert (found.windows, found.new.replicas) == (1, 3)
    assert looked(*fleet, OLD, at=settled).windows == 0
    assert looked(*fleet, replica("young", "eagle2", ready=10.0), at=settled).windows == 0
    again = gathered_fleet(found, facts(*fleet), "eagle2", START, START + settled + 15.0)
    assert again.windows == 1
