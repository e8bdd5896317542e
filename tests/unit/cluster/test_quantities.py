"""Kubernetes quantities, and what a Pod takes from quotas."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cluster.quantities import parse_quantity, pod_cost, quantities

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        (8, 8),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("500m", Fraction(1, 2)),
        ("3u", Fraction(3, 10**6)),
        ("3n", Fraction(3, 10**9)),
        ("2k", 2000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E-1", Fraction(1, 10)),
        ("1.5Ki", 1536),
        ("64Gi", 64 * GIB),
        ("1Mi", 2**20),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("-1", -1),
        ("+1", 1),
    ],
)
def test_a_quantity_is_read_exactly(text: object, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text", ["", "Gi", "1K", "1 Gi", "nan", "inf", "1e999", "1ee3", "0x10", "1mi", None, "9" * 31]
)
def test_what_is_no_quantity_is_not_known(text: object) -> None:
    assert parse_quantity(text) is None


@given(st.text(alphabet="0123456789.eEmkMGiKn+-", max_size=12))
def test_any_text_is_a_number_or_none(text: str) -> None:
    value = parse_quantity(text)
    assert value is None or isinstance(value, Fraction)


def test_a_list_of_quantities_leaves_out_what_is_none() -> None:
    assert quantities({"pods": "10", "odd": "many"}) == {"pods": 10}
    assert quantities(None) == {}


def asks(cpu: str | None = None, *, limit: str | None = None, **more: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    if cpu is not None:
        resources["requests"] = {"cpu": cpu}
    if limit is not None:
        resources["limits"] = {"cpu": limit}
    return {"resources": resources, **more}


def cpu_of(**pod: Any) -> tuple[Fraction | None, Fraction | None]:
    amounts = pod_cost(pod, {}).amounts
    assert amounts.get("cpu") == amounts.get("requests.cpu")
    return amounts.get("requests.cpu"), amounts.get("limits.cpu")


@pytest.mark.parametrize(
    ("pod", "requests", "limits"),
    [
        ({"containers": [asks("1"), asks("500m")]}, Fraction(3, 2), None),
        ({"containers": [asks("1", limit="4")]}, 1, 4),
        ({"containers": [asks(limit="4")]}, 4, 4),
        ({"containers": [asks()]}, None, None),
        ({"containers": [asks("0")]}, None, None),
        # Init containers run one at a time, before the others.
        ({"containers": [asks("2")], "initContainers": [asks("3"), asks("1")]}, 3, None),
        ({"containers": [asks("2")], "initContainers": [asks("1"), asks("1")]}, 2, None),
        # A sidecar runs on beside what comes after it.
        (
            {
                "containers": [asks("2")],
                "initContainers": [asks("1", restartPolicy="Always"), asks("4")],
            },
            5,
            None,
        ),
        (
            {
                "containers": [asks("2")],
                "initContainers": [asks("2"), asks("1", restartPolicy="Always")],
            },
            3,
            None,
        ),
        # What is stated for the Pod as a whole counts.
        ({"containers": [asks("2")], **asks("8")}, 8, None),
    ],
)
def test_cpu_that_a_pod_takes_at_most_at_one_time(
    pod: dict[str, Any], requests: Fraction | int | None, limits: Fraction | int | None
) -> None:
    assert cpu_of(**pod) == (requests, limits)


def test_a_pod_takes_itself_its_gpus_and_its_memory() -> None:
    resources = {"requests": {"memory": "64Gi", "nvidia.com/gpu": "2"}}
    pod = {"containers": [{"resources": resources}], "priorityClassName": "serving"}
    cost = pod_cost(pod, {"nvidia.com/gpu": 2})
    assert cost.amounts == {
        "pods": 1,
        "count/pods": 1,
        "requests.nvidia.com/gpu": 2,
        "memory": 64 * GIB,
        "requests.memory": 64 * GIB,
    }
    assert cost.priority_class == "serving"
    assert cost.states_compute


@pytest.mark.parametrize(
    ("containers", "stated"),
    [([asks()], False), ([asks("1")], True), ([asks(limit="1")], True), ([asks("0")], False)],
)
def test_a_pod_that_states_no_cpu_or_memory_may_be_of_any_class(
    containers: list[dict[str, Any]], stated: bool
) -> None:
    cost = pod_cost({"containers": containers}, {"nvidia.com/gpu": 1})
    assert cost.states_compute is stated
    assert cost.priority_class == ""
