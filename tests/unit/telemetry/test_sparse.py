"""Engines that are scraped too seldom are named, and only they."""

from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.sparse import sparse_remarks

FIRST, SECOND = EngineKey("prod", "llm-0", "0"), EngineKey("prod", "llm-1", "0")


def fast(**tables: SignalTable) -> dict[str, SignalTable]:
    return {name: tables.get(name, SignalTable(values={})) for name in FAST}


def ages(*keys: EngineKey) -> SignalTable:
    return SignalTable(values=dict.fromkeys(keys, 4.0))


def test_an_engine_with_an_age_and_no_rate_is_named() -> None:
    tables = fast(sample_age=ages(FIRST, SECOND), request_steps=SignalTable(values={FIRST: 1.0}))
    (remark,) = sparse_remarks(tables, 120.0)
    assert "fewer than two samples in the rate window of 120 s" in remark
    assert "prod/llm-1 engine 0" in remark
    assert "at least every 30 s" in remark


def test_any_rate_is_enough() -> None:
    for name in FAST[1:]:
        tables = fast(sample_age=ages(FIRST), **{name: SignalTable(values={FIRST: 0.0})})
        assert sparse_remarks(tables, 120.0) == ()


def test_a_rate_that_is_nan_or_ambiguous_is_another_trouble() -> None:
    for spoilt in (
        SignalTable(values={}, not_finite=frozenset({FIRST})),
        SignalTable(values={}, ambiguous=frozenset({FIRST})),
    ):
        tables = fast(sample_age=ages(FIRST), decode_concurrency=spoilt)
        assert sparse_remarks(tables, 120.0) == ()


def test_no_engines_no_remark() -> None:
    assert sparse_remarks(fast(), 120.0) == ()
