"""Strict reading of answers: nothing guessed, nothing merged, nothing lost without a word."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.errors import MalformedError, TooLargeError
from ridgeline.telemetry.labels import LabelBook
from ridgeline.telemetry.parse import (
    Answer,
    EngineKey,
    SignalTable,
    number,
    parse_answer,
    position_tables,
    signal_table,
)


def book() -> LabelBook:
    return LabelBook(namespace_label="ns", pod_label="pod")


def answer_of(*samples: tuple[dict[str, str], float | None]) -> Answer:
    result = [
        {"metric": labels, "value": [0, "NaN" if value is None else repr(value)]}
        for labels, value in samples
    ]
    return parse_answer(body(result), max_series=len(samples))


def body(result: object, **extra: object) -> bytes:
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data} | extra).encode()


def table(*samples: tuple[dict[str, str], float | None]) -> SignalTable:
    return signal_table(answer_of(*samples), book())


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
    tables = position_tables(answer_of(*samples), book())
    assert [(n, t.values[KEY]) for n, t in tables.items()] == [(0, 0.0), (2, 2.0), (10, 10.0)]


@pytest.mark.parametrize("position", ["", "-1", "1.0", "x", "²", "99999"])
def test_positions_that_are_no_numbers_are_refused(position: str) -> None:
    answer = answer_of((labels(position=position), 1.0))
    with pytest.raises(MalformedError, match="position"):
        position_tables(answer, book())


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_exactly(value: float) -> None:
    assert number(repr(value)) == value


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "Inf", "1e400", "-1e400"])
def test_not_finite_is_no_number(text: str) -> None:
    assert number(text) is None


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_finite_number_or_none_or_refused(text: str) -> None:
    try:
        value = number(text)
    except MalformedError:
        return
    assert value is None or math.isfinite(value)


@settings(deadline=None)
@given(st.lists(st.floats() | st.sampled_from([1e308, -1e308, 5e-324]), max_size=6))
def test_many_numbers_are_read_as_each_alone(values: list[float]) -> None:
    """Also where their sum is too large, and where one of them is not finite."""
    texts = [repr(value).replace("nan", "NaN").replace("inf", "Inf") for value in values]
    result = [{"metric": labels(pod=str(n)), "value": [0, text]} for n, text in enumerate(texts)]
    answer = parse_answer(body(result), max_series=len(values))
    assert answer.values == [number(text) for text in texts]


@pytest.mark.parametrize("text", ["1_0", " 1", "1 ", "", ".", "١", "0x1", "nan", "inf", "infinity"])
def test_one_broken_number_among_many_spoils_the_answer(text: str) -> None:
    result = [{"metric": labels(pod=str(n)), "value": [0, "1"]} for n in range(3)]
    result[1]["value"] = [0, text]
    with pytest.raises(MalformedError, match=r"not a number|without labels and value"):
        parse_answer(body(result), max_series=3)


def test_samples_give_labels_and_values() -> None:
    assert answer_of((labels(), 1.5), (labels(pod="b"), None)).samples == (
        (labels(), 1.5),
        (labels(pod="b"), None),
    )


@pytest.mark.parametrize("shape", ["plain", "careful"])
def test_remarks_are_kept_however_the_answer_is_read(shape: str) -> None:
    """A field that the quick reading does not take sends the answer through the careful one."""
    extra: dict[str, object] = {"warnings": ["a"], "infos": ["b"], "isPartial": True}
    result = [{"metric": labels(), "value": [0, "1"]}]
    if shape == "careful":
        extra["isPartial"] = 1
    answer = parse_answer(body(result, **extra), max_series=1)
    assert answer.warnings == ("a", "b")
    assert answer.partial[0] == "a"
    assert (len(answer.partial) == 2) == (shape == "plain")
    assert signal_table(answer, book()).values == {KEY: 1.0}


@pytest.mark.parametrize("metric", [b"5", b'{"ns":1}', b'{"ns":"\xff"}', b'{"ns":null}', b"[]"])
def test_labels_that_are_no_texts_are_refused(metric: bytes) -> None:
    whole = body([{"metric": "HERE", "value": [0, "1"]}]).replace(b'"HERE"', metric)
    with pytest.raises(MalformedError, match="without labels and value"):
        signal_table(parse_answer(whole, max_series=1), book())


@pytest.mark.parametrize("where", [b"%b", b'{"x":%b', b'{"data":{"result":[{"metric":%b'])
def test_nesting_without_end_is_refused(where: bytes) -> None:
    for nested in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(MalformedError, match="not JSON"):
            parse_answer(where % nested, max_series=1)


def test_labels_that_nest_without_end_are_refused() -> None:
    """They are JSON, so only reading the labels notices."""
    deep = b"[" * 100_000 + b"]" * 100_000
    whole = body([{"metric": "HERE", "value": [0, "1"]}]).replace(b'"HERE"', deep)
    with pytest.raises(MalformedError):
        signal_table(parse_answer(whole, max_series=1), book())


def test_more_series_than_allowed_are_refused() -> None:
    result = [{"metric": labels(pod=str(n)), "value": [0, "1"]} for n in range(3)]
    assert len(parse_answer(body(result), max_series=3).values) == 3
    with pytest.raises(TooLargeError, match="3 series, more than max_series 2"):
        parse_answer(body(result), max_series=2)


def test_a_book_reads_labels_once_and_knows_the_same_engine_in_other_words() -> None:
    kept = book()
    one, other = b'{"ns":"a","pod":"b","engine":"0"}', b'{"pod":"b","ns":"a"}'
    (first,), (second,) = kept.engines([one]), kept.engines([other])
    assert first == EngineKey("a", "b", "0")
    assert first is second
    assert kept.engines([one])[0] is first


def test_a_book_forgets_what_two_generations_did_not_ask_for() -> None:
    kept = book()
    gone, stays = (f'{{"ns":"a","pod":"{pod}"}}'.encode() for pod in ("gone", "stays"))
    kept.engines([gone, stays])
    before = kept.engines([stays])[0]
    for _ in range(3):
        kept.turn()
        assert kept.engines([stays])[0] is before
    assert kept.texts_known == 1


@settings(deadline=None)
@given(st.binary() | st.text().map(str.encode))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    try:
        answer = parse_answer(body, max_series=10)
        signal_table(answer, book())
    except (MalformedError, TooLargeError):
        return


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(_json, _json, _json)
def test_any_shape_inside_is_read_or_refused(result: object, item: object, texts: object) -> None:
    for inner in (result, [item], [{"metric": item, "value": [0, texts]}]):
        try:
            answer = parse_answer(body(inner, warnings=texts), max_series=10)
            signal_table(answer, book())
            position_tables(answer, book())
        except (MalformedError, TooLargeError):
            continue


_texts = st.sampled_from(["1", "0.25", "NaN", "+Inf", "1e999", "-3e-7", "", "1,2", " 1", "x"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), _texts | st.floats().map(repr)), max_size=4))
def test_quick_and_careful_reading_agree(series: list[tuple[str, str]]) -> None:
    """`isPartial` that is no truth value is taken by the careful reading alone."""
    result = [{"metric": labels(pod=pod), "value": [0, text]} for pod, text in series]
    outcomes = []
    for extra in ({}, {"isPartial": 0}):
        try:
            outcomes.append(parse_answer(body(result, **extra), max_series=4).samples)
        except MalformedError:
            outcomes.append(())
    assert outcomes[0] == outcomes[1]
