"""From tables of single signals to engines: who is in, who is left out, and why."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, replace
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.assemble import Assembled
from ridgeline.telemetry.assemble import assemble as assemble_view
from ridgeline.telemetry.parse import EngineKey, SignalTable
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.slow import GpuActivity, SlowTables, slow_view

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


@settings(deadline=None)
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
    result = acceptance(accepted({A: 60.0, B: 80.0}, {A: 30.0}), lookahead={A: 2, B: 1})
    assert result == {"0": (0.6, 0.3), "1": (0.8,)}


def test_acceptance_with_a_gap_is_unknown() -> None:
    """A position that is missing in the middle is no zero."""
    assert acceptance(accepted({A: 60.0}, {}, {A: 10.0}), lookahead={A: 3}) == {"0": None}


@pytest.mark.parametrize("late", ["drafts", "draft_tokens", "accepted_per_position"])
def test_acceptance_never_divides_numbers_of_two_moments(late: str) -> None:
    positions = accepted({A: 60.0})
    assert acceptance(positions, lookahead={A: 1}) == {"0": (0.6,)}
    assert acceptance(positions, lookahead={A: 1}, late=late) == {"0": None}


@pytest.mark.parametrize("missing", ["drafts", "draft_tokens", "accepted_per_position"])
def test_acceptance_needs_all_three_of_its_signals(missing: str) -> None:
    assert acceptance(accepted({A: 60.0}), lookahead={A: 1}, missing=missing) == {"0": None}


@pytest.mark.parametrize(("mean", "known"), [(2.0, True), (1.95, True), (1.9, False), (2.1, False)])
def test_acceptance_is_unknown_where_the_lookahead_varied(mean: float, known: bool) -> None:
    result = acceptance(accepted({A: 60.0}, {A: 30.0}), lookahead={A: mean})
    assert result == {"0": (0.6, 0.3) if known else None}


@pytest.mark.parametrize(("share", "known"), [(0.2, True), (0.05, False)])
def test_acceptance_of_the_few_steps_that_drafted_stands_for_nothing(
    share: float, known: bool
) -> None:
    """As in the tier of an in-engine schedule that drafts nothing."""
    result = acceptance(accepted({A: 60.0}), lookahead={A: 1}, request_steps=100.0 / share)
    assert result == {"0": (0.6,) if known else None}


def acceptance(
    positions: SlowTables,
    *,
    lookahead: dict[EngineKey, float],
    request_steps: float = 100.0,
    late: str = "",
    missing: str = "",
) -> dict[str, tuple[float, ...] | None]:
    """Acceptance by engine of 100 drafts per second of so many tokens each."""
    counted = SignalTable(values=dict.fromkeys(lookahead, request_steps))
    tables = {
        "drafts": replace(slow(100.0, *lookahead), request_steps=counted),
        "draft_tokens": replace(
            slow(0.0), table=SignalTable(values={k: 100.0 * n for k, n in lookahead.items()})
        ),
        "accepted_per_position": positions,
    }
    tables.pop(missing, None)
    if late:
        tables[late] = replace(tables[late], taken_at=75.0)
    engines = assemble(fast(*lookahead), tables, window_seconds=60).engines["prod", "llm-0"]
    return {engine.engine: engine.acceptance for engine in engines}


def test_the_mean_batch_of_a_server_without_creation_times_is_unknown() -> None:
    """Several API-server processes each count the engine's steps."""
    tables = {
        "engine_steps": slow(10.0, A, B),
        "drafts": slow(40.0, A),
        "scrapes": slow(1.0, A, B),
        "process_spread": slow(0.0, B),
    }
    several, one = assemble(fast(A, B), tables, window_seconds=60).engines["prod", "llm-0"]
    assert (several.mean_batch, several.steps_per_second) == (None, 10.0)
    assert one.mean_batch == 5.0
    # Nobody looked for creation times in the same read: that says nothing about the server.
    tables["process_spread"] = slow(0.0, B, taken_at=75.0)
    unlooked, _ = assemble(fast(A, B), tables, window_seconds=60).engines["prod", "llm-0"]
    assert unlooked.mean_batch == 5.0


@pytest.mark.parametrize(
    ("lower", "upper", "bounds"),
    [
        (0.025, 0.05, (0.025, 0.05)),
        (2.5e-302, 0.05, (0.0, 0.05)),
        (0.025, 0.05000000000000001, (0.025, 0.05)),
        (0.03, 0.03, (0.03, 0.03)),
        (0.05, 0.075, None),
        (0.01, 0.025, None),
        (None, 0.05, None),
        (0.025, None, None),
    ],
)
def test_bounds_of_the_bucket_of_the_p99(
    lower: float | None, upper: float | None, bounds: tuple[float, float] | None
) -> None:
    tables = {"tpot_p99": slow(0.03, A)}
    if lower is not None:
        tables["tpot_p99_lower"] = slow(lower, A)
    if upper is not None:
        tables["tpot_p99_upper"] = slow(upper, A)
    (engine,) = assemble(fast(A), tables, window_seconds=60).engines["prod", "llm-0"]
    assert (engine.tpot_p99_seconds, engine.tpot_p99_bounds) == (0.03, bounds)


