"""What the conditions of a serving say."""

from dataclasses import replace

import pytest

from ridgeline.policy.conditions import NEEDS_A_PERSON, Finding, findings
from ridgeline.policy.facts import Problem
from ridgeline.policy.status import Report, status_document
from ridgeline.terms.conditions import ConditionStatus
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState
from tests.unit.policy.moments import NOW, WINDOW, endpoint, engine, facts, memory, replica, switch
from tests.unit.policy.reports import INVALID, REPORTS, Shape, report, roll, under_way

ALWAYS = ("Ready", "TargetResolved", "TelemetryAvailable", "ProfileApplied", "Suspended")
PROBLEM = Problem(reason=Reason.FIELD_CONFLICT, message="helm owns it")


def found(made: Report) -> dict[str, Finding]:
    found = findings(made.situation, made.decision, made.roll, made.problem)
    assert len({each.type for each in found}) == len(found)
    return {each.type.value: each for each in found}


def said(made: Report) -> dict[str, str]:
    return {kind: f"{each.status} {each.reason}" for kind, each in found(made).items()}


@pytest.mark.parametrize("shape", REPORTS, ids=lambda shape: shape.name)
def test_five_conditions_always_stand_and_the_others_only_when_abnormal(shape: Shape) -> None:
    kinds = list(found(shape.report))

    assert kinds[:5] == list(ALWAYS)
    assert set(kinds[5:]) <= {"Reconciling", "Stalled"}
    assert len(kinds) <= 6, "nothing is both progressing and stuck"
    assert all(each.message for each in found(shape.report).values())


@pytest.mark.parametrize("shape", REPORTS, ids=lambda shape: shape.name)
def test_stalled_stands_where_ready_does_not(shape: Shape) -> None:
    standing = found(shape.report)
    ready = standing["Ready"]

    assert ("Stalled" in standing) == (ready.status is ConditionStatus.FALSE)
    if "Stalled" in standing:
        assert (standing["Stalled"].reason, standing["Stalled"].message) == (
            ready.reason,
            ready.message,
        )


def test_all_is_well() -> None:
    assert said(report()) == {
        "Ready": "True Operating",
        "TargetResolved": "True Resolved",
        "TelemetryAvailable": "True Fresh",
        "ProfileApplied": "True Applied",
        "Suspended": "False NotSuspended",
    }


def test_a_prometheus_that_is_down_leaves_the_serving_ready() -> None:
    standing = said(report(facts(telemetry=endpoint(error="refused"))))

    assert standing["Ready"] == "True Operating"
    assert standing["TelemetryAvailable"] == "False TelemetryUnavailable"


@pytest.mark.parametrize(
    ("seen", "status"),
    [
        (facts(replicas=()), "Unknown NoReadyReplicas"),
        (facts(replicas=(), desired=0), "Unknown NoReadyReplicas"),
        (facts(replicas=[replica("a", engine(), ready=5.0)]), "Unknown ReplicasSettling"),
        (facts(replicas=[replica("a")]), "False NoData"),
        (facts(telemetry=endpoint(answered_at=NOW - 3600)), "False StaleData"),
        (facts(replicas=[replica("a", engine(), ready=WINDOW)]), "True Fresh"),
    ],
)
def test_what_can_be_seen(seen: object, status: str) -> None:
    assert said(report(seen))["TelemetryAvailable"] == status  # type: ignore[arg-type]


def test_just_after_a_roll_nothing_can_be_seen_and_nothing_is_wrong() -> None:
    made = report(facts(active="none"), remembered=memory(switch(10.0)))

    assert said(made)["TelemetryAvailable"] == "Unknown ReplicasSettling"
    assert said(made)["Ready"] == "True Operating"


def test_without_a_target_the_rest_is_not_judged() -> None:
    missing = Problem(reason=Reason.TARGET_NOT_FOUND, message="no Deployment x")

    assert said(report(facts(target=missing))) == {
        "Ready": "False TargetNotFound",
        "TargetResolved": "False TargetNotFound",
        "TelemetryAvailable": "Unknown NotNeeded",
        "ProfileApplied": "Unknown NotNeeded",
        "Suspended": "False NotSuspended",
        "Stalled": "True TargetNotFound",
    }


def test_a_spec_that_cannot_be_read() -> None:
    assert said(INVALID) == {
        "Ready": "False SpecInvalid",
        "TargetResolved": "Unknown NotNeeded",
        "TelemetryAvailable": "Unknown NotNeeded",
        "ProfileApplied": "Unknown NotNeeded",
        "Suspended": "False NotSuspended",
        "Stalled": "True SpecInvalid",
    }


