"""What holds for one step of the law, whatever it is told and remembers."""

import json
import math
from dataclasses import asdict, replace

from hypothesis import event, given
from hypothesis import strategies as st

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import Asked, FastMemory, LawMemory, Learned, SlowMemory, Turn
from ridgeline.policy.law.peak import PeakDay, PeakSketch
from ridgeline.policy.law.settings import LawSettings, Objective
from ridgeline.policy.law.terms import LawMode, LawReason, Preference
from tests.unit.policy.law.law_moments import EAGLE, NGRAM, NONE

NOW = 1_800_000_000.0

wild = st.one_of(
    st.none(), st.floats(), st.floats(0.0, 1e5), st.floats(0.0, 1e5), st.floats(0.0, 20.0)
)
tame = st.floats(0.0, 1e5, allow_nan=False)
times = st.one_of(st.none(), st.floats(NOW - 9e4, NOW + 9e4), st.floats(NOW - 900.0, NOW))
counts = st.integers(-1, 12)
profiles = st.sampled_from(["eagle", "ngram", "none", "gone"])


@st.composite
def curves(draw: st.DrawFn) -> tuple[Curve, ...]:
    if draw(st.booleans()):
        return draw(st.sampled_from([(EAGLE, NONE), (EAGLE, NGRAM, NONE), (NONE,), ()]))
    found = []
    for profile in ("eagle", "ngram", "none")[: draw(st.integers(1, 3))]:
        levels = sorted(draw(st.sets(st.floats(0.01, 1e3), min_size=1, max_size=5)))
        speeds = sorted(draw(st.floats(0.01, 1e4)) for _ in levels)
        found.append(
            Curve(profile=profile, concurrency=tuple(levels), tokens_per_second=tuple(speeds))
        )
    return tuple(found)


@st.composite
def all_inputs(draw: st.DrawFn) -> LawInputs:
    return LawInputs(
        running=draw(profiles),
        curves=draw(curves()),
        lower_edges=tuple(draw(st.lists(st.floats(), max_size=2))),
        engines=draw(counts),
        replicas=draw(counts),
        strategy=RollStrategy(
            replicas=draw(st.integers(0, 12)),
            surge=draw(st.integers(0, 12)),
            unavailable=draw(st.integers(0, 12)),
        ),
        seen_share=draw(st.sampled_from([1.0, 1.0, 0.9, 0.5, 0.0, math.nan, 7.0])),
        generated_tokens_per_second=draw(wild),
        waiting_requests=draw(wild),
        mean_output_tokens=draw(wild),
        concurrency=draw(wild),
        waiting_for_capacity=draw(wild),
        queued_requests=draw(wild),
        preemptions_per_second=draw(wild),
        roll=RollState(
            rolling=draw(st.sampled_from([False, False, False, True])),
            started_at=draw(times),
            finished_at=draw(times),
        ),
        schedule=ScheduleNow(
            profile=draw(st.one_of(st.none(), profiles)), no_switch_on=draw(st.booleans())
        ),
        switches_left=draw(st.one_of(st.none(), st.integers(-1, 7))),
    )


