"""Whether a roll could finish."""

from dataclasses import replace

import pytest

from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan, first_hold
from ridgeline.terms.reasons import Reason

FREE = Room(pods=1, why="1 node has room")
FULL = Room(pods=0, why="2 suitable nodes have room for 0 more Pods")


def plan(**changes: object) -> RollPlan:
    fields: dict[str, object] = {
        "replicas": 4,
        "max_surge": 1,
        "max_unavailable": 0,
        "room": FREE,
        **changes,
    }
    return RollPlan(**fields)  # type: ignore[arg-type]


def reason(**changes: object) -> Reason | None:
    hold = first_hold(plan(**changes))
    return hold.reason if hold else None


def test_a_roll_that_can_finish_is_let_through() -> None:
    assert reason() is None


@pytest.mark.parametrize(
    ("value", "replicas", "surge", "unavailable"),
    [
        ("25%", 1, 1, 0),
        ("25%", 4, 1, 1),
        ("25%", 5, 2, 1),
        ("28%", 25, 7, 7),
        (2, 9, 2, 2),
        ("0%", 9, 0, 0),
    ],
)
def test_surge_rounds_up_and_unavailable_down(
    value: int | str, replicas: int, surge: int, unavailable: int
) -> None:
    made = plan(replicas=replicas, max_surge=value, max_unavailable=value)
    assert (made.surge, made.unavailable) == (surge, unavailable)


def test_one_replica_with_the_default_strategy_and_no_free_gpu_would_wait_for_ever() -> None:
    changes = {"replicas": 1, "max_surge": "25%", "max_unavailable": "25%"}
    assert reason(**changes, room=FULL) is Reason.NO_ROOM_FOR_SURGE
    assert reason(**changes) is None


def test_the_way_out_is_that_of_what_is_missing() -> None:
    for room, way_out in (
        (FULL, "free a GPU"),
        (replace(FULL, gpu_helps=False), "add a node"),
    ):
        hold = first_hold(plan(room=room))
        assert hold is not None
        assert f"; {way_out}, or set spec.strategy.rollingUpdate.maxUnavailable: 1" in hold.message


def test_a_pod_that_may_go_first_makes_the_room() -> None:
    assert reason(room=FULL, max_unavailable=1) is None


def test_room_that_cannot_be_counted_does_not_hold() -> None:
    assert reason(room=Room(pods=None, why="no right to read nodes")) is None


def test_strategy_that_rounds_to_nothing_is_not_begun() -> None:
    assert reason(max_surge=0, max_unavailable="10%") is Reason.ROLL_CANNOT_MOVE


def test_recreate_is_not_begun() -> None:
    assert reason(recreate=True) is Reason.ROLL_STOPS_SERVING


def test_a_disruption_budget_is_kept_although_a_deployment_would_ignore_it() -> None:
    changes = {"max_unavailable": 2, "budget_name": "keep-three"}
    assert reason(**changes, disruptions_allowed=1) is Reason.DISRUPTION_BUDGET
    assert reason(**changes, disruptions_allowed=2) is None
    assert reason(**changes) is None


@pytest.mark.parametrize("field", ["startup_budget_seconds", "progress_deadline_seconds"])
def test_a_start_needs_a_quarter_more_than_was_seen(field: str) -> None:
    assert reason(start_seconds=100.0, **{field: 124.0}) is Reason.START_BUDGET_TOO_SHORT
    assert reason(start_seconds=100.0, **{field: 125.0}) is None
    assert reason(**{field: 1.0}) is None


def test_a_drain_needs_its_grace_period() -> None:
    assert reason(drain_seconds=30.0, grace_seconds=31.0) is Reason.DRAIN_TOO_SHORT
    assert reason(drain_seconds=30.0, grace_seconds=32.0) is None
    assert reason(drain_seconds=0.0, grace_seconds=0.0) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"room": FULL}, "maxUnavailable: 1"),
        ({"max_surge": 0}, "maxUnavailable"),
        ({"recreate": True}, "RollingUpdate"),
        ({"drain_seconds": 60.0}, "62"),
    ],
)
def test_a_hold_says_which_line_to_change(changes: dict[str, object], said: str) -> None:
    hold = first_hold(plan(**changes))
    assert hold is not None
    assert said in hold.message