@pytest.mark.parametrize("state", [RollState.INTENDED, RollState.ROLLING])
def test_a_roll_is_progress(state: RollState) -> None:
    standing = found(report(facts(30.0, rollout=under_way()), roll=roll(state)))

    assert standing["Ready"].status is ConditionStatus.TRUE
    assert standing["ProfileApplied"].reason is Reason.ROLLOUT_UNDER_WAY
    assert standing["ProfileApplied"].status is ConditionStatus.FALSE
    assert standing["Reconciling"].message == "rolling to none"


@pytest.mark.parametrize("state", [RollState.FINISHED, RollState.ABANDONED, RollState.UNDONE])
def test_a_roll_that_ended_is_no_progress(state: RollState) -> None:
    assert "Reconciling" not in found(report(roll=roll(state)))


def test_a_roll_that_is_stuck_is_stalled_and_no_progress() -> None:
    stuck = facts(30.0, active="none", rollout=under_way(deadline_exceeded=True))
    standing = said(report(stuck, remembered=memory(switch(None)), roll=roll()))

    assert standing["Stalled"] == "True RolloutStalled"
    assert standing["ProfileApplied"] == "False RolloutStalled"
    assert "Reconciling" not in standing


def test_a_problem_beyond_the_decision_comes_first() -> None:
    standing = found(report(facts(telemetry=endpoint(error="refused")), problem=PROBLEM))

    assert standing["Ready"].message == standing["Stalled"].message == "helm owns it"
    assert standing["TelemetryAvailable"].status is ConditionStatus.FALSE


def test_a_problem_comes_before_what_the_decision_says_needs_a_person() -> None:
    missing = Problem(reason=Reason.TARGET_NOT_FOUND, message="no Deployment x")
    standing = found(report(facts(target=missing), problem=PROBLEM))

    assert standing["Ready"].reason is standing["Stalled"].reason is Reason.FIELD_CONFLICT


def test_an_unknown_profile_is_said_so() -> None:
    assert said(report(facts(active=None)))["ProfileApplied"] == "Unknown ActiveProfileUnknown"


def test_being_suspended_leaves_the_serving_ready() -> None:
    standing = said(report(suspended=True))

    assert standing["Suspended"] == "True Suspended"
    assert standing["Ready"] == "True Operating"


@pytest.mark.parametrize("reason", sorted(Reason))
def test_only_what_needs_a_person_makes_a_serving_not_ready(reason: Reason) -> None:
    well = report()
    assert well.decision is not None
    standing = found(replace(well, decision=replace(well.decision, reason=reason)))

    assert (standing["Ready"].status is ConditionStatus.FALSE) == (reason in NEEDS_A_PERSON)
    assert ("Stalled" in standing) == (reason in NEEDS_A_PERSON)


@pytest.mark.parametrize(
    "reason",
    [
        Reason.DWELLING,
        Reason.COOLDOWN,
        Reason.DAILY_BUDGET_SPENT,
        Reason.TELEMETRY_UNAVAILABLE,
        Reason.NO_DATA,
        Reason.STALE_DATA,
        Reason.ROLLOUT_UNDER_WAY,
        Reason.SUSPENDED,
        Reason.RECOMMEND_ONLY,
    ],
)
def test_what_passes_by_itself_needs_nobody(reason: Reason) -> None:
    assert reason not in NEEDS_A_PERSON


def test_a_prediction_that_fits_is_not_worth_a_word_and_one_that_does_not_stops_nothing() -> None:
    drift = Problem(reason=Reason.ACCEPTANCE_DRIFTED, message="it is 1.4, and 2.1 is usual")
    made = report()
    told = findings(made.situation, made.decision, made.roll, made.problem, drift)
    assert told[:-1] == findings(made.situation, made.decision, made.roll, made.problem)
    assert (told[-1].type.value, told[-1].status.value) == ("PredictionFits", "False")
    assert (told[-1].reason, told[-1].message) == (drift.reason, drift.message)


def test_the_numbers_of_a_drift_are_those_of_the_moment_when_it_was_told() -> None:
    first = Problem(reason=Reason.STEP_TIME_DRIFTED, message="132 %")
    document = status_document(replace(report(), drift=first), {})
    later = replace(report(now=NOW + 30.0), drift=replace(first, message="133 %"))
    assert status_document(later, document) == document
