"""What holds for whatever the facts, the settings and the memory say."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.explain import explain_lines
from ridgeline.policy.facts import Facts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from tests.property.wild import NOW, all_facts, all_settings, memories, replicas, telemetries
from tests.unit.policy import moments as well


@given(all_facts, all_settings, memories)
def test_never_raises_and_writes_nothing_but_finite_numbers(
    facts: Facts, settings: PolicySettings, memory: Memory
) -> None:
    assert_sound(decide(facts, settings, memory, NOW), settings)


def assert_sound(decision: Decision, settings: PolicySettings) -> None:
    event(str(decision.reason))
    json.dumps(asdict(decision), allow_nan=False)
    assert decision.message
    assert all(explain_lines(decision, settings)[:2])
    assert (decision.outcome is Outcome.KEEP) == (
        decision.reason in (Reason.BEST_PROFILE_ACTIVE, Reason.INSIDE_BAND)
    )
    assert (decision.outcome is Outcome.SWITCH) == (
        decision.reason in (Reason.ABOVE_CUTOFF, Reason.BELOW_CUTOFF)
    )


@st.composite
def ripe(draw: st.DrawFn) -> tuple[Facts, PolicySettings, Memory]:
    """Moments that are ripe for a switch, but for some wild replicas, settings and memory."""
    wild = draw(st.lists(replicas, max_size=draw(st.sampled_from([0, 0, 0, 1, 2]))))
    off = draw(st.booleans())
    active, towards, level = ("eagle2", "none", 30.0) if off else ("none", "eagle2", 5.0)
    count = draw(st.integers(1, 6))
    good = well.pods(level, count, drafts=30.0 if off else None)
    facts = well.facts(
        active=active,
        replicas=[*good, *(replace(each, name=f"wild-{each.name}") for each in wild)],
        desired=count + len(wild),
    )
    if draw(st.sampled_from([False, False, True])):
        facts = replace(facts, telemetry=draw(telemetries))
    memory = well.memory(towards=towards)
    settings = well.settings()
    if draw(st.sampled_from([False, False, True])):
        memory = replace(memory, slow=draw(memories).slow)
    if draw(st.sampled_from([False, False, True])):
        wanted = draw(all_settings)
        settings = replace(
            settings,
            mode=wanted.mode,
            suspended=wanted.suspended,
            cooldown_seconds=wanted.cooldown_seconds,
            max_switches_per_day=wanted.max_switches_per_day,
        )
    return facts, settings, memory


def joined(replica: ReplicaFacts, telemetry: TelemetryFacts) -> bool:
    """An own reading of the rule, apart from the code under test."""
    labels = [engine.engine for engine in replica.engines]
    return len(set(labels)) == len(labels) >= replica.expected_engines and all(
        engine.decode_concurrency is not None
        and 0 <= engine.decode_concurrency < math.inf
        and -telemetry.stale_after_seconds <= engine.age_seconds <= telemetry.stale_after_seconds
        and "decode_concurrency" not in engine.not_finite
        for engine in replica.engines
    )


@given(ripe())
def test_a_switch_rests_on_what_it_may_rest_on(given_: tuple[Any, ...]) -> None:
    facts, settings, memory = given_
    decision = decide(facts, settings, memory, NOW)
    assert_sound(decision, settings)
    if decision.outcome is not Outcome.SWITCH:
        return
    assert settings.mode is Mode.AUTOMATIC
    assert not settings.suspended
    telemetry = facts.telemetry
    assert not isinstance(telemetry, Problem)
    assert telemetry.error is None
    old = [each for each in facts.replicas if each.ready_seconds >= telemetry.window_seconds]
    seen = [each for each in old if joined(each, telemetry)]
    assert not any(
        "decode_concurrency" in engine.not_finite
        or (engine.decode_concurrency is not None and not math.isfinite(engine.decode_concurrency))
        for each in old
        for engine in each.engines
    )
    levels = [engine.decode_concurrency for each in seen for engine in each.engines]
    mean = math.fsum(levels) / len(levels)
    began = [each.started_at for each in memory.slow.switches if NOW - each.started_at < 86_400]
    ended = [each.finished_at for each in memory.slow.switches]
    assert None not in ended
    if decision.reason is Reason.ABOVE_CUTOFF:
        assert len(seen) >= 0.8 * len(old)
        assert mean >= 20.0 * (1 - 1e-12)
        assert len(began) < settings.max_switches_per_day
        assert all(NOW - each >= telemetry.window_seconds for each in ended)
    else:
        assert len(seen) == len(old)
        assert mean < 16.0 * (1 + 1e-12)
        assert len(began) + 1 < settings.max_switches_per_day
        assert all(NOW - each >= settings.cooldown_seconds for each in ended)


@given(ripe(), st.randoms(use_true_random=False))
def test_order_of_replicas_and_engines_never_matters(given_: tuple[Any, ...], random: Any) -> None:
    facts, settings, memory = given_
    # Two Pods never share a name; the order of such twins would be told apart by nobody.
    named = [replace(each, name=f"{each.name}-{n}") for n, each in enumerate(facts.replicas)]
    shuffled = [
        replace(each, engines=tuple(random.sample(each.engines, len(each.engines))))
        for each in random.sample(named, len(named))
    ]
    one = decide(replace(facts, replicas=tuple(named)), settings, memory, NOW)
    other = decide(replace(facts, replicas=tuple(shuffled)), settings, memory, NOW)
    assert one == other


@given(st.lists(st.floats(0.0, 1000.0), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_not_one_digit_depends_on_order(levels: list[float], random: Any) -> None:
    def decided(values: list[float]) -> Decision:
        group = [well.replica(f"p{n}", well.engine(v)) for n, v in enumerate(values)]
        return well.about_to_switch(facts=well.facts(replicas=group))

    shuffled = random.sample(levels, len(levels))
    one, other = decided(levels), decided(shuffled)
    assert one.diagnostics.estimates.concurrency == other.diagnostics.estimates.concurrency


@given(all_facts, all_settings, memories)
def test_a_restart_never_causes_a_switch(
    facts: Facts, settings: PolicySettings, memory: Memory
) -> None:
    decision = decide(facts, settings, Memory(slow=memory.slow), NOW)
    assert decision.outcome is not Outcome.SWITCH


@given(ripe())
def test_a_restart_switches_nothing_even_without_any_dwell(given_: tuple[Any, ...]) -> None:
    facts, settings, memory = given_
    at_once = replace(
        settings, stabilization=Stabilization(busier_seconds=0.0, quieter_seconds=0.0)
    )
    decision = decide(facts, at_once, Memory(slow=memory.slow), NOW)
    assert decision.outcome is not Outcome.SWITCH


@given(ripe())
def test_a_restart_delays_by_the_dwell_and_no_more(given_: tuple[Any, ...]) -> None:
    facts, settings, memory = given_
    ripe_now = decide(facts, settings, memory, NOW)
    assume(ripe_now.outcome is Outcome.SWITCH)
    again = decide(facts, settings, Memory(slow=memory.slow), NOW)
    assert again.reason is Reason.DWELLING
    times = settings.stabilization
    off = ripe_now.reason is Reason.ABOVE_CUTOFF
    later = NOW + (times.busier_seconds if off else times.quieter_seconds)
    answered = replace(facts, telemetry=replace(facts.telemetry, answered_at=later))
    assert decide(answered, settings, again.memory, later).outcome is Outcome.SWITCH


@given(all_settings, memories, st.floats(0.0, 400.0))
def test_the_level_alone_decides_what_is_recommended(
    settings: PolicySettings, memory: Memory, level: float
) -> None:
    """Whatever holds the switch back, the recommendation is the table's."""
    assume(not isinstance(settings.cutoff, Problem))
    assert not isinstance(settings.cutoff, Problem)
    active = settings.cutoff.rows[0].profile
    group = [
        replace(each, profile=None)
        for each in well.pods(level, drafts=1.0)
        if settings.methods.get(active, Method.EAGLE).speculates
    ] or well.pods(level, drafts=None)
    decision = decide(well.facts(active=active, replicas=group), settings, memory, NOW)
    if decision.recommended is not None:
        row = settings.cutoff.row_at(level)
        assert decision.recommended == settings.cutoff.rows[row].profile
