"""Which objectives a server's buckets can tell, and what to set where they cannot."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.engine.latency_buckets import (
    DEFAULT_BOUNDS,
    BucketFinding,
    bucket_finding,
    present_bounds,
)

FINE = (0.03, 0.04, 0.045, 0.05, 0.055, 0.0625, 0.075)


def found(bounds: tuple[float, ...], objective: float, version: str | None = None) -> BucketFinding:
    finding = bucket_finding(bounds, objective, engine_version=version)
    assert finding is not None
    return finding


def test_fine_buckets_around_a_bound_at_the_objective_need_nothing() -> None:
    assert bucket_finding(FINE, 0.05) is None
    assert bucket_finding((*FINE[::-1], math.inf), 0.05) is None


def test_an_objective_inside_a_bucket_is_interpolated() -> None:
    message = found(DEFAULT_BOUNDS, 0.03).message
    assert "objective of 30 ms" in message
    assert "inside the bucket from 25 ms to 50 ms" in message


def test_an_objective_at_a_bound_between_wide_buckets_shows_no_approach() -> None:
    """vLLM's own bounds are 25, 50 and 75 ms: a P99 of 26 ms and one of 49 ms look alike."""
    message = found(DEFAULT_BOUNDS, 0.05).message
    assert "wide buckets beside it (from 25 ms to 50 ms, then to 75 ms)" in message


@pytest.mark.parametrize("wide", [(0.045, 0.05, 0.063), (0.037, 0.05, 0.055), (0.045, 0.05)])
def test_either_side_can_be_too_wide(wide: tuple[float, ...]) -> None:
    assert bucket_finding((0.045, 0.05, 0.0625), 0.05) is None
    assert "wide buckets" in found(wide, 0.05).message


def test_objectives_beyond_all_buckets_and_no_buckets() -> None:
    assert "inside the bucket above 80000 ms" in found(DEFAULT_BOUNDS, 100.0).message
    assert "inside the bucket above 0 ms" in found((), 0.05).message
    assert "inside the bucket from 0 ms to 10 ms" in found(DEFAULT_BOUNDS, 0.005).message


def test_the_argument_sets_the_bounds_of_the_family_that_both_histograms_use() -> None:
    finding = found(DEFAULT_BOUNDS, 0.05)
    assert finding.argument is not None
    flag, _, value = finding.argument.partition("=")
    assert flag == "--custom-histogram-buckets"
    assert json.loads(value) == {"inter_token_latency": list(finding.bounds)}
    assert finding.argument in finding.message
    assert finding.bounds[:4] == (0.01, 0.025, 0.03, 0.035)
    assert finding.bounds[-1] == 80.0


@pytest.mark.parametrize(
    ("version", "offered"), [("0.31.0", False), ("0.32.0", True), ("1.0.0", True), (None, True)]
)
def test_older_servers_have_no_such_argument(version: str | None, offered: bool) -> None:
    finding = found(DEFAULT_BOUNDS, 0.05, version)
    assert (finding.argument is not None) == offered
    assert ("cannot change its buckets, 0.32 and later can" in finding.message) != offered


@settings(deadline=None)
@given(st.lists(st.floats(min_value=1e-4, max_value=1e4)), st.floats(min_value=1e-3, max_value=1e3))
def test_what_is_offered_resolves_the_objective(bounds: list[float], objective: float) -> None:
    finding = bucket_finding(bounds, objective)
    if finding is None:
        return
    assert list(finding.bounds) == sorted(set(finding.bounds))
    assert bucket_finding(finding.bounds, objective) is None


@pytest.mark.parametrize("objective", [0.0, -1.0, math.nan, math.inf])
def test_objectives_that_are_none_are_refused(objective: float) -> None:
    with pytest.raises(ValueError, match="objective_seconds"):
        bucket_finding(DEFAULT_BOUNDS, objective)


SET = '{"inter_token_latency":[0.03,0.05],"request_latency":[1]}'


@pytest.mark.parametrize(
    "words",
    [
        ["serve", f"--custom-histogram-buckets={SET}"],
        ["serve", "--custom-histogram-buckets", SET],
        ["--custom_histogram_buckets", '{ "inter_token_latency": [0.03, 0.05] }'],
        ["--custom-histogram-buckets={}", f"--custom-histogram-buckets={SET}"],
        ["sh", "-c", f"exec vllm serve m --custom-histogram-buckets='{SET}' --port 1"],
    ],
)
def test_bounds_that_the_arguments_set(words: list[str]) -> None:
    assert present_bounds(words) == (0.03, 0.05)


@pytest.mark.parametrize(
    "value", ["", "{}", "[]", "x", '{"inter_token_latency":[]}', '{"inter_token_latency":["x"]}']
)
def test_arguments_that_set_none_leave_the_defaults(value: str) -> None:
    assert present_bounds(["serve", "--custom-histogram-buckets", value]) == DEFAULT_BOUNDS
    assert present_bounds([f"--custom-histogram-buckets={value}"]) == DEFAULT_BOUNDS


@pytest.mark.parametrize("words", [[], ["serve", "m"], ["--custom-histogram-buckets"]])
def test_arguments_without_the_flag_leave_the_defaults(words: list[str]) -> None:
    assert present_bounds(words) == DEFAULT_BOUNDS


def test_the_offered_argument_is_read_back() -> None:
    finding = found(DEFAULT_BOUNDS, 0.05)
    assert finding.argument is not None
    assert present_bounds([finding.argument]) == finding.bounds
    assert bucket_finding(present_bounds([finding.argument]), 0.05) is None
