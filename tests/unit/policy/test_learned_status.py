"""What was learned, written to status and read back."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.api.status import LearnedStatus
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.learned_status import learned_document, learned_of
from tests.unit.policy.predicted import BASIS, NOW, arm, learned

KNOWN = learned(arm(log_scale=math.log(1.25), windows=12), arm("none"))

shares = st.floats(0.0, 1.0)
amounts = st.one_of(st.none(), st.floats(0.0, 1e6))
arms = st.builds(
    LearnedArm,
    profile=st.just("eagle2"),
    acceptance=st.lists(shares, max_size=6).map(lambda each: tuple(sorted(each, reverse=True))),
    drafted=st.one_of(st.none(), shares),
    log_scale=st.floats(-20.0, 20.0),
    windows=st.integers(0, 10_000),
)
all_learned = st.builds(
    Learned,
    basis=st.text(max_size=600),
    context_tokens=amounts,
    prefill_per_token=amounts,
    arms=st.lists(arms, max_size=1).map(tuple),
    written_at=st.floats(0.0, 4e9),
)


def test_what_status_holds() -> None:
    assert learned_document(KNOWN) == {
        "basis": BASIS,
        "time": "2027-01-15T08:00:00Z",
        "contextTokens": 500,
        "prefillPercent": 50,
        "profiles": [
            {
                "profile": "eagle2",
                "stepTimePercent": 125,
                "windows": 12,
                "acceptancePercent": [60, 30, 10],
                "draftedPercent": 100,
            },
            {"profile": "none", "stepTimePercent": 100, "windows": 0},
        ],
    }


def test_it_is_read_back() -> None:
    read = learned_of({"learned": learned_document(KNOWN)})
    assert read is not None
    assert read.arm("eagle2") == KNOWN.arm("eagle2")
    assert read == KNOWN


@given(all_learned)
def test_whatever_is_written_is_valid_and_reads_as_what_writes_the_same(known: Learned) -> None:
    document = learned_document(known)
    json.dumps(document, allow_nan=False)
    LearnedStatus.model_validate(document)
    read = learned_of({"learned": document})
    assert read is not None
    assert learned_document(read) == document
    if known.context_tokens is not None and read.context_tokens is not None:
        assert abs(read.context_tokens - known.context_tokens) <= 0.5
    for was, now in zip(known.arms, read.arms, strict=True):
        assert now.windows == was.windows
        for before, after in zip(was.acceptance, now.acceptance, strict=True):
            assert abs(before - after) <= 0.005 + 1e-12


def test_nothing_learned_is_nothing() -> None:
    assert learned_of({}) is None
    assert learned_of({"learned": None}) is None


@pytest.mark.parametrize(
    "change",
    [
        {"basis": None, "time": None},
        {"time": "yesterday"},
        {"time": 12},
        {"contextTokens": "12"},
        {"contextTokens": math.inf},
        {"prefillPercent": math.nan},
        {"profiles": [{"profile": "eagle2", "stepTimePercent": math.inf}]},
        {"profiles": [{"profile": "eagle2", "acceptancePercent": [math.nan]}]},
        {"profiles": [{"profile": "eagle2", "draftedPercent": math.inf}]},
        {"profiles": [{"profile": "eagle2", "windows": math.inf}]},
        {"contextTokens": []},
        {"prefillPercent": "much"},
        {"profiles": 3},
        {"profiles": [3]},
        {"profiles": [{}]},
        {"profiles": [{"profile": "eagle2", "stepTimePercent": 0}]},
        {"profiles": [{"profile": "eagle2", "stepTimePercent": -5}]},
        {"profiles": [{"profile": "eagle2", "stepTimePercent": "x"}]},
        {"profiles": [{"profile": "eagle2", "windows": "x"}]},
        {"profiles": [{"profile": "eagle2", "acceptancePercent": ["x"]}]},
        {"profiles": [{"profile": "eagle2", "acceptancePercent": 7}]},
        {"profiles": [{"profile": "eagle2", "draftedPercent": "x"}]},
    ],
)
def test_what_cannot_be_read_is_learned_anew(change: dict[str, Any]) -> None:
    entry = {**learned_document(KNOWN), **change}
    assert learned_of({"learned": entry}) is None


@pytest.mark.parametrize("garbage", [7, "text", [1], True, {"time": "x"}, {"basis": "x"}])
def test_garbage_in_its_place_is_nothing(garbage: object) -> None:
    assert learned_of({"learned": garbage}) is None


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [*learned_document(KNOWN), *learned_document(KNOWN)["profiles"][0]]
                ),
                inner,
                max_size=5,
            ),
        ),
        max_leaves=12,
    )
)
def test_whatever_stands_there_reads_as_something_finite_or_nothing(garbage: object) -> None:
    for entry in (garbage, {**learned_document(KNOWN), "profiles": garbage}):
        read = learned_of({"learned": entry})
        if read is not None:
            json.dumps(learned_document(read), allow_nan=False)


def test_shares_that_are_none_are_brought_into_their_bounds() -> None:
    entry = learned_document(KNOWN)
    entry["profiles"] = [
        {"profile": "eagle2", "acceptancePercent": [70, 90, -5], "draftedPercent": 140}
    ]
    read = learned_of({"learned": entry})
    assert read is not None
    assert read.arms[0].acceptance == (0.7, 0.7, 0.0)
    assert read.arms[0].drafted == 1.0


def test_a_steady_state_is_one_document() -> None:
    finer = learned(
        arm(acceptance=(0.601, 0.2993, 0.1), log_scale=math.log(1.2512), windows=12),
        arm("none"),
        context_tokens=500.3,
        prefill_per_token=0.5003,
        written_at=NOW + 0.4,
    )
    assert learned_document(finer) == learned_document(KNOWN)
