"""What holds for the law however a fleet is loaded, over hours and days on a fluid fleet."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.cutoff import cutoff
from ridgeline.policy.law.inputs import LawInputs
from ridgeline.policy.law.memory import LawMemory, SlowMemory
from ridgeline.policy.law.peak import from_history
from ridgeline.policy.law.settings import LawSettings
from tests.property.law_play import BUDGET, DAY, START, LawPlay, plain, speculating

pytestmark = pytest.mark.slow


LONG_TICK = 60.0

errors = st.sampled_from([-0.5, -0.3, -0.1, 0.0, 0.2, 0.5, 0.75, 1.0])
strategies = st.sampled_from([(1, 0, 1), (2, 0, 1), (4, 0, 1), (4, 1, 0), (8, 0, 2), (8, 2, 2)])


def family(cutoff_at: float, most: float, *, three: bool) -> tuple[Curve, ...]:
    """Return two profiles, or three whose lower border lies at 0.4 of the upper one."""
    upper = speculating(
        "ngram" if three else "eagle",
        cutoff=cutoff_at,
        most=most,
        length=1.5 if three else 2.2,
        t0=0.0105 if three else 0.013,
    )
    if not three:
        return (upper, plain(most))
    return (
        speculating("eagle", cutoff=0.4 * cutoff_at, most=most, length=2.4),
        upper,
        plain(most),
    )


def remembering(curves: Sequence[Curve], ratio: float | None) -> LawMemory:
    """Return memory of a week whose peak was so many times the uppermost D*."""
    found = cutoff(curves[-2], curves[-1])
    if ratio is None or found is None:
        return LawMemory()
    last = int(START // 300)
    sketch = from_history((last - i, ratio * found.demand) for i in range(1, 8 * 288))
    return LawMemory(slow=SlowMemory(peak=sketch))


@st.composite
def fleets(draw: st.DrawFn, *, three: bool | None = None) -> LawPlay:
    """Fleets with two or three profiles, whose cut-offs are believed right or wrong."""
    most = draw(st.sampled_from([32.0, 64.0, 128.0]))
    at = most * draw(st.sampled_from([0.3, 0.5, 0.7, 0.85, 1.0]))
    many = draw(st.booleans()) if three is None else three
    error = draw(errors)
    true = family(at, most, three=many)
    believed = family(at * (1.0 + error), most, three=many)
    count, surge, unavailable = draw(strategies)
    return LawPlay(
        true=true,
        believed=believed,
        running=draw(st.sampled_from([each.profile for each in true])),
        replicas=count,
        surge=surge,
        unavailable=unavailable,
        memory=remembering(believed, draw(st.sampled_from([None, None, 0.6, 0.95, 1.4]))),
    )


def most_demand(play: LawPlay) -> float:
    return max(each.capacity for each in play.true) * play.replicas


@settings(max_examples=40)
@given(fleets(), st.floats(0.02, 1.3), st.booleans())
def test_an_unchanged_load_leads_to_two_switches_at_most_and_then_to_rest(
    play: LawPlay, load: float, closed: bool
) -> None:
    users = load * play.replicas * play.true[0].concurrency[-1] if closed else None
    demand = None if closed else load * most_demand(play)
    for _ in range(int(1.25 * DAY / LONG_TICK)):
        play.tick(demand=demand, users=users, seconds=LONG_TICK)
    event(f"{len(play.made)} switches, {'closed' if closed else 'open'} loop")
    assert len(play.made) <= 2, [(each.at - START, each.decision.message) for each in play.made]
    assert all(each.at < START + DAY / 3 for each in play.made)


loads = st.lists(st.tuples(st.integers(1, 60), st.floats(0.0, 1.3)), min_size=2, max_size=24)


@settings(max_examples=40)
@given(fleets(), loads, st.booleans())
def test_budget_and_cooldown_hold_under_any_load(
    play: LawPlay, steps: list[tuple[int, float]], closed: bool
) -> None:
    # Without cooldown, dwell and detector the budget alone must hold.
    wild = replace(
        play.settings, detector_seconds=0.0, quieter_dwell_seconds=60.0, settle_seconds=0.0
    )
    play.settings = wild
    for ticks, load in steps:
        for _ in range(ticks):
            users = load * play.replicas * play.true[0].concurrency[-1] if closed else None
            demand = None if closed else load * most_demand(play)
            play.tick(demand=demand, users=users, seconds=LONG_TICK)
    event(f"{len(play.made)} switches")
    for each in play.made:
        day = [other for other in play.made if each.at <= other.at < each.at + DAY]
        assert len(day) <= BUDGET
        assert each.busier or len([o for o in play.made if 0 <= each.at - o.at < DAY]) < BUDGET
        ended = [end for end in play.ends if end <= each.at]
        if not each.busier and ended:
            assert each.at - ended[-1] >= wild.regret_cooldown_seconds


@settings(max_examples=30)
@given(fleets(), loads, st.data())
def test_what_is_not_seen_never_causes_a_switch(
    play: LawPlay, steps: list[tuple[int, float]], data: st.DataObject
) -> None:
    names = ("generated_tokens_per_second", "concurrency")
    for ticks, load in steps:
        kind = data.draw(st.sampled_from(["well", "none", "nan", "few", "some"]))

        def spoil(inputs: LawInputs, kind: str = kind) -> LawInputs:
            if kind == "some":
                return replace(inputs, seen_share=0.85)
            if kind == "few":
                return replace(inputs, seen_share=0.79)
            if kind in ("none", "nan"):
                wrong = None if kind == "none" else math.nan
                return replace(inputs, **dict.fromkeys(names, wrong))
            return inputs

        for index in range(ticks):
            made = play.tick(demand=load * most_demand(play), seconds=LONG_TICK, spoil=spoil)
            if kind in ("none", "nan", "few"):
                assert not made.go
            if made.go:
                assert kind == "well" or play.made[-1].busier
                # Timers began within this stretch: nothing that was not seen has lasted.
                since = made.memory.fast.busier_since
                assert kind != "well" or index > 0 or since is None or since < play.now


@settings(max_examples=30)
@given(fleets(), loads, st.integers(0, 400))
def test_a_restart_causes_no_switch_at_once_and_delays_one_by_a_dwell_at_most(
    play: LawPlay, steps: list[tuple[int, float]], at: int
) -> None:
    play.memory = LawMemory()  # insured: what regret has added up is lost with the process
    plan = [load for ticks, load in steps for _ in range(ticks)]
    assume(at < len(plan))
    for load in plan[:at]:
        play.tick(demand=load * most_demand(play), seconds=LONG_TICK)
    made = len(play.made)
    play.restart()
    other = replace(
        play, made=list(play.made), ends=list(play.ends), memory=LawMemory(slow=play.memory.slow)
    )
    assert other.memory == play.memory
    first = play.tick(demand=plan[at] * most_demand(play), seconds=LONG_TICK)
    assert not first.go
    assert len(play.made) == made


@settings(max_examples=40)
@given(fleets(), st.floats(0.05, 1.2), st.integers(1, 12))
def test_a_restart_under_an_unchanged_load_delays_a_switch_by_a_dwell_at_most(
    play: LawPlay, load: float, at: int
) -> None:
    play.memory = LawMemory()
    calm = replace(play, made=[], ends=[])
    demand = load * most_demand(play)
    for _ in range(60):
        calm.tick(demand=demand, seconds=LONG_TICK)
    assume(calm.made)
    for index in range(80):
        if index == at:
            play.restart()
        play.tick(demand=demand, seconds=LONG_TICK)
    dwell = LawSettings().quieter_dwell_seconds
    event(f"busier: {calm.made[0].busier}")
    assert [each.target for each in play.made[:1]] == [calm.made[0].target]
    assert play.made[0].at - calm.made[0].at <= dwell + LONG_TICK


@settings(max_examples=40)
@given(fleets(), st.floats(0.05, 0.6), st.floats(1.0, 2.0))
def test_more_demand_comes_to_rest_on_no_more_speculation(
    play: LawPlay, load: float, more: float
) -> None:
    play.memory = replace(play.memory, slow=play.memory.slow)
    busier = replace(play, made=[], ends=[])
    demand = load * most_demand(play)
    for _ in range(300):
        play.tick(demand=demand, seconds=LONG_TICK)
        busier.tick(demand=more * demand, seconds=LONG_TICK)
    order = [each.profile for each in play.believed]
    assert play.last is not None
    assert busier.last is not None
    event(f"{play.last.wish} and {busier.last.wish}")
    assert order.index(busier.last.wish) >= order.index(play.last.wish)


@settings(max_examples=30)
@given(fleets(), loads, st.sampled_from([2, 4]))
def test_a_fleet_so_many_times_as_large_decides_the_same(
    play: LawPlay, steps: list[tuple[int, float]], times: int
) -> None:
    large = replace(
        play,
        replicas=times * play.replicas,
        surge=times * play.surge,
        unavailable=times * play.unavailable,
        made=[],
        ends=[],
    )
    for ticks, load in steps:
        for _ in range(ticks):
            small = play.tick(demand=load * most_demand(play), seconds=LONG_TICK)
            scaled = large.tick(demand=load * most_demand(large), seconds=LONG_TICK)
            assert (scaled.wish, scaled.go) == (small.wish, small.go)
