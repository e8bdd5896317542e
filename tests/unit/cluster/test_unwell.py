"""What is kept of a Pod that does not serve, also where its status is odd."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cluster.unwell import Unwell, trim_unwell
from ridgeline.policy.pod_start import Exit

MADE = "2026-11-29T10:00:00Z"
MADE_AT = 1_795_946_400.0
METADATA = {"name": "llama-new", "creationTimestamp": MADE}
CRASH = {
    "exitCode": 1,
    "reason": "Error",
    "message": "ValueError: no\n",
    "startedAt": "2026-11-29T10:01:00Z",
    "finishedAt": "2026-11-29T10:03:30Z",
}
CRASHED = Exit(code=1, reason="Error", message="ValueError: no\n", ran_seconds=150.0)


def status(
    *containers: dict[str, Any], ready: str = "False", scheduled: dict[str, Any] | None = None
) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}]
    if scheduled is not None:
        conditions.append({"type": "PodScheduled", **scheduled})
    return {"conditions": conditions, "containerStatuses": list(containers)}


def waiting(reason: str | None, message: str = "", **other: Any) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": message}}, **other}


def trimmed(of: dict[str, Any]) -> Unwell:
    found = trim_unwell(METADATA, of)
    assert found is not None
    return found


def test_a_pod_that_is_ready_and_never_crashed_is_well() -> None:
    assert trim_unwell(METADATA, status({"restartCount": 0}, ready="True")) is None
    assert trim_unwell(METADATA, status(ready="True")) is None


def test_a_pod_that_is_ready_after_a_crash_is_still_told_of() -> None:
    after = {"restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": CRASH}}
    found = trimmed(status(after, ready="True"))
    assert found == Unwell(made_at=MADE_AT, restarts=1, last_exit=CRASHED)


@pytest.mark.parametrize("of", [{}, {"conditions": None, "containerStatuses": None}, status()])
def test_a_pod_of_which_nothing_is_told_yet_has_its_age(of: dict[str, Any]) -> None:
    assert trimmed(of) == Unwell(made_at=MADE_AT)


def test_a_pod_without_a_time_of_its_making_is_not_told_of() -> None:
    assert trim_unwell({"name": "llama-new"}, status()) is None


def test_what_the_scheduler_says_counts_while_there_is_no_node() -> None:
    told = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    assert trimmed(status(scheduled={"status": "False", "message": told})).unschedulable == told
    bound = status(scheduled={"status": "True", "message": told})
    assert trimmed(bound).unschedulable is None
    assert trimmed(status(scheduled={"status": "False"})).unschedulable == ""


@pytest.mark.parametrize("usual", [None, "ContainerCreating", "PodInitializing"])
def test_waiting_that_is_usual_is_not_told_and_other_waiting_is(usual: str | None) -> None:
    found = trimmed(status(waiting(usual, "soon"), waiting("ImagePullBackOff", "no such image")))
    assert (found.waiting_reason, found.waiting_message) == ("ImagePullBackOff", "no such image")
    alone = trimmed(status(waiting(usual, "soon")))
    assert (alone.waiting_reason, alone.waiting_message) == (None, "")


def test_the_container_that_crashed_most_counts() -> None:
    found = trimmed(status({"restartCount": 1}, {"restartCount": 4}, {"restartCount": None}, {}))
    assert found.restarts == 4


def test_a_container_that_just_ended_tells_more_than_its_end_before() -> None:
    before = {**CRASH, "exitCode": 2}
    both = {"state": {"terminated": CRASH}, "lastState": {"terminated": before}}
    assert trimmed(status(both)).last_exit == CRASHED
    looping = waiting("CrashLoopBackOff", lastState={"terminated": CRASH}, restartCount=2)
    found = trimmed(status({"state": {"running": {}}}, looping))
    assert (found.last_exit, found.waiting_reason) == (CRASHED, "CrashLoopBackOff")


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("startedAt", Exit(code=1, reason="Error", message=CRASHED.message)),
        ("finishedAt", Exit(code=1, reason="Error", message=CRASHED.message)),
        ("message", Exit(code=1, reason="Error", ran_seconds=150.0)),
        ("reason", Exit(code=1, message=CRASHED.message, ran_seconds=150.0)),
        (
            "exitCode",
            Exit(code=0, reason="Error", message=CRASHED.message, ran_seconds=150.0),
        ),
    ],
)
def test_an_end_of_which_little_is_told(missing: str, expected: Exit) -> None:
    for ended in (
        {key: value for key, value in CRASH.items() if key != missing},
        {**CRASH, missing: None},
    ):
        assert trimmed(status({"lastState": {"terminated": ended}})).last_exit == expected


def test_a_container_that_ended_before_it_began_ran_for_no_time() -> None:
    ended = {**CRASH, "finishedAt": MADE}
    last = trimmed(status({"lastState": {"terminated": ended}})).last_exit
    assert last is not None
    assert last.ran_seconds == 0.0


def test_texts_are_cut_to_what_a_kubelet_keeps() -> None:
    long = "x" * 100_000
    found = trimmed(
        status(
            waiting("ErrImagePull", long, lastState={"terminated": {**CRASH, "message": long}}),
            scheduled={"status": "False", "message": long},
        )
    )
    assert found.last_exit is not None
    texts = (found.waiting_message, found.unschedulable or "", found.last_exit.message)
    assert {len(each) for each in texts} == {4096}


TEXTS = st.none() | st.text(max_size=8)
TIMES = st.none() | st.sampled_from([MADE, "2026-11-29T10:01:00.123456Z", "2026-11-29T11:00:00Z"])
ENDS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "exitCode": st.none() | st.integers(-1, 255),
        "reason": TEXTS,
        "message": TEXTS,
        "startedAt": TIMES,
        "finishedAt": TIMES,
    },
)
STATES = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "waiting": st.none() | st.fixed_dictionaries({}, optional={"reason": TEXTS}),
        "terminated": ENDS,
    },
)
CONTAINERS = st.fixed_dictionaries(
    {},
    optional={
        "restartCount": st.none() | st.integers(0, 2**31 - 1),
        "state": STATES,
        "lastState": STATES,
    },
)


@given(st.none() | st.lists(CONTAINERS, max_size=3), st.sampled_from(["True", "False", "Unknown"]))
def test_whatever_a_status_leaves_out_it_is_read(
    containers: list[dict[str, Any]] | None, ready: str
) -> None:
    found = trim_unwell(METADATA, {**status(ready=ready), "containerStatuses": containers})
    if found is not None and found.last_exit is not None:
        assert found.last_exit.ran_seconds is None or found.last_exit.ran_seconds >= 0.0
    assert found is not None or ready == "True"
