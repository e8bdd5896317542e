"""How requests ended: reasons are what servers say, so their number and length are bounded."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.finish_reasons import (
    LONGEST_REASON,
    MOST_REASONS,
    OTHER,
    finished_of,
    reason_of,
)
from ridgeline.telemetry.labels import EngineKey, LabelBook
from ridgeline.telemetry.parse import Answer, finished_table, parse_answer
from ridgeline.telemetry.queries import REASON_LABEL
from tests.component.telemetry.fake_prometheus import series, success

KEY = EngineKey("prod", "llm-0", "0")


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("stop", "stop"),
        ("x" * LONGEST_REASON, "x" * LONGEST_REASON),
        ("x" * (LONGEST_REASON + 1), OTHER),
        ("", OTHER),
        (None, OTHER),
        ("two\nlines", OTHER),
        ("\x1b[31m", OTHER),
    ],
)
def test_a_reason_is_short_and_can_be_shown(label: str | None, reason: str) -> None:
    assert reason_of(label) == reason


def test_reasons_are_told_in_their_order_and_with_zeros() -> None:
    """A reason that nothing ended with still says that it is told."""
    rates = [("stop", 2.0), ("abort", 0.0), ("length", 0.5)]
    assert finished_of(rates) == (("abort", 0.0), ("length", 0.5), ("stop", 2.0))


def test_nothing_told_is_unknown() -> None:
    assert finished_of([]) is None


@pytest.mark.parametrize("rate", [None, math.nan, math.inf, -0.5])
def test_a_broken_rate_leaves_all_unknown(rate: float | None) -> None:
    """The shares of the others would be shares of nothing."""
    assert finished_of([("stop", 2.0), ("length", rate)]) is None


def test_a_sum_that_is_not_finite_is_unknown() -> None:
    assert finished_of([("stop", 1e308), ("length", 1e308)]) is None


def test_as_many_as_are_told_apart_stay_apart() -> None:
    rates = [(f"r{n}", 1.0) for n in range(MOST_REASONS)]
    assert finished_of(rates) == tuple(rates)


def test_more_are_summed_and_those_of_vllm_are_kept() -> None:
    rates = [(f"a{n}", 1.0) for n in range(9)] + [("stop", 5.0), (OTHER, 0.25), ("repetition", 3.0)]
    told = finished_of(rates)
    assert told is not None
    assert dict(told) == {
        **{f"a{n}": 1.0 for n in range(5)},
        "repetition": 3.0,
        "stop": 5.0,
        OTHER: 4.25,
    }
    assert len(told) == MOST_REASONS


_RATES = st.lists(
    st.tuples(st.one_of(st.text(max_size=40), st.sampled_from(["stop", OTHER])), st.floats(0, 9)),
    max_size=30,
    unique_by=lambda rate: rate[0],
)


@settings(deadline=None)
@given(_RATES, st.randoms())
def test_nothing_is_lost_and_the_order_never_matters(rates, random) -> None:  # type: ignore[no-untyped-def]
    named = [(reason_of(label), rate) for label, rate in rates]
    told = finished_of(named) or ()
    assert len(told) <= MOST_REASONS
    assert all(len(reason) <= LONGEST_REASON for reason, _ in told)
    assert sum(rate for _, rate in told) == pytest.approx(sum(rate for _, rate in rates))
    random.shuffle(named)
    again = finished_of(named) or ()
    assert [reason for reason, _ in again] == [reason for reason, _ in told]
    assert [rate for _, rate in again] == pytest.approx([rate for _, rate in told])


def book() -> LabelBook:
    return LabelBook(namespace_label="namespace", pod_label="pod")


def answer(*rows: dict[str, object]) -> Answer:
    return parse_answer(success(*rows), max_series=100)


def ended(reason: str, value: str, **labels: str) -> dict[str, object]:
    return series(value, **{REASON_LABEL: reason}, **labels)


def test_series_are_ordered_by_engine_and_reason() -> None:
    told = answer(ended("stop", "2"), ended("length", "1"), ended("stop", "0.5", engine="1"))
    table, finished = finished_table(told, book())
    assert finished == {
        KEY: (("length", 1.0), ("stop", 2.0)),
        KEY._replace(engine="1"): (("stop", 0.5),),
    }
    assert table.values == {KEY: 3.0, KEY._replace(engine="1"): 0.5}
    assert table.series == 3


def test_an_engine_with_a_reason_that_is_not_finite_is_named_and_not_told() -> None:
    told = answer(ended("stop", "2"), ended("length", "NaN"), ended("stop", "1", engine="1"))
    table, finished = finished_table(told, book())
    assert table.not_finite == {KEY}
    assert set(finished) == set(table.values) == {KEY._replace(engine="1")}


def test_series_without_a_pod_are_nobodys() -> None:
    table, finished = finished_table(answer(ended("stop", "2", pod="")), book())
    assert (dict(table.values), finished, table.series) == ({}, {}, 1)


def test_labels_that_are_too_long_are_summed() -> None:
    told = answer(ended("x" * 40, "2"), ended("y" * 40, "1"), ended("stop", "4"))
    _, finished = finished_table(told, book())
    assert finished == {KEY: ((OTHER, 3.0), ("stop", 4.0))}


def test_reasons_that_are_no_longer_asked_for_are_forgotten() -> None:
    known = book()
    finished_table(answer(ended("stop", "2")), known)
    assert known.texts_known == 1
    known.turn()
    known.turn()
    assert known.texts_known == 0
