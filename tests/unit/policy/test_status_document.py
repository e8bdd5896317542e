"""The status document: written only when something worth writing has changed."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.policy.memory import FastMemory, SlowMemory, Switch
from ridgeline.policy.pod_start import PodStart
from ridgeline.policy.quarantine import quarantined
from ridgeline.policy.roll import Before, Roll
from ridgeline.policy.roll_status import MAX_CANARY_PODS, roll_of
from ridgeline.policy.settings import Stabilization
from ridgeline.policy.status import (
    CALM,
    CALM_SECONDS,
    Report,
    slow_memory_of,
    status_document,
)
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState, RollWay
from ridgeline.terms.times import timestamp
from tests.unit.policy.moments import (
    NOW,
    THREE_ROWS,
    TWO_ROWS,
    endpoint,
    engine,
    facts,
    memory,
    pods,
    replica,
    switch,
)
from tests.unit.policy.reports import INVALID, REPORTS, Shape, report, roll, under_way

SHAPES = pytest.mark.parametrize("shape", REPORTS, ids=lambda shape: shape.name)


def conditions(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in document["conditions"]}


@SHAPES
@pytest.mark.parametrize("later", [0.0, 15.0, 100_000.0])
def test_nothing_new_is_the_same_document(shape: Shape, later: float) -> None:
    document = status_document(shape.report, {})
    again = replace(shape.report, now=shape.report.now + later)

    assert status_document(again, document) == document


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (report(facts(10.0)), report(facts(11.3), now=NOW + 15)),
        (
            report(facts(telemetry=endpoint(error="refused after 1.2 s"))),
            report(facts(telemetry=endpoint(error="refused after 0.9 s"))),
        ),
        (
            report(facts(telemetry=endpoint(answered_at=NOW - 100))),
            report(facts(telemetry=endpoint(answered_at=NOW - 130))),
        ),
        (
            report(facts(30.0), remembered=memory(towards="none", crossed_ago=5.0)),
            report(facts(31.0), remembered=memory(towards="none", crossed_ago=20.0)),
        ),
        (
            report(facts(30.0), remembered=memory(towards="none"), suspended=True),
            report(facts(40.0), remembered=memory(towards="none"), suspended=True),
        ),
        (
            report(facts(replicas=[replica("a", engine(), ready=20.0)])),
            report(facts(replicas=[replica("a", engine(), ready=35.0)])),
        ),
        (
            report(facts(replicas=[*pods(10.0, 3), replica("d")])),
            report(facts(replicas=[*pods(10.0, 2), replica("c"), replica("d")])),
        ),
        (
            report(facts(rollout=under_way(1, deadline_exceeded=True))),
            report(facts(rollout=under_way(2, deadline_exceeded=True))),
        ),
        (report(facts(rollout=under_way(1))), report(facts(rollout=under_way(2)))),
    ],
    ids=[
        "concurrency",
        "an error's time",
        "an age",
        "a dwell",
        "a recommendation's numbers",
        "a Pod's age",
        "which Pod is missing",
        "a stuck rollout's counts",
        "somebody's rollout's counts",
    ],
)
def test_numbers_that_move_by_themselves_are_not_written(before: Report, after: Report) -> None:
    assert before.decision is not None
    assert after.decision is not None
    assert before.decision.reason is after.decision.reason
    document = status_document(before, {})

    assert status_document(after, document) == document


@pytest.mark.parametrize(
    ("table", "active"),
    [(TWO_ROWS, "eagle2"), (TWO_ROWS, "none"), (THREE_ROWS, "eagle2")],
    ids=["off", "on", "both ways"],
)
@pytest.mark.parametrize(
    "other",
    [
        {},
        {"suspended": True},
        {"suspended": True, "problem": Problem(reason=Reason.FIELD_CONFLICT, message="helm")},
    ],
    ids=["dwelling", "suspended", "refused"],
)
@given(seen=st.lists(st.floats(min_value=3.0, max_value=40.0), min_size=2, max_size=30))
def test_a_fleet_at_a_border_is_written_about_at_most_once_per_calm_period(
    table: CutoffTable, active: str, other: dict[str, Any], seen: list[float]
) -> None:
    document: dict[str, Any] = {}
    fast = FastMemory()
    written = []
    for tick, concurrency in enumerate(seen):
        now = NOW + 15.0 * tick
        made = report(
            facts(concurrency, active=active, now=now),
            remembered=replace(memory(), fast=fast),
            now=now,
            cutoff=table,
            stabilization=Stabilization(busier_seconds=3600.0, quieter_seconds=3600.0),
            **other,
        )
        assert made.decision is not None
        assert other or made.decision.reason in CALM
        fast = made.decision.memory.fast
        following = status_document(made, document)
        if following != document:
            written.append(now)
        document = following
    gaps = [later - before for before, later in pairwise(written)]
    assert all(gap >= CALM_SECONDS for gap in gaps)


def test_what_is_recommended_is_written_when_it_stays_so() -> None:
    def towards(profile: str, concurrency: float, after: float) -> Report:
        return report(
            facts(concurrency, now=NOW + after),
            remembered=memory(towards=profile, crossed_ago=-after),
            now=NOW + after,
            cutoff=THREE_ROWS,
        )

    first = status_document(towards("none", 30.0, 0.0), {})
    second = status_document(towards("draft-1b", 2.0, 15.0), first)
    third = status_document(towards("draft-1b", 2.0, CALM_SECONDS), second)

    assert first["recommendedProfile"] == second["recommendedProfile"] == "none"
    assert third["recommendedProfile"] == "draft-1b"
    assert third["lastDecision"]["time"] == timestamp(NOW + CALM_SECONDS)


def test_going_to_and_fro_is_written_again_after_a_while_and_anything_else_at_once() -> None:
    calm = status_document(report(facts(10.0)), {})
    dwelling = report(facts(30.0), remembered=memory(towards="none", crossed_ago=5.0))

    assert status_document(dwelling, calm)["lastDecision"] == calm["lastDecision"]
    later = replace(dwelling, now=NOW + CALM_SECONDS)
    assert status_document(later, calm)["lastDecision"] == {
        "time": timestamp(NOW + CALM_SECONDS),
        "reason": "Dwelling",
        "message": dwelling.decision.message if dwelling.decision else "",
    }
    backwards = replace(dwelling, now=NOW - 1000)
    assert status_document(backwards, calm)["lastDecision"]["reason"] == "Dwelling"
    suspended = report(facts(10.0), suspended=True)
    assert status_document(suspended, calm)["lastDecision"]["reason"] == "Suspended"


def test_a_condition_keeps_its_transition_time_while_its_status_stands() -> None:
    first = status_document(report(facts(telemetry=endpoint(error="refused"))), {})
    later = NOW + 600
    other = facts(telemetry=endpoint(answered_at=None), now=later)
    second = status_document(report(other, now=later), first)
    third = status_document(report(facts(now=later + 60), now=later + 60), second)

    one, two, three = (conditions(each)["TelemetryAvailable"] for each in (first, second, third))
    assert (one["status"], two["status"], three["status"]) == ("False", "False", "True")
    assert one["lastTransitionTime"] == two["lastTransitionTime"] == timestamp(NOW)
    assert three["lastTransitionTime"] == timestamp(later + 60)
    assert conditions(third)["Ready"]["lastTransitionTime"] == timestamp(NOW)


def test_an_edit_renews_every_message_and_generation() -> None:
    first = status_document(report(facts(telemetry=endpoint(error="one"))), {})
    edited = report(facts(telemetry=endpoint(error="two")), generation=4)

    second = conditions(status_document(edited, first))

    assert "two" in second["TelemetryAvailable"]["message"]
    assert {each["observedGeneration"] for each in second.values()} == {4}
    assert second["TelemetryAvailable"]["lastTransitionTime"] == timestamp(NOW)


@pytest.mark.parametrize("as_problem", [True, False])
def test_a_message_that_names_what_is_wrong_is_that_of_today(as_problem: bool) -> None:
    def rival(name: str) -> Report:
        problem = Problem(reason=Reason.TARGET_CONFLICT, message=f"serving {name} is older")
        if as_problem:
            return report(problem=problem)
        return report(facts(target=problem))

    first = status_document(rival("a"), {})
    second = conditions(status_document(rival("b"), first))

    kinds = ["Ready", "Stalled"] + ([] if as_problem else ["TargetResolved"])
    assert [second[kind]["message"] for kind in kinds] == ["serving b is older"] * len(kinds)


def test_switches_survive_the_status() -> None:
    switches = (switch(None), switch(100.0), switch(5.0, to="eagle2"))
    document = status_document(report(remembered=memory(*switches)), {})

    assert slow_memory_of(document) == memory(*switches).slow


moments = st.integers(min_value=0, max_value=4_000_000_000).map(float)
switches = st.builds(
    Switch,
    started_at=moments,
    finished_at=st.none() | moments,
    from_profile=st.none() | st.sampled_from(["eagle2", "none"]),
    to_profile=st.sampled_from(["eagle2", "none"]),
    reason=st.sampled_from(Reason),
)


@given(st.lists(switches, max_size=10).map(tuple))
def test_any_slow_memory_survives_the_status(remembered: tuple[Switch, ...]) -> None:
    made = replace(REPORTS[0].report, memory=SlowMemory(switches=remembered))

    assert slow_memory_of(status_document(made, {})).switches == remembered


any_roll = st.builds(
    Roll,
    from_profile=st.none() | st.just("eagle2"),
    to_profile=st.just("none"),
    started_at=moments,
    finished_at=st.none() | moments,
    state=st.sampled_from(RollState),
    stage_at=moments.filter(bool),
    way=st.sampled_from(RollWay),
    before=st.none() | st.builds(Before, label=st.just("eagle2"), config=st.just("{}")),
    template=st.sampled_from(["", "0123456789abcdef"]),
    config=st.sampled_from(["", "fedcba9876543210"]),
    why=st.none() | st.just(Problem(reason=Reason.TRIAL_ENDED, message="measured")),
    target_uid=st.just("uid-1"),
    target_generation=st.integers(min_value=0, max_value=2**40),
    serving_generation=st.integers(min_value=0, max_value=2**40),
)


@given(any_roll)
def test_any_roll_survives_the_status(made: Roll) -> None:
    assert roll_of(status_document(replace(REPORTS[0].report, roll=made), {})) == made


def test_moments_are_kept_to_the_second_and_that_is_stable() -> None:
    made = replace(REPORTS[0].report, roll=roll(started_at=NOW + 0.9))
    document = status_document(made, {})
    read = roll_of(document)

    assert read is not None
    assert read.started_at == NOW
    assert status_document(replace(made, roll=read), document) == document


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"to": "none", "reason": "AboveCutoff"},
        {"to": "none", "reason": "AboveCutoff", "startTime": "yesterday"},
        {"to": "none", "reason": "AboveCutoff", "startTime": 5},
        {"to": "none", "reason": 5, "startTime": timestamp(NOW)},
        {"to": "none", "reason": "", "startTime": timestamp(NOW)},
        {"reason": "AboveCutoff", "startTime": timestamp(NOW)},
    ],
)
def test_a_switch_that_cannot_be_read_is_left_out(entry: dict[str, Any]) -> None:
    good = status_document(report(remembered=memory(switch(5.0))), {})["switchHistory"][0]

    read = slow_memory_of({"switchHistory": [entry, good]})

    assert read == memory(switch(5.0)).slow


def test_what_another_version_gave_a_reason_of_its_own_for_counts_all_the_same() -> None:
    """A quarantine that is lost is a bad profile tried again; a switch, a limit overstepped."""
    made = roll(RollState.UNDOING)
    entries = quarantined(
        (),
        "eagle2",
        reason=Reason.CANARY_SLOWER,
        message="12 % more time per token",
        config="c1",
        template="t1",
        now=NOW,
    )
    remembered = memory(switch(5.0))
    remembered = replace(remembered, slow=replace(remembered.slow, quarantine=entries))
    status = status_document(report(remembered=remembered, roll=made), {})
    status["quarantine"][0]["reason"] = "FutureReason"
    status["switchHistory"][0]["reason"] = "FutureReason"
    status["rollout"].update(reason="FutureReason", message="for reasons of its own")

    slow, read = slow_memory_of(status), roll_of(status)

    unknown = Reason.TOLD_BY_ANOTHER_VERSION
    (kept,), (counted,) = slow.quarantine, slow.switches
    assert kept == replace(entries[0], reason=unknown)
    assert counted == replace(remembered.slow.switches[0], reason=unknown)
    assert read == replace(made, why=Problem(reason=unknown, message="for reasons of its own"))


@pytest.mark.parametrize(
    "change",
    [
        {"state": "Paused"},
        {"startTime": "yesterday"},
        {"startTime": None},
        {"targetGeneration": "many"},
        {"targetGeneration": None},
        {"finishTime": "tomorrow"},
    ],
)
def test_a_roll_that_cannot_be_read_is_none(change: dict[str, Any]) -> None:
    good = status_document(report(roll=roll()), {})["rollout"]

    assert roll_of({"rollout": good}) == roll()
    assert roll_of({"rollout": {**good, **change}}) is None
    assert roll_of({}) is None


def progress(document: dict[str, Any]) -> tuple[int, int, int]:
    entry = document["rollout"]
    return entry["updatedReplicas"], entry["availableReplicas"], entry["replicas"]


def test_the_progress_of_a_roll_is_live_and_stays_as_it_ended() -> None:
    announced = status_document(report(facts(30.0), roll=roll(RollState.INTENDED)), {})
    assert progress(announced) == (0, 4, 4)

    rolling = facts(30.0, active="none", rollout=under_way(3))
    running = status_document(report(rolling, roll=roll()), announced)
    assert progress(running) == (3, 4, 4)

    ended = status_document(
        report(facts(30.0, active="none"), roll=roll(RollState.FINISHED)), running
    )
    assert progress(ended) == (4, 4, 4)

    scaled = facts(30.0, active="none", desired=9, rollout=replace(under_way(4), desired=9))
    assert progress(status_document(report(scaled, roll=roll(RollState.FINISHED)), ended)) == (
        4,
        4,
        4,
    )
    unreadable = replace(INVALID, roll=roll(RollState.FINISHED))
    assert progress(status_document(unreadable, ended)) == (4, 4, 4)


def test_a_roll_that_was_given_up_before_it_began_has_updated_nothing() -> None:
    announced = status_document(report(facts(30.0), roll=roll(RollState.INTENDED)), {})
    given_up = status_document(report(facts(30.0), roll=roll(RollState.ABANDONED)), announced)

    assert progress(given_up) == (0, 4, 4)


@pytest.mark.parametrize("state", [RollState.INTENDED, RollState.ROLLING])
def test_while_a_roll_is_open_its_profile_is_desired(state: RollState) -> None:
    document = status_document(report(facts(5.0), roll=roll(state)), {})

    assert (document["desiredProfile"], document["recommendedProfile"]) == ("none", "none")
    assert document["activeProfile"] == "eagle2"


def test_what_is_not_known_is_not_written() -> None:
    assert set(status_document(INVALID, {})) == {
        "observedGeneration",
        "lastDecision",
        "conditions",
    }


def test_an_unreadable_spec_keeps_what_is_remembered() -> None:
    made = replace(INVALID, roll=roll(), memory=memory(switch(None)).slow)
    document = status_document(made, {})

    assert roll_of(document) == roll()
    assert slow_memory_of(document) == memory(switch(None)).slow


def test_the_cut_off_table_is_in_whole_numbers() -> None:
    assert status_document(REPORTS[0].report, {})["cutoffTable"] == [
        {"profile": "eagle2", "upToConcurrency": 20, "returnBelowConcurrency": 16},
        {"profile": "none"},
    ]


def test_a_first_recommendation_is_written_at_once() -> None:
    blind = replace(report(), decision=replace(report().decision, recommended=None))  # type: ignore[type-var]
    before = status_document(blind, {})
    assert "recommendedProfile" not in before
    after = status_document(replace(report(), now=blind.now + 5), before)
    assert after["recommendedProfile"] == report().decision.recommended  # type: ignore[union-attr]


class TestCanaryPods:
    """A canary is named, so that a person can look at it with kubectl describe pod."""

    CANARY = roll(RollState.CANARY, from_profile="none", to_profile="eagle2", way=RollWay.CANARY)

    def seen(self, made: Roll, *new: str, starting: tuple[str, ...] = ()) -> Report:
        old = tuple(replica(f"old-{n}", engine(5.0)) for n in range(4))
        serving = tuple(replica(each, engine(5.0), profile="eagle2") for each in new)
        base = facts(5.0, replicas=(*old, *serving))
        starts = tuple(PodStart(name=each, profile="eagle2", age_seconds=9.0) for each in starting)
        return report(replace(base, starts=starts), roll=made)

    def named(self, made: Report, before: dict[str, Any] | None = None) -> Any:
        return status_document(made, before or {})["rollout"].get("canaryPods")

    def test_it_is_named_while_it_starts_and_while_it_serves(self) -> None:
        assert self.named(self.seen(self.CANARY, starting=("new-b", "new-a"))) == ["new-a", "new-b"]
        assert self.named(self.seen(self.CANARY, "new-a")) == ["new-a"]
        assert self.named(self.seen(self.CANARY)) is None

    def test_the_name_stays_when_it_is_taken_back_and_goes_with_the_next_roll(self) -> None:
        document = status_document(self.seen(self.CANARY, "new-a"), {})
        gone = self.seen(replace(self.CANARY, state=RollState.RESTORED))
        assert self.named(gone, document) == ["new-a"]
        another = replace(self.CANARY, state=RollState.INTENDED, started_at=NOW)
        assert self.named(self.seen(another), document) is None

    def test_the_rest_that_follows_is_no_canary(self) -> None:
        document = status_document(self.seen(self.CANARY, "new-a"), {})
        rest = self.seen(replace(self.CANARY, state=RollState.ROLLING), "new-a", "new-b")
        assert self.named(rest, document) == ["new-a"]

    def test_more_than_a_few_are_not_listed(self) -> None:
        many = tuple(f"new-{n:02}" for n in range(20))
        assert self.named(self.seen(self.CANARY, *many)) == list(many[:MAX_CANARY_PODS])
