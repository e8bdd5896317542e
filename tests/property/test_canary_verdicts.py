"""What holds of every verdict on a canary, whatever its numbers."""

import math
import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.canary.evidence import Evidence, Group, gathered
from ridgeline.policy.canary.judge import LEAST_TOKENS, LEAST_WINDOWS, judge
from ridgeline.policy.facts import ReplicaFacts
from ridgeline.policy.roll_steps import Found
from tests.unit.policy.canary.sides import evidence, facts, replica, side

NOW = 3600.0
BOOT = 0.095
"""Half the spread of one configuration from start to start: 92 to 111 tokens/s."""

FALSE_ALARMS = {1: 0.14, 2: 0.09, 4: 0.06}
"""Share of identical canaries that are called worse, at most, by the number of old replicas, when
every start is as likely anywhere within the spread; as a measured range usually holds most of the
weight near its middle, this is the bad case."""

SLOW_ENOUGH = st.floats(1.3, 50.0)
RATE = st.floats(0.0, 1e5)
CONCURRENCY = st.floats(0.5, 256.0)
SPEED = st.floats(0.001, 0.5)
REPLICAS = st.integers(1, 20)


@st.composite
def curves(draw: st.DrawFn) -> Curve | None:
    """A curve that rises and then stands, or none."""
    if draw(st.booleans()):
        return None
    first = draw(st.floats(1.0, 200.0))
    knee = draw(st.floats(2.0, 256.0))
    most = first * draw(st.floats(1.0, knee))
    return Curve(profile="p", concurrency=(1.0, knee), tokens_per_second=(first, most))


@st.composite
def groups(draw: st.DrawFn) -> Group:
    ends = tuple(
        (name, draw(st.floats(0.0, 1e5))) for name in draw(st.sets(st.sampled_from("abc")))
    )
    return side(
        draw(SPEED),
        concurrency=draw(st.one_of(st.just(0.0), CONCURRENCY)),
        replicas=draw(REPLICAS),
        windows=draw(st.integers(0, 40)),
        finished=tuple(sorted(ends)),
        answer=draw(st.one_of(st.none(), st.floats(0.0, 1e5))),
    )


@st.composite
def any_evidence(draw: st.DrawFn) -> Evidence:
    return evidence(
        draw(groups()),
        draw(groups()),
        windows=draw(st.integers(0, 40)),
        first=draw(st.one_of(st.none(), st.floats(0.0, NOW))),
    )


@given(any_evidence(), curves(), curves())
def test_whatever_was_gathered_there_is_a_verdict_in_finite_numbers(
    seen: Evidence, old: Curve | None, new: Curve | None
) -> None:
    judged = judge(seen, old, new, NOW)
    assert judged.why.message.isprintable()
    for each in judged.comparisons:
        assert math.isfinite(each.value)
        assert math.isfinite(each.limit)
    assert bool(judged.comparisons) == (judged.found is not Found.NOT_YET)


@given(any_evidence(), curves(), curves())
def test_without_tokens_there_is_no_verdict(
    seen: Evidence, old: Curve | None, new: Curve | None
) -> None:
    bare = replace(seen.new, request_seconds=0.0, tokens=0.0, answers=0.0, answer_tokens=0.0)
    judged = judge(replace(seen, new=replace(bare, finished=())), old, new, NOW)
    assert judged.found is Found.NOT_YET
    assert judge(replace(seen, first_tokens_at=None), old, new, NOW).found is Found.NOT_YET


@given(SPEED, CONCURRENCY, SLOW_ENOUGH, REPLICAS, REPLICAS, st.integers(LEAST_WINDOWS, 100))
def test_a_canary_that_is_much_slower_at_the_same_load_is_worse(
    speed: float, busy: float, factor: float, few: int, many: int, windows: int
) -> None:
    new = side(speed * factor, concurrency=busy, replicas=few, windows=windows)
    old = side(speed, concurrency=busy, replicas=many, windows=windows)
    judged = judge(evidence(new, old, windows=windows), None, None, NOW)
    enough = min(new.tokens, old.tokens) >= LEAST_TOKENS
    assert judged.found is (Found.WORSE if enough else Found.NOT_YET)


@given(st.floats(1.3, 10.0), st.floats(0.02, 50.0), SPEED, curves())
def test_a_canary_that_is_slower_than_the_curve_says_of_the_old_is_never_better(
    factor: float, share: float, speed: float, curve: Curve | None
) -> None:
    """At any load of its own; without a curve the old engine is one of constant speed."""
    there, here = 8.0, 8.0 * share
    old_speed = curve.seconds_per_token_at(there) if curve else speed
    expected = curve.seconds_per_token_at(here) if curve else speed
    new = side(expected * factor, concurrency=here, windows=40)
    judged = judge(evidence(new, side(old_speed, concurrency=there, windows=40)), curve, None, NOW)
    assert judged.found in (Found.WORSE, Found.NOT_YET)


@given(any_evidence(), curves(), curves(), st.floats(1.0, 20.0))
def test_a_slower_canary_is_never_judged_more_kindly(
    seen: Evidence, old: Curve | None, new: Curve | None, factor: float
) -> None:
    """The same requests at a time, each token later: no worse canary becomes a better one."""
    slower = replace(seen, new=replace(seen.new, tokens=seen.new.tokens / factor))
    if judge(seen, old, new, NOW).found is Found.WORSE:
        after = judge(slower, old, new, NOW).found
        assert after in (Found.WORSE, Found.NOT_YET)


@given(st.lists(st.tuples(RATE, RATE), min_size=2, max_size=8), st.randoms())
def test_replicas_in_any_order_get_the_same_verdict(
    rates: list[tuple[float, float]], rng: random.Random
) -> None:
    fleet = [
        replica(f"pod-{n}", "new" if n % 2 else "old", concurrency=busy, tokens=tokens)
        for n, (busy, tokens) in enumerate(rates)
    ]
    shuffled = list(fleet)
    rng.shuffle(shuffled)

    def looked(replicas: list[ReplicaFacts]) -> Evidence:
        found: Evidence | None = None
        for tick in range(40):
            found = gathered(found, facts(*replicas), "new", 0.0, 15.0 * tick)
        assert found is not None
        return found

    ours, theirs = looked(fleet), looked(shuffled)
    assert ours == theirs
    assert judge(ours, None, None, NOW) == judge(theirs, None, None, NOW)


def test_identical_canaries_are_called_worse_no_more_often_than_stated() -> None:
    rng = random.Random(20)
    for many, most in FALSE_ALARMS.items():
        called = {Found.WORSE: 0, Found.BETTER: 0, Found.ALIKE: 0}
        draws = 4000
        for _ in range(draws):
            # Time per token of a side of several starts: all are asked the same.
            boots = [1.0 + rng.uniform(-BOOT, BOOT) for _ in range(many + 1)]
            old = side(0.02 * math.fsum(boots[1:]) / many, replicas=many)
            judged = judge(evidence(side(0.02 * boots[0]), old), None, None, NOW)
            called[judged.found] += 1
        assert called[Found.WORSE] / draws <= most
        assert called[Found.BETTER] / draws <= most
