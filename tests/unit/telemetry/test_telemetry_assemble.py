"""From tables of single signals to engines: who is in, who is left out, and why."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.telemetry.assemble import Assembled
from ridgeline.telemetry.assemble import assemble as assemble_view
from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.slow import SlowTables, slow_view

A = EngineKey("prod", "llm-0", "0")
B = EngineKey("prod", "llm-0", "1")
EMPTY = SignalTable(values={})


def assemble(
    fast: Mapping[str, SignalTable], slow: Mapping[str, SlowTables], *, window_seconds: float
) -> Assembled:
    return assemble_view(fast, slow_view(slow), window_seconds=window_seconds)


def fast(*keys: EngineKey, **changed: SignalTable) -> dict[str, SignalTable]:
    numbers = {"sample_age": 3.0, "decode_concurrency": 8.0, "request_steps": 100.0}
    numbers |= {"generated_tokens": 210.0, "first_tokens": 10.0}
    tables = {n: SignalTable(values=dict.fromkeys(keys, v)) for n, v in numbers.items()}
    return tables | changed


def slow(value: float, *keys: EngineKey, taken_at: float = 0.0) -> SlowTables:
    return SlowTables(
        taken_at=taken_at,
        table=SignalTable(values=dict.fromkeys(keys, value)),
        request_steps=SignalTable(values=dict.fromkeys(keys, 50.0)),
    )


def accepted(*rates: dict[EngineKey, float], taken_at: float = 0.0) -> SlowTables:
    positions = {n: SignalTable(values=values) for n, values in enumerate(rates)}
    return SlowTables(
        taken_at=taken_at, table=positions[0], request_steps=EMPTY, positions=positions
    )


def test_engines_are_grouped_by_pod_and_ordered_by_number() -> None:
    keys = [EngineKey("prod", pod, str(n)) for n in (10, 2, 0) for pod in ("b", "a")]
    engines = assemble(fast(*keys), {}, window_seconds=60).engines
    assert list(engines) == [("prod", "a"), ("prod", "b")]
    assert [engine.engine for engine in engines["prod", "a"]] == ["0", "2", "10"]


@given(st.permutations([EngineKey("n", f"p{i % 3}", str(i)) for i in range(7)]))
def test_the_order_of_series_never_matters(keys: list[EngineKey]) -> None:
    ordered = assemble(fast(*sorted(keys)), {}, window_seconds=60)
    assert assemble(fast(*keys), {}, window_seconds=60) == ordered


def test_an_engine_without_speculation_has_no_drafts() -> None:
    """Absent, not zero: it is how a server without speculation looks."""
    tables = {"drafts": slow(40.0, A), "engine_steps": slow(10.0, A, B)}
    speculating, plain = assemble(fast(A, B), tables, window_seconds=60).engines["prod", "llm-0"]
    assert (speculating.drafts_per_second, speculating.drafted_share) == (40.0, 0.8)
    assert (plain.drafts_per_second, plain.drafted_share) == (None, None)
    assert plain.mean_batch == 5.0


def test_slow_ratios_use_the_counts_read_beside_them() -> None:
    tables = {"engine_steps": slow(10.0, A), "drafts": slow(40.0, A)}
    (engine,) = assemble(fast(A), tables, window_seconds=60).engines["prod", "llm-0"]
    assert engine.request_steps_per_second == 100.0
    assert engine.mean_batch == 50.0 / 10.0


def test_an_engine_that_only_slow_signals_know_is_not_there() -> None:
    """A Pod that is gone keeps no life of its own in carried values."""
    assert assemble(fast(), {"drafts": slow(40.0, A)}, window_seconds=60).engines == {}


def test_an_engine_without_age_is_as_old_as_the_window() -> None:
    (engine,) = assemble(fast(A, sample_age=EMPTY), {}, window_seconds=60).engines["prod", "llm-0"]
    assert engine.age_seconds == 60


def test_samples_of_the_future_are_new() -> None:
    ahead = SignalTable(values={A: -0.2})
    (engine,) = assemble(fast(A, sample_age=ahead), {}, window_seconds=60).engines["prod", "llm-0"]
    assert engine.age_seconds == 0.0


def test_not_finite_signals_are_named() -> None:
    broken = SignalTable(values={}, not_finite=frozenset({A}))
    p99 = SlowTables(taken_at=0, table=broken, request_steps=EMPTY)
    tables = fast(A, generated_tokens=broken)
    (engine,) = assemble(tables, {"tpot_p99": p99}, window_seconds=60).engines["prod", "llm-0"]
    assert engine.not_finite == ("generated_tokens", "tpot_p99")
    assert engine.generated_tokens_per_second is None


def test_an_engine_all_of_whose_numbers_are_nan_is_still_seen() -> None:
    """Broken is not the same as absent."""
    broken = SignalTable(values={}, not_finite=frozenset({A}))
    engines = assemble(dict.fromkeys(FAST, broken), {}, window_seconds=60).engines
    assert engines["prod", "llm-0"][0].not_finite == FAST


@pytest.mark.parametrize(("spread", "ambiguous"), [(0.0, False), (0.0005, False), (2.0, True)])
def test_two_processes_under_one_name_are_left_out(spread: float, ambiguous: bool) -> None:
    tables = {"process_spread": slow(spread, A), "scrapes": slow(2.0, A)}
    result = assemble(fast(A, B), tables, window_seconds=60)
    assert result.ambiguous == ({A} if ambiguous else frozenset())
    seen = {engine.engine for engine in result.engines["prod", "llm-0"]}
    assert seen == ({"1"} if ambiguous else {"0", "1"})
    (remark,) = result.remarks
    assert ("two servers" in remark) == ambiguous
    assert ("scraped more than once" in remark) != ambiguous


def test_one_scrape_is_not_remarked_on() -> None:
    assert assemble(fast(A), {"scrapes": slow(1.0, A)}, window_seconds=60).remarks == ()


def test_acceptance_of_engines_with_different_lookahead() -> None:
    tables = {
        "drafts": slow(100.0, A, B),
        "accepted_per_position": accepted({A: 60.0, B: 80.0}, {A: 30.0}),
    }
    result = assemble(fast(A, B), tables, window_seconds=60)
    assert result.acceptance == {A: (0.6, 0.3), B: (0.8,)}


def test_acceptance_with_a_gap_is_unknown() -> None:
    """A position that is missing in the middle is no zero."""
    tables = {"drafts": slow(100.0, A), "accepted_per_position": accepted({A: 60.0}, {}, {A: 10.0})}
    assert assemble(fast(A), tables, window_seconds=60).acceptance == {}


def test_acceptance_never_divides_numbers_of_two_moments() -> None:
    tables = {
        "drafts": slow(100.0, A, taken_at=75.0),
        "accepted_per_position": accepted({A: 60.0}, taken_at=0.0),
    }
    assert assemble(fast(A), tables, window_seconds=60).acceptance == {}


def test_the_result_cannot_be_changed() -> None:
    assert isinstance(assemble(fast(A), {}, window_seconds=60).engines, MappingProxyType)


def test_every_fast_signal_lands_in_its_own_number() -> None:
    values = {"sample_age": 1.0, "decode_concurrency": 8.0, "request_steps": 100.0}
    values |= {"generated_tokens": 260.0, "first_tokens": 10.0}
    tables = {name: SignalTable(values={A: value}) for name, value in values.items()}
    (engine,) = assemble(tables, {}, window_seconds=60).engines["prod", "llm-0"]
    assert engine.age_seconds == 1.0
    assert engine.decode_concurrency == 8.0
    assert engine.request_steps_per_second == 100.0
    assert engine.generated_tokens_per_second == 260.0
    assert engine.acceptance_length == 2.5
    assert engine.tpot_seconds == 8.0 / 250.0


def test_acceptance_of_engines_that_are_gone_is_gone() -> None:
    tables = {"drafts": slow(100.0, A, B), "accepted_per_position": accepted({A: 60.0, B: 80.0})}
    assert set(assemble(fast(A), tables, window_seconds=60).acceptance) == {A}


def test_acceptance_whose_last_position_is_nan_is_unknown() -> None:
    """Without it the lookahead would seem shorter than it is."""
    tables = {
        "drafts": slow(100.0, A),
        "accepted_per_position": SlowTables(
            taken_at=0.0,
            table=SignalTable(values={A: 60.0}, not_finite=frozenset({A})),
            request_steps=EMPTY,
            positions={0: SignalTable(values={A: 60.0})},
        ),
    }
    assert assemble(fast(A), tables, window_seconds=60).acceptance == {}


@pytest.mark.parametrize("drafts_taken_at", [0.0, 75.0])
def test_engine_steps_count_only_beside_drafts_of_the_same_moment(drafts_taken_at: float) -> None:
    """B came up between the two: older drafts say nothing about it."""
    tables = {
        "drafts": slow(40.0, A, taken_at=drafts_taken_at),
        "engine_steps": slow(10.0, A, B, taken_at=75.0),
    }
    engines = assemble(fast(A, B), tables, window_seconds=60).engines["prod", "llm-0"]
    expected = 10.0 if drafts_taken_at == 75.0 else None
    assert [engine.steps_per_second for engine in engines] == [expected, expected]
    assert engines[0].drafts_per_second == 40.0
