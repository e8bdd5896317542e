"""Strict reading of answers: nothing guessed, nothing merged, nothing lost without a word."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.telemetry.errors import MalformedError, TooLargeError
from ridgeline.telemetry.parse import (
    Answer,
    EngineKey,
    SignalTable,
    number,
    parse_answer,
    position_tables,
    signal_table,
)


def table(*samples: tuple[dict[str, str], float | None]) -> SignalTable:
    answer = Answer(samples=samples)
    return signal_table(answer, namespace_label="ns", pod_label="pod")


def labels(pod: str = "a", engine: str = "0", **more: str) -> dict[str, str]:
    return {"ns": "prod", "pod": pod, "engine": engine} | more


KEY = EngineKey("prod", "a", "0")


def test_values_by_engine() -> None:
    read = table((labels(), 1.5), (labels(engine="1"), 0.0))
    assert read.values == {KEY: 1.5, EngineKey("prod", "a", "1"): 0.0}
    assert (read.series, read.remarks) == (2, ())


def test_two_series_of_one_engine_leave_it_without_a_value() -> None:
    read = table((labels(), 1.0), (labels(job="x"), 1.0), (labels(pod="b"), 2.0))
    assert read.values == {EngineKey("prod", "b", "0"): 2.0}
    assert read.ambiguous == {KEY}
    assert "prod/a engine 0" in read.remarks[0]


def test_a_number_beside_a_nan_of_the_same_engine_is_no_number() -> None:
    read = table((labels(), None), (labels(), 3.0))
    assert read.values == {}
    assert read.not_finite == frozenset()
    assert read.ambiguous == {KEY}


@pytest.mark.parametrize("missing", [{"ns": "prod"}, {"pod": "a"}, {"ns": "", "pod": "a"}, {}])
def test_series_that_name_no_pod_are_left_out_and_counted(missing: dict[str, str]) -> None:
    read = table((missing, 1.0), (labels(), 2.0))
    assert read.values == {KEY: 2.0}
    assert read.remarks[0].startswith("1 series lack the label 'ns' or 'pod'")


def test_a_missing_and_an_empty_engine_label_are_the_only_engine() -> None:
    assert table(({"ns": "prod", "pod": "a"}, 1.0)).values == {KEY: 1.0}
    assert table((labels(engine=""), 1.0)).values == {KEY: 1.0}


def test_positions_are_ordered_as_numbers() -> None:
    samples = tuple((labels(position=str(n)), float(n)) for n in (10, 2, 0))
    tables = position_tables(Answer(samples=samples), namespace_label="ns", pod_label="pod")
    assert [(n, t.values[KEY]) for n, t in tables.items()] == [(0, 0.0), (2, 2.0), (10, 10.0)]


@pytest.mark.parametrize("position", ["", "-1", "1.0", "x", "²", "99999"])
def test_positions_that_are_no_numbers_are_refused(position: str) -> None:
    answer = Answer(samples=((labels(position=position), 1.0),))
    with pytest.raises(MalformedError, match="position"):
        position_tables(answer, namespace_label="ns", pod_label="pod")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_exactly(value: float) -> None:
    assert number(repr(value)) == value


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "Inf", "1e400", "-1e400"])
def test_not_finite_is_no_number(text: str) -> None:
    assert number(text) is None


@given(st.text())
def test_any_text_is_a_finite_number_or_none_or_refused(text: str) -> None:
    try:
        value = number(text)
    except MalformedError:
        return
    assert value is None or math.isfinite(value)


@given(st.binary() | st.text().map(str.encode))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    try:
        parse_answer(body, max_series=10)
    except (MalformedError, TooLargeError):
        return


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_json, _json, _json)
def test_any_shape_inside_is_read_or_refused(result: object, item: object, texts: object) -> None:
    for inner in (result, [item], [{"metric": item, "value": [0, texts]}]):
        document = {
            "status": "success",
            "data": {"resultType": "vector", "result": inner},
            "warnings": texts,
        }
        try:
            answer = parse_answer(json.dumps(document).encode(), max_series=10)
            signal_table(answer, namespace_label="ns", pod_label="pod")
        except (MalformedError, TooLargeError):
            continue
