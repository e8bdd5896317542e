"""Recorded situations, decided again with the policy of today.

A field problem becomes a test here: `ridgeline record cut FILE --serving NAMESPACE/NAME --from …
--to … --out tests/replay/NAME.jsonl.gz`, and a function below that says what must hold.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import Problem
from ridgeline.policy.memory import FastMemory, Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.sim.replay import replay, with_target
from ridgeline.telemetry.record import RecordedTick
from ridgeline.telemetry.record_past import UNKNOWN
from ridgeline.telemetry.record_read import read_record
from ridgeline.terms.reasons import Reason

HERE = Path(__file__).parent


def recorded(name: str) -> list[RecordedTick]:
    """The ticks of a record of this folder; none of it may be damaged."""
    damage: list[str] = []
    ticks = list(read_record(HERE / f"{name}.jsonl.gz", on_damage=damage.append))
    assert damage == []
    return ticks


@pytest.fixture
def load_rises() -> list[RecordedTick]:
    """Two replicas on eagle2; from 5 to 40 requests per engine, cut-off 20, a dwell of 30 s."""
    return recorded("load-rises")


def settings(tick: RecordedTick) -> PolicySettings:
    assert tick.settings is not None
    return tick.settings


def concurrency(decision: Decision) -> float:
    return decision.diagnostics.estimates.concurrency or 0.0


def switches(decisions: list[Decision]) -> list[int]:
    """At which ticks a switch was decided."""
    return [n for n, each in enumerate(decisions) if each.outcome is Outcome.SWITCH]


def test_a_load_that_rises_and_stays_leads_to_one_switch(load_rises: list[RecordedTick]) -> None:
    decisions = replay(load_rises)
    (at,) = switches(decisions)
    assert decisions[at].profile == "none"
    above = [n for n, each in enumerate(decisions[: at + 1]) if concurrency(each) >= 20]
    dwelled = load_rises[at].at - load_rises[above[0]].at
    assert 30 <= dwelled <= 45
    assert all(each.profile == "eagle2" for each in decisions[:at])


def test_decisions_are_those_that_were_recorded(load_rises: list[RecordedTick]) -> None:
    for tick, decision in zip(load_rises, replay(load_rises), strict=True):
        assert tick.decision is not None
        assert decision.outcome is tick.decision.outcome
        assert decision.profile == tick.decision.profile
        assert decision.reason is tick.decision.reason


def test_other_settings_decide_otherwise(load_rises: list[RecordedTick]) -> None:
    frozen = replace(settings(load_rises[0]), frozen=True)
    decisions = replay(load_rises, frozen)
    assert {each.reason for each in decisions} == {Reason.FROZEN}


def test_the_policy_remembers_from_tick_to_tick_by_itself(load_rises: list[RecordedTick]) -> None:
    """What was remembered when it was recorded is not what is remembered now."""
    forgetful = [
        replace(each, memory=replace(each.memory, fast=FastMemory()))
        for each in load_rises
        if each.memory is not None
    ]
    assert len(forgetful) == len(load_rises)
    assert replay(forgetful) == replay(load_rises)
    alone = [each for tick in forgetful for each in replay([tick])]
    assert switches(alone) == []


def test_switches_that_happened_are_remembered(load_rises: list[RecordedTick]) -> None:
    """The daily budget counts what was really done, also what the replay did not decide."""
    spent = replace(settings(load_rises[0]), max_switches_per_day=0)
    assert switches(replay(load_rises, spent)) == []
    last = load_rises[-1]
    assert last.memory is not None
    assert len(last.memory.slow.switches) == 1
    start = replace(load_rises[0], memory=Memory())
    (_, final) = replay([start, last])
    assert final.memory.slow.switches == last.memory.slow.switches


def test_servings_do_not_share_what_is_remembered(load_rises: list[RecordedTick]) -> None:
    other = [replace(each, serving="other") for each in load_rises]
    mixed = [each for pair in zip(load_rises, other, strict=True) for each in pair]
    decisions = replay(mixed)
    assert decisions[::2] == decisions[1::2] == replay(load_rises)


def test_a_switch_that_had_to_wait_is_decided_again(load_rises: list[RecordedTick]) -> None:
    """While others roll, the wish stays: its dwell is not begun anew."""
    (at,) = switches(replay(load_rises))
    waiting = Problem(reason=Reason.WAITING_FOR_ROLL_BUDGET, message="one roll at a time")
    held = replace(load_rises[at], overruled=waiting)
    again = replace(load_rises[at], at=load_rises[at].at + 15)
    assert switches(replay([*load_rises[:at], held, again])) == [at, at + 1]


def of_the_past(tick: RecordedTick) -> RecordedTick:
    """The tick as a record of the past would hold it."""
    lost = Problem(reason=Reason.TARGET_NOT_FOUND, message="not known")
    facts = replace(tick.facts, target=lost, plan=None)
    return replace(tick, facts=facts, settings=None, memory=None, decision=None, unknown=UNKNOWN)


def test_the_past_needs_settings(load_rises: list[RecordedTick]) -> None:
    with pytest.raises(ValueError, match="default/llama was recorded from the past"):
        replay([of_the_past(load_rises[0])])


def test_the_past_can_be_decided_with_a_target_and_settings(
    load_rises: list[RecordedTick],
) -> None:
    """Until the roll began, the target of the first tick was the target."""
    (at,) = switches(replay(load_rises))
    past = [of_the_past(each) for each in load_rises[: at + 1]]
    asked = settings(load_rises[0])
    assert {each.reason for each in replay(past, asked)} == {Reason.TARGET_NOT_FOUND}
    target = load_rises[0].facts.target
    assert not isinstance(target, Problem)
    known = list(with_target(past, target))
    assert "target" not in known[0].unknown
    assert switches(replay(known, asked)) == [at]


def test_a_target_that_was_recorded_is_not_replaced(load_rises: list[RecordedTick]) -> None:
    target = load_rises[0].facts.target
    assert not isinstance(target, Problem)
    other = replace(target, active_profile="none")
    assert list(with_target(load_rises, other)) == load_rises
