"""Strategies for servings with predicted cut-offs: curves, schedules, learned and law memory."""

from dataclasses import replace

from hypothesis import strategies as st

from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.policy.facts import EngineFacts, Facts
from ridgeline.policy.law.memory import Asked, LawMemory, Turn
from ridgeline.policy.law.memory import FastMemory as LawFast
from ridgeline.policy.law.memory import Learned as Lesson
from ridgeline.policy.law.memory import SlowMemory as LawSlow
from ridgeline.policy.law.peak import PeakDay, PeakSketch
from ridgeline.policy.law.settings import Objective
from ridgeline.policy.law.terms import LawMode, Preference
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.memory import Memory
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.schedule import ScheduleState, Window
from ridgeline.policy.settings import PolicySettings, Prediction
from ridgeline.terms.schedules import ScheduleAction
from tests.property import wild
from tests.property.wild import METHODS, NAMES, NOW

BASIS = "llama at FP8 on 1 x h100-sxm, vLLM 0.24.0"
OF_TABLE = ("draft-1b", "eagle2", "none")

amounts = st.floats(0.0, 1e5)
moments = st.floats(NOW - 2e5, NOW + 2e3)
times = st.one_of(st.none(), moments)
names = st.sampled_from(NAMES)
rates = st.lists(st.floats(0.0, 1.0), max_size=4).map(
    lambda each: tuple(sorted(each, reverse=True))
)


@st.composite
def engines(draw: st.DrawFn) -> EngineFacts:
    """An engine with any signal of the law and of learning, most of them well."""
    usual = draw(wild.engines)
    signal = st.one_of(amounts, amounts, wild.maybe)
    return replace(
        usual,
        step_seconds=draw(st.one_of(st.floats(0.001, 0.2), wild.maybe)),
        acceptance=draw(st.one_of(st.none(), rates)),
        prompt_tokens_per_second=draw(signal),
        mean_prompt_tokens=draw(signal),
        mean_output_tokens=draw(signal),
        waiting=draw(signal),
        waiting_for_capacity=draw(signal),
        queue_seconds_per_second=draw(signal),
        preemptions_per_second=draw(signal),
    )


rooms = st.builds(
    Room, pods=st.one_of(st.none(), st.integers(0, 4)), why=st.sampled_from(["", "no GPU is free"])
)
counts = st.one_of(st.integers(0, 9), st.sampled_from(["0%", "25%", "100%"]))
plans = st.builds(
    RollPlan,
    replicas=st.integers(0, 9),
    recreate=st.sampled_from([False, False, False, True]),
    max_surge=counts,
    max_unavailable=counts,
    room=rooms,
)
replicas = st.builds(
    lambda one, many: replace(one, engines=tuple(many)),
    wild.replicas,
    st.lists(engines(), max_size=2),
)
all_facts: st.SearchStrategy[Facts] = st.builds(
    lambda facts, pods, plan: replace(facts, replicas=tuple(pods), plan=plan),
    wild.all_facts,
    st.lists(replicas, max_size=4),
    st.one_of(st.none(), plans),
)


@st.composite
def tables(draw: st.DrawFn) -> CutoffTable:
    """Tables of one to three rows with curves of all, or of some."""
    rows, previous = [], 0.0
    chosen = list(draw(st.permutations(OF_TABLE)))[: draw(st.integers(1, 3))]
    for name in chosen[:-1]:
        lower = previous + draw(st.floats(0.5, 20.0))
        upper = lower + draw(st.floats(0.0, 20.0))
        high = draw(st.one_of(st.none(), st.floats(upper, upper + 20.0)))
        band = Band(cutoff=upper, low=lower, high=high)
        rows.append(CutoffRow(profile=name, up_to=upper, return_below=lower, band=band))
        previous = upper
    curves = []
    for name in chosen if draw(st.sampled_from([True, True, True, False])) else chosen[:1]:
        levels = sorted(draw(st.sets(st.floats(0.1, 500.0), min_size=1, max_size=4)))
        speeds = sorted(draw(st.floats(1.0, 1e4)) for _ in levels)
        curves.append(
            Curve(profile=name, concurrency=tuple(levels), tokens_per_second=tuple(speeds))
        )
    return CutoffTable((*rows, CutoffRow(profile=chosen[-1])), curves=tuple(curves))


