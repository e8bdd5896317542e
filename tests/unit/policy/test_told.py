"""News is told once, however a serving goes to and fro."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.policy.edges import edges
from ridgeline.policy.facts import Problem
from ridgeline.policy.status import Report, status_document
from ridgeline.policy.told import AGAIN_SECONDS, MOST, TOLD_DECISIONS
from ridgeline.terms.reasons import Reason
from tests.unit.policy.moments import NOW
from tests.unit.policy.reports import INVALID, report

WELL = report()
DRIFT = Problem(reason=Reason.ACCEPTANCE_DRIFTED, message="it is 1.4, and 2.1 is usual")


def held(reason: Reason, profile: str = "none", message: str = "why") -> Report:
    assert WELL.decision is not None
    decision = replace(WELL.decision, reason=reason, recommended=profile, message=message)
    return replace(WELL, decision=decision)


def play(*passes: Report, every: float = 120.0) -> list[list[str]]:
    """Report pass after pass; return the reasons told by each."""
    document: dict[str, Any] = {}
    told = []
    for index, made in enumerate(passes):
        following = status_document(replace(made, now=NOW + every * index), document)
        told.append([each.reason.value for each in edges(document, following)])
        document = following
    return told


def flat(told: list[list[str]]) -> list[str]:
    return [reason for each in told for reason in each]


@pytest.mark.parametrize("reason", sorted(TOLD_DECISIONS))
def test_going_to_and_fro_is_told_once(reason: Reason) -> None:
    told = play(*[WELL, held(reason), held(Reason.DWELLING)] * 30)
    assert flat(told) == [reason.value]


def test_two_profiles_in_turn_are_told_once_each() -> None:
    turns = [held(Reason.RECOMMEND_ONLY, "none"), held(Reason.RECOMMEND_ONLY, "eagle2")]
    assert flat(play(*turns * 20)) == ["RecommendOnly"] * 2


def test_two_reasons_in_turn_are_told_once_each() -> None:
    turns = [held(Reason.CUTOFF_UNDECIDED), held(Reason.DAILY_BUDGET_SPENT)]
    assert flat(play(*turns * 20)) == ["CutoffUndecided", "DailyBudgetSpent"]


def test_after_six_hours_it_is_told_again_when_it_becomes_so_again() -> None:
    turns = [held(Reason.OSCILLATION_LOCKED), WELL]
    assert flat(play(*turns, *turns, every=AGAIN_SECONDS / 2 - 1.0)) == ["OscillationLocked"]
    assert flat(play(*turns, *turns, every=AGAIN_SECONDS / 2)) == ["OscillationLocked"] * 2


def test_what_lasts_is_not_told_again_however_long() -> None:
    told = play(*[held(Reason.CUTOFF_UNDECIDED)] * 50, every=3600.0)
    assert flat(told) == ["CutoffUndecided"]


def test_a_restart_in_between_tells_nothing_anew() -> None:
    """Everything that it takes stands in status."""
    first = status_document(held(Reason.RECOMMEND_ONLY), {})
    between = status_document(replace(WELL, now=NOW + 600.0), first)
    again = status_document(replace(held(Reason.RECOMMEND_ONLY), now=NOW + 1200.0), between)
    assert first["told"] == between["told"] == again["told"]
    assert edges(between, again) == ()


def test_a_spec_that_cannot_be_read_in_between_forgets_nothing() -> None:
    told = play(held(Reason.RECOMMEND_ONLY), INVALID, held(Reason.RECOMMEND_ONLY))
    assert told == [["RecommendOnly"], ["SpecInvalid"], ["Recovered"]]


def test_the_note_is_the_message() -> None:
    document = status_document(held(Reason.CUTOFF_UNDECIDED, message="order it once"), {})
    (edge,) = edges({}, document)
    assert (edge.note, edge.action, edge.warning) == ("order it once", "Hold", False)


def test_drift_is_a_warning_told_once() -> None:
    drifted = replace(WELL, drift=DRIFT)
    assert flat(play(*[WELL, drifted] * 20)) == ["AcceptanceDrifted"]
    (edge,) = edges({}, status_document(drifted, {}))
    assert (edge.note, edge.action, edge.warning) == (DRIFT.message, "Observe", True)


def test_other_drift_is_told_anew() -> None:
    other = Problem(reason=Reason.STEP_TIME_DRIFTED, message="slow")
    told = play(replace(WELL, drift=DRIFT), replace(WELL, drift=other))
    assert told == [["AcceptanceDrifted"], ["StepTimeDrifted"]]


def test_drift_and_a_held_decision_at_once_each_have_their_message() -> None:
    both = replace(held(Reason.RECOMMEND_ONLY, message="set mode"), drift=DRIFT)
    told = {each.reason: each.note for each in edges({}, status_document(both, {}))}
    assert told == {Reason.RECOMMEND_ONLY: "set mode", Reason.ACCEPTANCE_DRIFTED: DRIFT.message}


def test_the_list_stays_short() -> None:
    document: dict[str, Any] = {}
    for index in range(3 * MOST):
        made = held(Reason.RECOMMEND_ONLY, f"p{index}")
        document = status_document(replace(made, now=NOW + 120.0 * index), document)
    assert len(document["told"]) == MOST
    assert document["told"][-1]["profile"] == f"p{3 * MOST - 1}"


@pytest.mark.parametrize("broken", ["x", 7, [7], [{}], [{"reason": "RecommendOnly", "time": "x"}]])
def test_a_list_that_cannot_be_read_costs_one_event(broken: Any) -> None:
    before = {"told": broken}
    document = status_document(held(Reason.RECOMMEND_ONLY), before)
    assert [each.reason.value for each in edges(before, document)] == ["RecommendOnly"]


def test_nothing_told_is_no_field() -> None:
    assert "told" not in status_document(WELL, {})
