"""Which Events a change of status is worth."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.edges import Edge, edges
from ridgeline.policy.facts import Problem
from ridgeline.policy.status import Report, status_document
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState, RollWay
from tests.unit.policy.moments import NOW, endpoint, facts, memory, switch
from tests.unit.policy.reports import INVALID, REPORTS, Shape, report, roll, under_way

WELL = report()
DOWN = report(facts(telemetry=endpoint(error="connection refused")))
EMPTY = report(facts(replicas=()))
MISSING = report(facts(target=Problem(reason=Reason.TARGET_NOT_FOUND, message="no Deployment x")))


def play(*passes: Report, before: dict[str, Any] | None = None) -> list[list[Edge]]:
    """Report pass after pass, 15 seconds apart; return the edges of each."""
    document = before or {}
    told = []
    for index, made in enumerate(passes):
        following = status_document(replace(made, now=NOW + 15.0 * index), document)
        told.append(list(edges(document, following)))
        document = following
    return told


def reasons(told: list[list[Edge]]) -> list[list[str]]:
    return [[each.reason.value for each in edge_list] for edge_list in told]


@pytest.mark.parametrize("shape", REPORTS, ids=lambda shape: shape.name)
def test_a_repetition_and_a_restart_tell_nothing(shape: Shape) -> None:
    document = status_document(shape.report, {})

    assert edges(document, document) == ()
    again = status_document(replace(shape.report, now=NOW + 3600.0), document)
    assert edges(document, again) == ()


@given(st.lists(st.sampled_from([each.report for each in REPORTS]), max_size=12))
def test_whatever_happens_an_edge_is_told_once(passes: list[Report]) -> None:
    doubled = [each for made in passes for each in (made, made)]

    told = play(*doubled)

    assert all(not repeated for repeated in told[1::2])
    for edge in (each for edge_list in told for each in edge_list):
        assert edge.note
        assert edge.action in ("Roll", "Hold", "Observe")
    for edge_list in told:
        assert len({(each.reason, each.note) for each in edge_list}) == len(edge_list)


def test_a_serving_that_is_well_from_the_start_is_no_event() -> None:
    assert play(WELL, WELL) == [[], []]


def test_a_roll_tells_its_start_and_its_end() -> None:
    announced = report(facts(30.0), remembered=memory(switch(None)), roll=roll(RollState.INTENDED))
    rolling = report(
        facts(30.0, active="none", rollout=under_way()),
        remembered=memory(switch(None)),
        roll=roll(),
    )
    further = report(
        facts(30.0, active="none", rollout=under_way(3)),
        remembered=memory(switch(None)),
        roll=roll(),
    )
    finished = report(
        facts(30.0, active="none"), remembered=memory(switch(0.0)), roll=roll(RollState.FINISHED)
    )

    told = play(WELL, announced, rolling, further, finished, finished)

    assert reasons(told) == [[], [], ["RollStarted"], [], ["RollFinished"], []]
    assert told[2][0] == Edge(
        warning=False,
        reason=Reason.ROLL_STARTED,
        action="Roll",
        note="roll from eagle2 to none: AboveCutoff",
    )
    assert told[4][0].note == "roll from eagle2 to none"


def test_a_roll_whose_start_was_not_seen_tells_its_end() -> None:
    announced = report(facts(30.0), roll=roll(RollState.INTENDED))
    finished = report(facts(30.0, active="none"), roll=roll(RollState.FINISHED))

    assert reasons(play(announced, finished)) == [[], ["RollFinished"]]


def test_a_roll_that_was_not_begun_says_so() -> None:
    announced = report(facts(30.0), roll=roll(RollState.INTENDED, from_profile=None))
    given_up = report(facts(30.0), roll=roll(RollState.ABANDONED, from_profile=None))

    told = play(announced, given_up)

    assert reasons(told) == [[], ["RollAbandoned"]]
    assert told[1][0].note == "roll from an unknown profile to none"


def test_the_next_roll_in_the_same_state_is_an_edge_of_its_own() -> None:
    finished = report(facts(30.0, active="none"), roll=roll(RollState.FINISHED))
    next_one = report(
        facts(30.0, active="none"), roll=roll(RollState.FINISHED, started_at=NOW - 50.0)
    )

    assert reasons(play(finished, next_one)) == [["RollFinished"], ["RollFinished"]]


def test_an_undone_roll_is_a_warning_unless_a_person_has_edited_the_serving() -> None:
    finished = report(facts(active="none"), roll=roll(RollState.FINISHED))
    undone = report(roll=roll(RollState.UNDONE))
    edited = report(roll=roll(RollState.UNDONE), generation=4)

    told = play(finished, undone)
    assert reasons(told) == [["RollFinished"], ["UndoneByOthers"]]
    assert told[1][0].warning

    assert reasons(play(finished, edited)) == [["RollFinished"], []]


def test_trouble_is_a_warning_once_and_its_end_is_told() -> None:
    told = play(WELL, DOWN, DOWN, WELL, WELL)

    assert reasons(told) == [[], ["TelemetryUnavailable"], [], ["Recovered"], []]
    assert told[1][0].warning
    assert "connection refused" in told[1][0].note
    assert not told[3][0].warning
    assert told[3][0].note.startswith("TelemetryAvailable: ")


def test_trouble_from_the_start_is_told() -> None:
    assert reasons(play(MISSING, MISSING, WELL)) == [["TargetNotFound"], [], ["Recovered"]]
    assert reasons(play(INVALID, INVALID)) == [["SpecInvalid"], []]


def test_other_trouble_is_told_anew() -> None:
    told = play(MISSING, INVALID)

    assert reasons(told) == [["TargetNotFound"], ["SpecInvalid"]]


def test_what_cannot_be_known_yet_is_no_event() -> None:
    assert reasons(play(WELL, EMPTY, WELL)) == [[], [], []]


def test_being_suspended_and_resumed_is_told_and_is_no_warning() -> None:
    told = play(WELL, report(suspended=True), WELL)

    assert reasons(told) == [[], ["Suspended"], ["Recovered"]]
    assert not any(each.warning for edge_list in told for each in edge_list)
    assert reasons(play(report(suspended=True))) == [["Suspended"]]


@pytest.mark.parametrize(
    "reason",
    [
        Reason.DAILY_BUDGET_SPENT,
        Reason.RECOMMEND_ONLY,
        Reason.WAITING_FOR_ROLL_BUDGET,
        Reason.OSCILLATION_LOCKED,
        Reason.CUTOFF_UNDECIDED,
    ],
)
def test_a_hold_that_a_person_should_know_of_is_told_once(reason: Reason) -> None:
    assert WELL.decision is not None
    holding = replace(WELL, decision=replace(WELL.decision, reason=reason, message="why"))

    told = play(WELL, holding, holding, WELL, holding, WELL, holding)

    assert reasons(told) == [[], [reason.value], [], [], [], [], []]
    assert told[1][0] == Edge(warning=False, reason=reason, action="Hold", note="why")


@pytest.mark.parametrize(
    "reason", [Reason.COOLDOWN, Reason.DWELLING, Reason.INSIDE_BAND, Reason.ROLLOUT_UNDER_WAY]
)
def test_the_daily_round_is_no_event(reason: Reason) -> None:
    assert WELL.decision is not None
    holding = replace(WELL, decision=replace(WELL.decision, reason=reason, message="why"))

    assert play(WELL, holding) == [[], []]


TRIED = {"way": RollWay.TRIAL, "config": "e3b0"}


def test_a_trial_tells_what_it_is_for_and_not_why_the_last_switch_was_made() -> None:
    past = memory(switch(90_000.0))
    canary = report(
        facts(10.0), remembered=past, roll=roll(RollState.CANARY, **TRIED, finished_at=None)
    )
    told = play(report(remembered=past), canary)
    assert reasons(told) == [[], ["CanaryStarted"]]
    assert told[1][0].note == (
        "roll from eagle2 to none: its first new Pods are measured, and taken back"
    )


@pytest.mark.parametrize(
    ("reason", "warning"),
    [
        (Reason.REQUALIFIED, False),
        (Reason.TRIAL_ENDED, False),
        (Reason.WORSE_THAN_NONE, True),
        (Reason.CANARY_NOT_JUDGED, True),
    ],
)
def test_a_trial_that_is_taken_back_as_meant_is_no_warning(reason: Reason, warning: bool) -> None:
    why = Problem(reason=reason, message="eagle2 stays")
    undoing = roll(RollState.UNDOING, **TRIED, finished_at=None, why=why)
    told = play(
        report(roll=roll(RollState.CANARY, **TRIED, finished_at=None)), report(roll=undoing)
    )
    assert reasons(told)[1] == ["RollUndone"]
    assert told[1][0].warning is warning
    assert "eagle2 stays" in told[1][0].note