predictions = st.builds(
    Prediction,
    basis=st.sampled_from([BASIS, BASIS, "another"]),
    lengths=st.dictionaries(st.sampled_from(OF_TABLE), st.floats(1.0, 5.0)),
    scales=st.dictionaries(st.sampled_from(OF_TABLE), st.floats(-2.0, 2.0)),
)
windows = st.builds(
    lambda action, profile, order, starts_at: Window(
        schedule="s",
        order=order,
        action=action,
        profile=profile if action is ScheduleAction.PROFILE else None,
        starts_at=starts_at,
        starts="08:00 UTC",
    ),
    st.sampled_from(ScheduleAction),
    names,
    st.integers(0, 3),
    st.floats(NOW, NOW + 9e4),
)
schedules = st.builds(
    ScheduleState,
    active=st.lists(windows, max_size=2).map(tuple),
    leading=st.one_of(st.none(), windows),
    upcoming=st.one_of(st.none(), windows),
)
objectives = st.builds(Objective, prefer=st.sampled_from(Preference))
all_settings: st.SearchStrategy[PolicySettings] = st.builds(
    lambda usual, cutoff, prediction, schedule, objective: replace(
        usual,
        methods=METHODS,
        cutoff=cutoff,
        prediction=prediction,
        schedule=schedule,
        objective=objective,
    ),
    wild.all_settings,
    st.one_of(tables(), tables(), tables(), wild.problems),
    st.one_of(predictions, predictions, predictions, st.none()),
    st.one_of(st.none(), st.none(), schedules),
    st.one_of(st.none(), objectives),
)

arms = st.builds(
    LearnedArm,
    profile=st.sampled_from(OF_TABLE),
    acceptance=rates,
    drafted=st.one_of(st.none(), st.floats(0.0, 1.0)),
    log_scale=st.floats(-3.0, 3.0),
    windows=st.integers(0, 100),
)
all_learned = st.builds(
    Learned,
    basis=st.sampled_from([BASIS, BASIS, "another"]),
    context_tokens=st.one_of(st.none(), amounts),
    prefill_per_token=st.one_of(st.none(), amounts),
    arms=st.lists(arms, max_size=3, unique_by=lambda each: each.profile).map(tuple),
    written_at=moments,
)
today = int(NOW // 86_400)
days = st.builds(
    PeakDay,
    day=st.integers(today - 8, today),
    slots=st.integers(1, 288),
    highest=st.lists(amounts, min_size=1, max_size=11).map(
        lambda each: tuple(sorted(each, reverse=True))
    ),
)
sketches = st.builds(
    PeakSketch,
    days=st.lists(days, max_size=8, unique_by=lambda each: each.day).map(
        lambda each: tuple(sorted(each, key=lambda day: day.day))
    ),
    first_day=st.one_of(st.none(), st.integers(today - 30, today)),
)
law_slow = st.builds(
    LawSlow,
    peak=sketches,
    modes=st.lists(st.sampled_from(LawMode), max_size=2).map(tuple),
    running=st.one_of(st.none(), names),
    turn=st.one_of(
        st.none(),
        st.builds(
            Turn,
            at=moments,
            from_profile=names,
            to_profile=names,
            demand=amounts,
            concurrency=amounts,
        ),
    ),
    learned=st.lists(
        st.builds(
            Lesson,
            quieter=names,
            busier=names,
            at=moments,
            off_demand=st.one_of(st.none(), amounts),
            on_demand=st.one_of(st.none(), amounts),
            on_concurrency=st.one_of(st.none(), amounts),
        ),
        max_size=2,
    ).map(tuple),
    locked_until=times,
    starts=st.lists(
        st.tuples(names, st.floats(0.0, 3600.0)), max_size=2, unique_by=lambda each: each[0]
    ).map(tuple),
    roll_seen=times,
)
law_fast = st.builds(
    LawFast,
    seen_at=times,
    waiting=st.one_of(st.none(), amounts),
    demand=st.one_of(st.none(), amounts),
    concurrency=st.one_of(st.none(), amounts),
    busier_since=times,
    quieter_since=times,
    saturated_since=times,
    regret=amounts,
    asked=st.one_of(
        st.none(),
        st.builds(Asked, profile=names, at=moments, demand=amounts, concurrency=amounts),
    ),
)
memories: st.SearchStrategy[Memory] = st.builds(
    lambda usual, learned, slow, fast: replace(
        usual,
        slow=replace(usual.slow, learned=learned),
        law=LawMemory(slow=slow, fast=fast),
    ),
    wild.memories,
    st.one_of(st.none(), all_learned),
    law_slow,
    law_fast,
)
