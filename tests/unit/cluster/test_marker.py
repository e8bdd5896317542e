"""The annotation on a target: written, read back, and read by nobody's accident."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cluster.marker import ArgsMark, CanaryMark, Marker, marker, marker_of
from ridgeline.engine.args_given import GivenFlag
from ridgeline.terms.rolls import OnDelete

MARKS = [
    None,
    CanaryMark(label="none", config=""),
    CanaryMark(label="eagle2", config='{"method":"eagle","model":"a\\"b"}'),
    CanaryMark(label=None, config="{}"),
    CanaryMark(label=None, config=None),
]


@pytest.mark.parametrize("on_delete", list(OnDelete))
@pytest.mark.parametrize("mark", MARKS)
def test_what_was_written_is_read_back(on_delete: OnDelete, mark: CanaryMark | None) -> None:
    text = marker("llama", on_delete, mark)
    assert marker_of(text) == Marker(serving="llama", on_delete=on_delete, canary=mark)


def test_the_text_is_short_and_says_what_happens_without_a_canary_too() -> None:
    assert marker("llama") == '{"serving":"llama","onDelete":"Keep"}'


@pytest.mark.parametrize(
    "flags",
    [(), (GivenFlag(before=2, words=("-sc", "{}")), GivenFlag(before=3, words=("--spec-t=1",)))],
)
def test_the_flags_of_a_lists_maker_are_read_back(flags: tuple[GivenFlag, ...]) -> None:
    mark = ArgsMark(container="vllm", given=flags)
    found = marker_of(marker("llama", args=mark))
    assert found is not None
    assert found.args == mark


@pytest.mark.parametrize(
    "flag",
    [
        ["--trust-remote-code"],
        [0, "--trust-remote-code"],
        [0, "-sc", "{}", "--trust-remote-code"],
        [0, "-sc={}", "-sc={}"],
        [0],
        ["0", "-sc", "{}"],
        [True, "-sc", "{}"],
        [0, "-sc", 7],
        "-sc={}",
    ],
)
def test_no_other_word_gets_into_the_arguments_by_the_annotation(flag: object) -> None:
    text = json.dumps({"serving": "llama", "args": {"container": "vllm", "given": [flag]}})
    assert marker_of(text) is None


def test_one_that_says_nothing_of_deletion_keeps() -> None:
    found = marker_of('{"serving":"llama"}')
    assert found == Marker(serving="llama", on_delete=OnDelete.KEEP, canary=None)


def test_what_a_newer_operator_adds_is_passed_over() -> None:
    found = marker_of('{"serving":"llama","onDelete":"Restore","more":[1],"canary":null}')
    assert found == Marker(serving="llama", on_delete=OnDelete.RESTORE, canary=None)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "llama",
        "null",
        "7",
        '"llama"',
        "[]",
        '["serving"]',
        "{}",
        '{"serving"',
        '{"onDelete":"Keep"}',
        '{"serving":"llama","onDelete":"Delete"}',
        '{"serving":"llama","onDelete":null}',
        '{"serving":"llama","onDelete":["Keep"]}',
        '{"serving":"llama","canary":"eagle2"}',
        '{"serving":"llama","canary":[1]}',
        '{"serving":"llama","canary":1}',
        '{"serving":null}',
        '{"serving":7}',
        '{"serving":"llama","canary":{"label":7,"config":""}}',
        '{"serving":"llama","canary":{"label":"none","config":false}}',
        "[" * 100_000,
        '{"serving":"llama","canary":' + "[" * 100_000,
    ],
    ids=lambda text: str(text)[:60],
)
def test_what_cannot_be_read_is_nobody_s(text: str | None) -> None:
    assert marker_of(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["serving", "onDelete", "canary", "label", "config"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_no_annotation_of_anybody_stops_the_operator(content: object) -> None:
    found = marker_of(json.dumps(content))
    assert found is None or isinstance(found.serving, str)
    if found is not None and found.canary is not None:
        assert isinstance(found.canary.label, str | None)
        assert isinstance(found.canary.config, str | None)


@given(st.text(max_size=40))
def test_no_text_stops_it_either(text: str) -> None:
    marker_of(text)
