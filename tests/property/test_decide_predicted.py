"""What holds where cut-offs are predicted, whatever facts, settings, schedules and memory say."""

import json
from dataclasses import asdict, replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ridgeline.api.status import SpeculativeServingStatus
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.explain import explain_lines
from ridgeline.policy.facts import Facts, Problem, TelemetryFacts
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law_status import law_memory_of
from ridgeline.policy.learned_status import learned_document
from ridgeline.policy.learning import Learning, learn, worth_writing
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.situation import observe
from ridgeline.policy.status import Report, slow_memory_of, status_document
from tests.property.wild import NOW
from tests.property.wild_predicted import all_facts, all_learned, all_settings, memories
from tests.unit.policy import moments as well
from tests.unit.policy import predicted


def document_of(
    facts: Facts,
    settings: PolicySettings,
    decision: Decision,
    previous: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The status that a pass would write."""
    memory = decision.memory
    report = Report(
        generation=1,
        now=NOW,
        situation=observe(facts, settings, memory, NOW),
        decision=decision,
        problem=None,
        roll=None,
        memory=memory.slow,
        law=memory.law.slow if settings.prediction is not None else None,
    )
    return status_document(report, previous or {})


@hypothesis_settings(max_examples=100)
@given(all_facts, all_settings, memories)
def test_never_raises_and_nothing_in_status_is_beyond_what_the_api_server_takes(
    facts: Facts, settings: PolicySettings, memory: Memory
) -> None:
    decision = decide(facts, settings, memory, NOW)
    event(f"{decision.outcome} {decision.reason}")
    json.dumps(asdict(decision), allow_nan=False)
    assert decision.message
    assert all(explain_lines(decision, settings)[:2])
    document = document_of(facts, settings, decision)
    json.dumps(document, allow_nan=False)
    SpeculativeServingStatus.model_validate(document)


@hypothesis_settings(max_examples=100)
@given(all_facts, all_settings, memories)
def test_what_it_remembers_survives_status(
    facts: Facts, settings: PolicySettings, memory: Memory
) -> None:
    """What is read back from a status makes the same status: a restart is no change."""
    assume(settings.prediction is not None)
    decision = decide(facts, settings, memory, NOW)
    document = document_of(facts, settings, decision)
    read = Memory(
        slow=slow_memory_of(document),
        law=LawMemory(slow=law_memory_of(document), fast=decision.memory.law.fast),
    )
    again = document_of(facts, settings, replace(decision, memory=read), document)
    assert again == document
    assert [each.to_profile for each in read.slow.switches] == [
        each.to_profile for each in decision.memory.slow.switches
    ]
    assert (read.slow.learned is None) == (decision.memory.slow.learned is None)


@st.composite
def ripe(draw: st.DrawFn) -> tuple[Facts, PolicySettings, Memory]:
    """A well-seen fleet under the law, at any level, with some memory that may be wild."""
    active = draw(st.sampled_from(["eagle2", "none"]))
    level = draw(st.floats(1.0, 60.0))
    count = draw(st.integers(1, 6))
    full = draw(st.sampled_from([0.0, 0.0, 9.0]))
    facts = predicted.facts(
        level,
        active=active,
        count=count,
        engines={"waiting_for_capacity": full},
    )
    memory = draw(memories) if draw(st.booleans()) else Memory()
    since = NOW - draw(st.floats(0.0, 900.0))
    fast = replace(
        memory.law.fast,
        seen_at=NOW - 15.0,
        busier_since=since,
        quieter_since=since,
        saturated_since=since if full else None,
    )
    slow = replace(memory.slow, switches=())
    memory = replace(memory, slow=slow, law=replace(memory.law, fast=fast))
    changed: dict[str, Any] = {}
    if draw(st.sampled_from([False, False, True])):
        changed["schedule"] = draw(all_settings).schedule
    return facts, predicted.settings(**changed), memory


@given(ripe(), st.randoms(use_true_random=False))
def test_order_of_replicas_and_engines_never_matters(given_: tuple[Any, ...], random: Any) -> None:
    facts, settings, memory = given_
    some = [
        replace(each, engines=tuple(replace(one, waiting=float(n)) for one in each.engines))
        for n, each in enumerate(facts.replicas)
    ]
    shuffled = random.sample(some, len(some))
    one = decide(replace(facts, replicas=tuple(some)), settings, memory, NOW)
    other = decide(replace(facts, replicas=tuple(shuffled)), settings, memory, NOW)
    event(f"{one.outcome} {one.reason}")
    assert one == other
    learning = Learning(concurrency=10.0, profile="eagle2")
    moments = [
        observe(replace(facts, replicas=tuple(each)), settings, memory, NOW)
        for each in (some, shuffled)
    ]
    assert learn(moments[0], None, learning) == learn(moments[1], None, learning)


def blinded(facts: Facts, how: str) -> Facts:
    """The same fleet out of sight."""
    telemetry = facts.telemetry
    assert isinstance(telemetry, TelemetryFacts)
    replicas = facts.replicas
    if how == "silent":
        replicas = tuple(replace(each, engines=()) for each in replicas)
    if how == "a third is silent":
        third = -(-len(replicas) // 3)
        replicas = (
            *(replace(each, engines=()) for each in replicas[:third]),
            *replicas[third:],
        )
    if how == "down":
        telemetry = replace(telemetry, error="connection refused")
    if how == "old":
        telemetry = replace(telemetry, answered_at=NOW - 1000.0)
    if how == "no number":
        replicas = tuple(
            replace(
                each,
                engines=tuple(
                    replace(one, decode_concurrency=float("nan")) for one in each.engines
                ),
            )
            for each in replicas
        )
    return replace(facts, replicas=replicas, telemetry=telemetry)


@given(ripe(), st.sampled_from(["silent", "a third is silent", "down", "old", "no number"]))
def test_missing_data_never_switches(given_: tuple[Any, ...], how: str) -> None:
    facts, settings, memory = given_
    decision = decide(blinded(facts, how), settings, memory, NOW)
    event(f"{how}: {decision.reason}")
    assert decision.outcome is not Outcome.SWITCH


@given(ripe())
def test_a_restart_never_causes_a_switch_but_for_a_schedule(given_: tuple[Any, ...]) -> None:
    facts, settings, memory = given_
    restarted = Memory(slow=memory.slow, law=LawMemory(slow=memory.law.slow))
    decision = decide(facts, replace(settings, schedule=None), restarted, NOW)
    assert decision.outcome is not Outcome.SWITCH


def test_the_moments_above_are_ripe() -> None:
    """Most of what they say of switches would hold of nothing if none were decided."""
    since = NOW - 900.0
    fast = replace(Memory().law.fast, seen_at=NOW - 15.0, busier_since=since, quieter_since=since)
    memory = Memory(law=LawMemory(fast=fast))
    for level, active in ((38.0, "eagle2"), (5.0, "none")):
        decision = decide(predicted.facts(level, active=active), predicted.settings(), memory, NOW)
        assert decision.outcome is Outcome.SWITCH


@hypothesis_settings(max_examples=100)
@given(all_facts, all_settings, memories, st.one_of(st.none(), all_learned), st.booleans())
def test_learning_never_raises_and_learns_finite_numbers(
    facts: Facts, settings: PolicySettings, memory: Memory, known: Any, stable: bool
) -> None:
    situation = observe(facts, settings, memory, NOW)
    concurrency = situation.estimates.concurrency if stable else 10.0
    learning = Learning(concurrency=concurrency, profile=situation.active)
    for _ in range(3):
        learning = replace(learn(situation, known, learning), next_at=0.0)
    learned = learning.learned
    json.dumps(asdict(learning), allow_nan=False)
    worth_writing(known, learned, NOW)
    problem = learning.drift.problem()
    assert problem is None or problem.message
    if learned is not None:
        json.dumps(learned_document(learned), allow_nan=False)
        event("learned something" if learned.arms and learned != known else "learned nothing")


def test_the_strategies_reach_the_law() -> None:
    facts = predicted.facts()
    assert not isinstance(facts.target, Problem)
    assert decide(facts, predicted.settings(), Memory(), NOW).diagnostics.law is not None
    assert well.NOW == NOW == predicted.NOW
