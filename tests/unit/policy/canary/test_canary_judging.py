"""The verdict on a canary: by speed, by its answers, and none where nothing can be said."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.canary.evidence import Evidence, Group
from ridgeline.policy.canary.judge import (
    ALIKE_WINDOWS,
    ANSWER_WINDOWS,
    LEAST_TOKENS,
    LEAST_WINDOWS,
    judge,
    margin_of,
)
from ridgeline.policy.roll_steps import Found
from ridgeline.terms.reasons import Reason
from tests.unit.policy.canary.sides import evidence, side

NOW = 3600.0
OLD = side(0.020, replicas=4)
LINEAR = Curve(profile="none", concurrency=(1.0, 64.0), tokens_per_second=(50.0, 3200.0))
"""20 ms per token up to 64 requests, then throughput stands."""
FASTER = Curve(profile="eagle2", concurrency=(1.0, 64.0), tokens_per_second=(100.0, 6400.0))
SLIGHTLY = Curve(profile="eagle2", concurrency=(1.0, 64.0), tokens_per_second=(52.0, 3328.0))


def found(new: Group, old: Group = OLD, *, windows: int = 6) -> tuple[Found, Reason]:
    judged = judge(evidence(new, old, windows=windows), None, None, NOW)
    return judged.found, judged.why.reason


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (1.30, (Found.WORSE, Reason.CANARY_SLOWER)),
        (1.11, (Found.WORSE, Reason.CANARY_SLOWER)),
        (1.08, (Found.ALIKE, Reason.CANARY_ALIKE)),
        (0.92, (Found.ALIKE, Reason.CANARY_ALIKE)),
        (0.89, (Found.BETTER, Reason.CANARY_BETTER)),
        (0.50, (Found.BETTER, Reason.CANARY_BETTER)),
    ],
)
def test_a_difference_counts_beyond_what_two_starts_of_one_config_differ(
    ratio: float, expected: tuple[Found, Reason]
) -> None:
    assert found(side(0.020 * ratio)) == expected


def test_more_starts_tell_smaller_differences_and_the_side_with_fewer_limits_it() -> None:
    def margin(new: int, old: int) -> float:
        return margin_of(evidence(side(0.02, replicas=new), side(0.02, replicas=old)))

    assert margin(1, 4) == pytest.approx(0.10, abs=0.003)
    assert margin(4, 4) == pytest.approx(0.05, abs=0.003)
    assert margin(4, 1) == margin(1, 4)
    few = evidence(side(0.2, windows=1), side(0.2, replicas=4, windows=1))
    assert margin_of(few) > margin(1, 4)


def test_every_number_that_was_compared_is_told() -> None:
    judged = judge(evidence(side(0.026), OLD), LINEAR, FASTER, NOW)
    assert (judged.gain_percent, judged.promised_percent) == (-30, 50)
    assert [each.relation for each in judged.comparisons] == [">=", ">"]
    assert judged.comparisons[0].value == pytest.approx(1.3)
    assert judged.comparisons[0].limit == pytest.approx(1.1, abs=0.002)
    assert judged.why.message.startswith("30 % more time per token")


@pytest.mark.parametrize("factor", [1.3, 2.0, 3.9, 4.1, 5.0, 20.0])
@pytest.mark.parametrize("concurrency", [7.9, 8.0, 8.1])
@pytest.mark.parametrize("curve", [LINEAR, None])
def test_a_slow_canary_is_slow_and_not_short_of_traffic(
    factor: float, concurrency: float, curve: Curve | None
) -> None:
    new = side(0.020 * factor, concurrency=concurrency, windows=60)
    judged = judge(evidence(new, OLD), curve, None, NOW)
    assert judged.why.reason is Reason.CANARY_SLOWER
    # Status holds no lower gain, and the API server would refuse the whole of it.
    assert judged.gain_percent == max(-1000, round(100.0 * (1.0 - factor)))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (side(0.02, windows=60, concurrency=1.9), OLD),
        (side(0.02, windows=60, concurrency=0.0), OLD),
        (side(0.02, concurrency=LEAST_TOKENS * 0.02 / 360 - 0.001), side(0.02, concurrency=0.2)),
        (side(0.02), side(0.02, concurrency=0.0, replicas=4)),
        (Group(), Group()),
    ],
    ids=["aside of the traffic", "none", "too few tokens", "old ones idle", "nothing"],
)
def test_nothing_is_said_of_a_canary_that_was_not_asked(new: Group, old: Group) -> None:
    for curve in (LINEAR, None):
        judged = judge(evidence(new, old), curve, curve, NOW)
        assert (judged.found, judged.gain_percent) == (Found.NOT_YET, None)
        assert judged.why.reason is Reason.CANARY_UNDER_WAY


def test_nothing_is_divided_by_a_load_that_is_none() -> None:
    for tiny in (5e-324, 1e-308, 1e-9):
        ghost = replace(side(0.02), request_seconds=tiny)
        for new, old in ((side(0.02), ghost), (ghost, side(0.02)), (ghost, ghost)):
            for curve in (LINEAR, None):
                assert judge(evidence(new, old), curve, curve, NOW).found is Found.NOT_YET


def test_nothing_is_said_before_there_were_enough_windows() -> None:
    assert found(side(0.10), windows=LEAST_WINDOWS - 1)[0] is Found.NOT_YET
    assert found(side(0.10), windows=LEAST_WINDOWS)[0] is Found.WORSE
    assert found(side(0.021), windows=ALIKE_WINDOWS - 1)[0] is Found.NOT_YET
    assert found(side(0.021), windows=ALIKE_WINDOWS)[0] is Found.ALIKE
    unborn = judge(evidence(side(0.10), OLD, first=None), None, None, NOW)
    assert unborn.why.message == "it has not made a token yet"


def test_the_old_side_is_brought_to_the_load_of_the_canary() -> None:
    # Four times the requests of a saturated engine: four times the time per token, no slower.
    flat = Curve(profile="none", concurrency=(1.0, 8.0), tokens_per_second=(50.0, 400.0))
    busy = evidence(side(0.08, concurrency=32.0), OLD)
    assert judge(busy, flat, None, NOW).found is Found.ALIKE
    assert judge(busy, LINEAR, None, NOW).found is Found.WORSE


@pytest.mark.parametrize(
    ("seconds", "concurrency", "expected"),
    [
        (0.030, 4.0, Found.WORSE),
        (0.010, 12.0, Found.BETTER),
        # Asked for as much, and slower with more requests at a time.
        (0.026, 8.0 * 1.3, Found.WORSE),
        (0.026, 8.0 * 1.3 * 1.32, Found.WORSE),
        (0.026, 8.0 * 1.3 * 1.35, Found.NOT_YET),
        (0.014, 8.0 * 0.7 * 0.76, Found.BETTER),
        # More of everything: it may be slow only because more is asked of it.
        (0.026, 8.0 * 1.3 * 1.5, Found.NOT_YET),
        # Less of everything: it may be fast only because little is asked of it.
        (0.014, 8.0 * 0.7 * 0.5, Found.NOT_YET),
    ],
)
def test_without_a_prediction_only_what_cannot_mislead_is_compared(
    seconds: float, concurrency: float, expected: Found
) -> None:
    assert found(side(seconds, concurrency=concurrency))[0] is expected


def test_a_canary_far_from_its_promise_is_no_reason_to_go_on() -> None:
    alike = side(0.020)
    below = judge(evidence(alike, OLD), LINEAR, FASTER, NOW)
    assert (below.found, below.why.reason) == (Found.WORSE, Reason.CANARY_BELOW_PROMISE)
    early = judge(evidence(alike, OLD, windows=ALIKE_WINDOWS - 1), LINEAR, FASTER, NOW)
    assert early.found is Found.NOT_YET
    assert judge(evidence(alike, OLD), LINEAR, SLIGHTLY, NOW).found is Found.ALIKE
    better = judge(evidence(side(0.016), OLD), LINEAR, FASTER, NOW)
    assert better.found is Found.BETTER


def answers(
    new: float,
    old: float = 300.0,
    *,
    speed: float = 0.010,
    count: float = 100.0,
    new_ends: tuple[tuple[str, float], ...] | None = None,
    windows: int = ANSWER_WINDOWS,
) -> Evidence:
    """A canary and four old replicas whose answers have so many tokens."""
    ends = new_ends or (("stop", count),)
    mine = side(speed, finished=ends, answer=new)
    theirs = side(0.020, replicas=4, finished=(("stop", 4 * count),), answer=old)
    return evidence(mine, theirs, windows=windows)


@pytest.mark.parametrize("speed", [0.005, 0.020, 0.040])
@pytest.mark.parametrize("length", [0.0, 100.0, 900.0])
def test_answers_of_another_length_fail_a_canary_however_fast_it_is(
    length: float, speed: float
) -> None:
    judged = judge(answers(length, speed=speed), None, None, NOW)
    assert (judged.found, judged.why.reason) == (Found.WORSE, Reason.ANSWERS_DIFFER)
    assert judged.comparisons[0].value > judged.comparisons[0].limit >= 2.0


@pytest.mark.parametrize("length", [160.0, 300.0, 590.0])
def test_answers_of_about_the_same_length_say_nothing(length: float) -> None:
    for count in (100.0, 100_000.0):
        assert judge(answers(length, count=count), None, None, NOW).found is Found.BETTER


def test_few_answers_must_differ_more() -> None:
    # 3 · 2.2 · √(1/30 + 1/120) = 1.35: lengths must differ by 3.8 times.
    assert judge(answers(100.0, count=30.0), None, None, NOW).found is Found.BETTER
    assert judge(answers(75.0, count=30.0), None, None, NOW).found is Found.WORSE
    assert judge(answers(75.0, count=29.0), None, None, NOW).found is Found.BETTER


@pytest.mark.parametrize(
    ("ends", "fails"),
    [
        ((("length", 31.0), ("stop", 69.0)), True),
        ((("length", 29.0), ("stop", 71.0)), False),
        ((("abort", 100.0),), True),
    ],
)
def test_answers_that_end_for_other_reasons_fail_it(
    ends: tuple[tuple[str, float], ...], fails: bool
) -> None:
    judged = judge(answers(300.0, new_ends=ends), None, None, NOW)
    assert (judged.why.reason is Reason.ANSWERS_DIFFER) == fails
    if fails:
        assert "end with" in judged.why.message
        assert judged.comparisons[0].value > judged.comparisons[0].limit


def test_few_answers_must_end_more_differently() -> None:
    # 3 · √(0.25 · 2/30) = 0.39 with as many on each side.
    def ends(long: float) -> Group:
        return side(0.010, finished=(("length", long), ("stop", 30.0 - long)), answer=300.0)

    old = ends(10.0)
    assert judge(evidence(ends(20.0), old), None, None, NOW).why.reason is Reason.CANARY_ALIKE
    assert judge(evidence(ends(22.0), old), None, None, NOW).why.reason is Reason.ANSWERS_DIFFER


def test_answers_are_not_compared_while_only_short_ones_can_have_finished() -> None:
    short = answers(100.0, speed=0.010)
    assert judge(short, None, None, 17.0).found is Found.BETTER
    assert judge(short, None, None, 18.0).found is Found.WORSE
    # The slower side tells how long an answer takes: 300 tokens at 50 ms.
    slow = answers(100.0, speed=0.050)
    assert judge(slow, None, None, 44.0).why.reason is Reason.CANARY_SLOWER
    assert judge(slow, None, None, 46.0).why.reason is Reason.ANSWERS_DIFFER


@pytest.mark.parametrize("speed", [0.010, 0.020])
def test_no_canary_goes_on_before_its_answers_were_compared_or_waited_for(speed: float) -> None:
    few = answers(75.0, speed=speed, count=10.0, windows=ANSWER_WINDOWS - 1)
    assert judge(few, None, None, NOW).found is Found.NOT_YET
    waited = replace(few, windows=ANSWER_WINDOWS)
    assert judge(waited, None, None, NOW).found in (Found.BETTER, Found.ALIKE)
    silent = evidence(side(speed), OLD, windows=ALIKE_WINDOWS)
    assert judge(silent, None, None, NOW).found in (Found.BETTER, Found.ALIKE)


def test_a_slow_canary_is_not_kept_waiting_for_its_answers() -> None:
    few = answers(300.0, speed=0.030, count=10.0, windows=LEAST_WINDOWS)
    assert judge(few, None, None, NOW).found is Found.WORSE


def test_a_reason_to_end_that_is_missing_counts_where_no_other_one_grew_as_much() -> None:
    """Three reasons: what one lost is spread over two."""
    mine = side(0.010, finished=(("length", 200.0), ("stop", 200.0)), answer=300.0)
    ends = (("abort", 340.0), ("length", 330.0), ("stop", 330.0))
    theirs = side(0.020, replicas=4, finished=ends, answer=300.0)
    judged = judge(evidence(mine, theirs), None, None, NOW)
    assert judged.why.reason is Reason.ANSWERS_DIFFER
    assert "0 % of its answers end with 'abort', and 34 %" in judged.why.message
