"""The queue for rolls: its order, its limits, and that everybody gets a turn."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cluster.store import Key
from ridgeline.controller.queue import MOST_OVERTAKEN, REST_SECONDS, Limits, RollQueue
from ridgeline.policy.gain import Urgency, Worth

TICK = 15.0
NOW = 1_800_000_000.0


def key(name: str) -> Key:
    return "default", name


def worth(gain: float = 0.0, urgency: Urgency = Urgency.VOLUNTARY) -> Worth:
    return Worth(urgency=urgency, gain=gain)


def queue(in_all: int = 1, per_pool: int = 1) -> RollQueue:
    return RollQueue(Limits(in_all=in_all, per_pool=per_pool), TICK)


def line(rolls: RollQueue, now: float = NOW) -> list[str]:
    return [each.key[1] for each in rolls.in_line(now)]


def test_the_largest_gain_goes_first_and_the_longest_wait_among_equals() -> None:
    rolls = queue()
    rolls.want(key("young"), None, worth(1.0), NOW)
    rolls.want(key("old"), None, worth(1.0), NOW - 5.0)
    rolls.want(key("best"), None, worth(7.0), NOW)
    rolls.want(key("ahead"), None, worth(-3.0), NOW - 9.0)
    rolls.want(key("unknown"), None, worth(), NOW)
    assert line(rolls) == ["best", "old", "young", "unknown", "ahead"]


def test_full_servers_stand_before_what_was_ordered_and_that_before_what_can_wait() -> None:
    rolls = queue()
    rolls.want(key("voluntary"), None, worth(100.0), NOW - 20.0)
    rolls.want(key("ordered"), None, worth(0.0, Urgency.ORDERED), NOW - 10.0)
    rolls.want(key("full"), None, worth(1.0, Urgency.FULL), NOW)
    assert line(rolls) == ["full", "ordered", "voluntary"]


def test_a_wish_that_is_not_renewed_for_two_ticks_keeps_nobody_waiting() -> None:
    rolls = queue()
    rolls.want(key("gone"), None, worth(9.0), NOW)
    rolls.want(key("here"), None, worth(1.0), NOW)
    rolls.want(key("here"), None, worth(1.0), NOW + 2 * TICK)
    assert rolls.refusal(key("here"), None, {}, NOW + 2 * TICK) is not None
    rolls.want(key("here"), None, worth(1.0), NOW + 2 * TICK + 1.0)
    assert rolls.refusal(key("here"), None, {}, NOW + 2 * TICK + 1.0) is None


def test_whoever_wants_no_roll_any_more_is_forgotten_and_waits_anew() -> None:
    rolls = queue()
    rolls.want(key("a"), None, worth(), NOW)
    rolls.drop(key("a"))
    assert line(rolls) == []
    rolls.want(key("b"), None, worth(), NOW + 1.0)
    rolls.want(key("a"), None, worth(), NOW + 2.0)
    assert line(rolls, NOW + 2.0) == ["b", "a"]


def test_a_renewed_wish_keeps_its_wait_and_takes_its_present_worth() -> None:
    rolls = queue()
    rolls.want(key("z"), None, worth(5.0), NOW)
    rolls.want(key("b"), None, worth(1.0), NOW + TICK)
    rolls.want(key("z"), None, worth(1.0), NOW + TICK)
    assert line(rolls, NOW + TICK) == ["z", "b"]
    rolls.want(key("b"), None, worth(2.0), NOW + TICK)
    assert line(rolls, NOW + TICK) == ["b", "z"]


def test_a_clock_that_jumps_back_leaves_nobody_waiting_from_the_future() -> None:
    rolls = queue()
    rolls.want(key("a"), None, worth(), NOW)
    rolls.want(key("a"), None, worth(), NOW - 20.0)
    rolls.want(key("b"), None, worth(), NOW - 19.0)
    assert line(rolls, NOW - 19.0) == ["a", "b"]
    rolls.want(key("c"), None, worth(5.0), NOW - 3600.0)
    assert line(rolls, NOW - 3600.0) == ["c"]


@pytest.mark.parametrize(
    ("rolling", "told"),
    [
        ({}, None),
        ({key("x"): "H100"}, "maxConcurrentRollsPerPool allows (1) on H100"),
        ({key("x"): "A100"}, None),
        ({key("x"): "A100", key("y"): "L4"}, "maxConcurrentRolls allows (2)"),
        ({key("me"): "H100", key("x"): "A100"}, None),
    ],
)
def test_limits_hold_in_all_and_for_each_type_of_gpu(
    rolling: dict[Key, str | None], told: str | None
) -> None:
    rolls = queue(in_all=2)
    rolls.want(key("me"), "H100", worth(), NOW)
    refusal = rolls.refusal(key("me"), "H100", rolling, NOW)
    assert refusal is None if told is None else refusal is not None and told in refusal


def test_as_many_begin_as_there_are_places_and_no_more() -> None:
    rolls = queue(in_all=2, per_pool=2)
    for gain, name in enumerate("abc"):
        rolls.want(key(name), "H100", worth(float(gain)), NOW)
    assert rolls.refusal(key("c"), "H100", {}, NOW) is None
    assert rolls.refusal(key("b"), "H100", {}, NOW) is None
    told = rolls.refusal(key("a"), "H100", {}, NOW)
    assert told is not None
    assert "default/b (it gains 1 request-seconds per second)" in told


def test_who_stands_first_on_another_type_of_gpu_that_is_taken_keeps_no_place() -> None:
    rolls = queue(in_all=2, per_pool=1)
    rolls.want(key("first"), "H100", worth(9.0), NOW)
    rolls.want(key("second"), "A100", worth(1.0), NOW)
    assert rolls.refusal(key("second"), "A100", {key("x"): "H100"}, NOW) is None
    assert rolls.refusal(key("second"), "A100", {}, NOW) is None
    rolls.want(key("third"), "A100", worth(0.5), NOW)
    assert rolls.refusal(key("third"), "A100", {key("x"): "H100"}, NOW) is not None


def test_who_has_no_room_keeps_no_place_and_keeps_its_wait() -> None:
    rolls = queue(in_all=2, per_pool=2)
    rolls.want(key("huge"), "H100", worth(9.0), NOW, has_room=False)
    rolls.want(key("small"), "H100", worth(1.0), NOW)
    assert rolls.refusal(key("small"), "H100", {key("x"): "H100"}, NOW) is None
    rolls.want(key("huge"), "H100", worth(9.0), NOW)
    assert rolls.refusal(key("small"), "H100", {key("x"): "H100"}, NOW) is not None


@pytest.mark.parametrize(
    ("urgency", "gain", "told"),
    [
        (Urgency.FULL, 2.0, "a (its servers are full)"),
        (Urgency.ORDERED, 2.0, "a (it was ordered)"),
        (Urgency.VOLUNTARY, 2.0, "a (it gains 2 request-seconds per second)"),
        (Urgency.VOLUNTARY, -2.0, "a (it goes ahead of its load by the least)"),
        (Urgency.VOLUNTARY, 0.0, "a (it has waited 20 s)"),
    ],
)
def test_who_waits_is_told_who_goes_first_and_why(urgency: Urgency, gain: float, told: str) -> None:
    rolls = queue()
    rolls.want(key("a"), None, worth(gain, urgency), NOW - 20.0)
    rolls.want(key("me"), None, worth(-9.0), NOW)
    free = rolls.refusal(key("me"), None, {}, NOW)
    assert free is not None
    assert told in free
    full = rolls.refusal(key("me"), None, {key("x"): None}, NOW)
    assert full is not None
    assert told in full
    assert full.startswith(
        "as many rolls are under way as maxConcurrentRolls allows (1): default/x"
    )
    assert "and 1 in all before this one" in full
    taken = rolls.refusal(key("me"), None, {key("a"): None}, NOW)
    assert taken is not None
    assert taken.endswith(f"default/{told}"), "who begins right now is told with its reason"


def test_a_roll_that_did_not_begin_lets_the_others_go_first_for_a_while() -> None:
    rolls = queue()
    rolls.want(key("unlucky"), None, worth(9.0), NOW)
    rolls.want(key("other"), None, worth(1.0), NOW)
    rolls.stumbled(key("unlucky"), NOW)
    assert line(rolls) == ["other", "unlucky"]
    later = NOW + REST_SECONDS
    for passed in range(0, int(REST_SECONDS) + 1, 15):
        rolls.want(key("unlucky"), None, worth(9.0), NOW + passed)
        rolls.want(key("other"), None, worth(1.0), NOW + passed)
        resting = passed < REST_SECONDS
        assert line(rolls, NOW + passed)[0] == ("other" if resting else "unlucky")
    rolls.drop(key("other"))
    rolls.stumbled(key("unlucky"), later)
    assert rolls.refusal(key("unlucky"), None, {}, later) is None


def test_whoever_was_overtaken_ten_times_goes_before_all_who_came_later() -> None:
    rolls = queue()
    rolls.want(key("z-first"), None, worth(1.0), NOW)
    rolls.want(key("a-second"), None, worth(2.0), NOW + 1.0)
    for turn in range(MOST_OVERTAKEN):
        now = NOW + 2.0 + turn
        rolls.want(key("z-first"), None, worth(1.0), now)
        rolls.want(key("a-second"), None, worth(2.0), now)
        rolls.want(key("better"), None, worth(9.0), now)
        assert line(rolls, now) == ["better", "a-second", "z-first"]
        rolls.began(key("better"))
    now += 1.0
    rolls.want(key("better"), None, worth(9.0, Urgency.FULL), now)
    assert line(rolls, now) == ["z-first", "a-second", "better"]
    told = rolls.refusal(key("better"), None, {}, now)
    assert told is not None
    assert "(it was passed over 10 times in " in told


@dataclass(frozen=True, slots=True)
class Arrival:
    """A serving that comes in some turn, worth so much."""

    turn: int
    worth: Worth


@st.composite
def crowds(draw: st.DrawFn) -> list[Arrival]:
    """Some at once, and then about as many each turn as can be served, so that many wait."""
    worths = st.builds(worth, st.floats(-100.0, 100.0), st.sampled_from(Urgency))
    first = draw(st.lists(worths, min_size=1, max_size=6))
    later = draw(st.lists(st.lists(worths, max_size=2), max_size=40))
    arrivals = [Arrival(0, each) for each in first]
    return arrivals + [
        Arrival(turn, each) for turn, some in enumerate(later, start=1) for each in some
    ]


@given(arrivals=crowds(), tick=st.sampled_from([5.0, 15.0]))
def test_nobody_is_forgotten_however_much_better_those_are_who_come_later(
    arrivals: Sequence[Arrival], tick: float
) -> None:
    """One roll a turn: whoever waits is served after those who came no later, and ten others."""
    rolls = RollQueue(Limits(in_all=1, per_pool=1), tick)
    came = {key(f"s{number}"): each for number, each in enumerate(arrivals)}
    served: dict[Key, int] = {}
    turn = 0
    while served.keys() != came.keys():
        now = NOW + tick * turn
        waiting = [each for each in came if came[each].turn <= turn and each not in served]
        for each in waiting:
            rolls.want(each, "H100", came[each].worth, now)
        free = [each for each in waiting if rolls.refusal(each, "H100", {}, now) is None]
        assert len(free) == min(1, len(waiting))
        for each in free:
            rolls.began(each)
            served[each] = turn
        turn += 1
    for each, at in served.items():
        mine = came[each].turn
        before = [other for other in served if mine <= served[other] < at]
        later = sum(1 for other in before if came[other].turn > mine)
        assert later <= MOST_OVERTAKEN
        assert at - mine == len(before), "no turn is left unused while somebody waits"