def test_bounds_of_another_moment_are_not_those_of_the_p99() -> None:
    tables = {"tpot_p99": slow(0.03, A, taken_at=75.0)}
    tables |= {"tpot_p99_lower": slow(0.025, A), "tpot_p99_upper": slow(0.05, A)}
    (engine,) = assemble(fast(A), tables, window_seconds=60).engines["prod", "llm-0"]
    assert engine.tpot_p99_bounds is None


LONGEST = ("longest_answer", "longest_answer_beyond")


def longest(**tables: SlowTables) -> tuple[float | None, bool]:
    (engine,) = assemble(fast(A), tables, window_seconds=60).engines["prod", "llm-0"]
    return engine.longest_answer_seconds, engine.longest_answer_unbounded


@pytest.mark.parametrize(
    ("bound", "beyond", "told"),
    [
        (120.0, 0.0, (120.0, False)),
        (119.99999999999999, 0.0, (120.0, False)),
        (7680.0, 1.0, (7680.0, True)),
        (120.0, -1.0, (None, False)),
    ],
)
def test_the_longest_answer_and_whether_it_was_longer(
    bound: float, beyond: float, told: tuple[float | None, bool]
) -> None:
    assert longest(longest_answer=slow(bound, A), longest_answer_beyond=slow(beyond, A)) == told


@pytest.mark.parametrize("name", LONGEST)
def test_a_bound_that_may_be_none_is_not_told(name: str) -> None:
    """Alone, or of two moments, the two do not say whether the bound is an upper one."""
    both = dict.fromkeys(LONGEST, slow(60.0, A))
    assert longest(**both) == (60.0, True)
    assert longest(**{name: both[name]}) == (None, False)
    assert longest(**{**both, name: slow(60.0, A, taken_at=75.0)}) == (None, False)
    assert longest(**{**both, name: slow(60.0, B)}) == (None, False)


def test_how_answers_end_is_told_of_each_engine() -> None:
    ends = {A: (("length", 1.0), ("stop", 2.0))}
    tables = {"finished": replace(slow(3.0, A), finished=ends)}
    first, second = assemble(fast(A, B), tables, window_seconds=60).engines["prod", "llm-0"]
    assert first.finished_per_second == ends[A]
    assert second.finished_per_second is None


def test_every_slow_signal_lands_in_its_own_number() -> None:
    names = {
        "running": "running",
        "waiting": "waiting",
        "waiting_for_capacity": "waiting_for_capacity",
        "queue_time": "queue_seconds_per_second",
        "preemptions": "preemptions_per_second",
        "kv_cache": "kv_cache_use",
        "prompt_tokens": "prompt_tokens_per_second",
        "prompt_length": "mean_prompt_tokens",
        "output_length": "mean_output_tokens",
        "ttft": "ttft_seconds",
        "tpot_p99": "tpot_p99_seconds",
        "step_latency_p99": "step_latency_p99_seconds",
        "engine_steps": "steps_per_second",
        "drafts": "drafts_per_second",
        "draft_tokens": "draft_tokens_per_second",
    }
    tables = {name: slow(float(n), A) for n, name in enumerate(names, start=1)}
    (engine,) = assemble(fast(A), tables, window_seconds=60).engines["prod", "llm-0"]
    assert [getattr(engine, name) for name in names.values()] == [*range(1, len(names) + 1)]


def test_facts_are_whole_and_cannot_be_changed() -> None:
    """However they were made, they are what their class makes of the same fields."""
    (engine,) = assemble(fast(A), {"running": slow(1.0, A)}, window_seconds=60).engines[A[:2]]
    values = {each.name: getattr(engine, each.name) for each in fields(EngineFacts)}
    assert type(engine) is EngineFacts
    assert engine == EngineFacts(**values)
    assert hash(engine) == hash(EngineFacts(**values))
    assert repr(engine) == repr(EngineFacts(**values))
    with pytest.raises(FrozenInstanceError):
        engine.running = 2.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del engine.running


def test_negative_signals_are_no_numbers() -> None:
    """None of ours can be negative, but for an age: there it is a difference of clocks."""
    values = {"decode_concurrency": -1.0, "sample_age": -0.5}
    tables = {name: SignalTable(values={A: value, B: 1.0}) for name, value in values.items()}
    first, second = assemble(
        fast(A, B, **tables), {"running": slow(-1.0, A)}, window_seconds=60
    ).engines["prod", "llm-0"]
    assert (first.decode_concurrency, first.step_seconds, first.tpot_seconds) == (None, None, None)
    assert (first.age_seconds, first.running) == (0.0, None)
    assert first.request_steps_per_second == 100.0
    assert second.decode_concurrency == 1.0


def test_gpus_are_told_by_pod_and_make_no_engine() -> None:
    other = EngineKey("prod", "elsewhere", "0")
    view = slow_view({"gpu_tensor_active": slow(0.2, A), "gpu_dram_active": slow(0.9, A, other)})
    assert view.gpus == {
        ("prod", "llm-0"): GpuActivity(tensor_active=0.2, dram_active=0.9),
        ("prod", "elsewhere"): GpuActivity(dram_active=0.9),
    }
    assert view.numbers == {}


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


def test_acceptance_whose_last_position_is_nan_is_unknown() -> None:
    """Without it the lookahead would seem shorter than it is."""
    positions = accepted({A: 60.0})
    broken = replace(positions.table, not_finite=frozenset({A}))
    assert acceptance(replace(positions, table=broken), lookahead={A: 1}) == {"0": None}


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