@st.composite
def memories(draw: st.DrawFn) -> LawMemory:
    asked = st.builds(
        Asked,
        profile=profiles,
        at=st.floats(NOW - 900.0, NOW + 900.0),
        demand=tame,
        concurrency=tame,
        off_demand=st.one_of(st.none(), tame),
    )
    fast = FastMemory(
        seen_at=draw(times),
        share=draw(st.sampled_from([1.0, 0.9])),
        waiting=draw(st.one_of(st.none(), tame)),
        demand=draw(st.one_of(st.none(), st.floats(-1e5, 1e5))),
        concurrency=draw(st.one_of(st.none(), tame)),
        busier_since=draw(times),
        quieter_since=draw(times),
        saturated_since=draw(times),
        regret=draw(tame),
        asked=draw(st.one_of(st.none(), asked)),
    )
    turn = st.builds(
        Turn,
        at=st.floats(NOW - 9e4, NOW + 9e4),
        from_profile=profiles,
        to_profile=profiles,
        demand=tame,
        concurrency=tame,
    )
    lesson = st.builds(
        Learned,
        quieter=profiles,
        busier=profiles,
        at=st.floats(NOW - 9e7, NOW + 9e4),
        off_demand=st.one_of(st.none(), tame),
        on_demand=st.one_of(st.none(), tame),
        on_concurrency=st.one_of(st.none(), tame),
    )
    today = int(NOW // 86_400)
    day = st.builds(
        PeakDay,
        day=st.integers(today - 9, today + 1),
        slots=st.integers(0, 288),
        highest=st.lists(tame, max_size=11).map(lambda v: tuple(sorted(v, reverse=True))),
    )
    slow = SlowMemory(
        peak=PeakSketch(days=tuple(draw(st.lists(day, max_size=8))), first_day=today - 8),
        modes=tuple(draw(st.lists(st.sampled_from(list(LawMode)), max_size=3))),
        running=draw(st.one_of(st.none(), profiles)),
        turn=draw(st.one_of(st.none(), turn)),
        learned=tuple(draw(st.lists(lesson, max_size=3))),
        locked_until=draw(times),
        starts=draw(st.sampled_from([(), (("eagle", 200.0),), (("none", 0.0),)])),
    )
    return LawMemory(slow=slow, fast=fast)


all_settings = st.builds(
    LawSettings,
    objective=st.builds(
        Objective,
        tpot_limit_seconds=st.one_of(st.none(), st.floats(1e-3, 1.0)),
        prefer=st.sampled_from(Preference),
    ),
)

HELD = frozenset(
    {
        LawReason.DWELLING,
        LawReason.LOCKED,
        LawReason.COOLDOWN,
        LawReason.BUDGET_SPENT,
        LawReason.PARTIAL_DATA,
        LawReason.SCHEDULE_FORBIDS,
        LawReason.ROLL_WOULD_SATURATE,
        LawReason.TOO_SMALL_TO_ROLL,
    }
)
MOVES = frozenset(
    {
        LawReason.DEMAND_ABOVE_OFF,
        LawReason.CONCURRENCY_ABOVE_OFF,
        LawReason.SATURATED,
        LawReason.ALL_QUIET,
        LawReason.REGRET,
        LawReason.SCHEDULED,
    }
)


@given(all_inputs(), all_settings, memories(), st.one_of(st.just(NOW), st.floats()))
def test_never_raises_and_says_nothing_that_is_not_finite(
    seen: LawInputs, settings: LawSettings, memory: LawMemory, now: float
) -> None:
    decision = step(seen, settings, memory, now)
    event(decision.reason)
    json.dumps(asdict(decision), allow_nan=False)
    assert decision.message
    assert (decision.wish != seen.running) == (decision.reason in MOVES | HELD)
    assert decision.go == (decision.reason in MOVES)
    assert (decision.direction is None) == (decision.wish == seen.running)


@given(all_inputs(), memories())
def test_memory_stays_small(seen: LawInputs, memory: LawMemory) -> None:
    for index in range(20):
        memory = step(seen, LawSettings(), memory, NOW + 15.0 * index).memory
    assert len(json.dumps(asdict(memory.slow))) < 6000
    assert len(memory.fast.highs) <= 6


@given(all_inputs(), memories(), st.floats(1.0, 50.0), st.floats(1.0, 3.0))
def test_at_one_moment_more_demand_never_wishes_for_more_speculation(
    seen: LawInputs, memory: LawMemory, more: float, full: float
) -> None:
    generated = seen.generated_tokens_per_second
    level = seen.concurrency
    busier = replace(
        seen,
        generated_tokens_per_second=None if generated is None else more * generated,
        concurrency=None if level is None else full * level,
    )
    # Regret adds up over time and is not a matter of one moment.
    insured = LawSettings(objective=Objective(prefer=Preference.THROUGHPUT))
    less = step(seen, insured, memory, NOW)
    much = step(busier, insured, memory, NOW)
    order = [each.profile for each in seen.curves]
    if LawReason.BLIND in (less.reason, much.reason) or seen.running not in order:
        return
    event(f"{less.reason} and {much.reason}")
    assert order.index(much.wish) >= order.index(less.wish)
