"""Rates over a window in memory: of one process, long enough, and never of a restart."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.scrape_page import EngineTotals, read_page
from ridgeline.telemetry.scrape_quantile import quantile_of
from ridgeline.telemetry.scrape_window import KEPT_SAMPLES, EngineWindow
from tests.component.telemetry.exporter import LOAD_SECONDS, recorded_rate

_PAGES = Path(__file__).parents[2] / "component" / "telemetry" / "pages"
WINDOW = 60.0
START = 1_800_000_000.0


def totals(**values: float) -> EngineTotals:
    return EngineTotals(values=values, created=1000.0, process_start=990.0)


def filled(rate: float = 12.0, until: float = WINDOW, step: float = 10.0) -> EngineWindow:
    """Samples every `step` seconds of one counter that grows steadily."""
    window = EngineWindow(WINDOW)
    for n in range(int(until / step) + 1):
        window.add(START + n * step, totals(decode_concurrency=rate * n * step))
    return window


def facts(window: EngineWindow, after: float) -> EngineFacts:
    found = window.facts("0", START + after)
    assert found is not None
    return found


def test_a_rate_is_the_growth_over_the_window() -> None:
    engine = facts(filled(), WINDOW + 4)
    assert engine.decode_concurrency == pytest.approx(12)
    assert engine.age_seconds == pytest.approx(4)


def test_nothing_is_told_until_half_of_the_window_is_covered() -> None:
    assert filled(until=20).facts("0", START + 20) is None
    assert facts(filled(until=30), 30).decode_concurrency == pytest.approx(12)


def test_one_sample_gives_nothing() -> None:
    assert filled(until=0).facts("0", START) is None
    assert EngineWindow(WINDOW).facts("0", START) is None


def test_what_is_older_than_the_window_does_not_count() -> None:
    window = filled(rate=100.0)
    last = 100.0 * WINDOW
    for n in range(1, 8):
        window.add(START + WINDOW + n * 10, totals(decode_concurrency=last))
    assert facts(window, WINDOW + 70).decode_concurrency == 0.0


def test_samples_that_stop_age_and_then_are_gone() -> None:
    window = filled()
    assert facts(window, WINDOW + 25).age_seconds == pytest.approx(25)
    # Less than half of the window is left, then nothing.
    assert window.facts("0", START + WINDOW + 40) is None
    assert not window.empty(START + WINDOW + 59)
    assert window.empty(START + 2 * WINDOW + 1)


RESTARTS = [
    pytest.param(totals(decode_concurrency=5.0), id="a total fell"),
    pytest.param(
        replace(totals(decode_concurrency=9999.0), created=2000.0), id="series were made anew"
    ),
    pytest.param(
        replace(totals(decode_concurrency=9999.0), process_start=2000.0), id="another process"
    ),
]


@pytest.mark.parametrize("after", RESTARTS)
def test_a_window_never_spans_a_restart(after: EngineTotals) -> None:
    window = filled()
    window.add(START + WINDOW + 10, after)
    assert window.covered_seconds(START + WINDOW + 10) == 0
    assert window.facts("0", START + WINDOW + 10) is None


def test_a_clock_that_went_back_begins_anew() -> None:
    window = filled()
    window.add(START + 5, totals(decode_concurrency=60.0))
    assert window.covered_seconds(START + 5) == 0


def test_a_counter_that_both_ends_must_have() -> None:
    """A series that appears inside the window has no growth since its beginning yet."""
    window = filled()
    window.add(START + WINDOW + 5, totals(decode_concurrency=780.0, drafts=5.0))
    engine = facts(window, WINDOW + 5)
    assert engine.drafts_per_second is None
    assert engine.decode_concurrency is not None


def ended(second: int, **finished: float) -> tuple[float, EngineTotals]:
    return START + second, EngineTotals(values={}, finished=finished, created=1000.0)


def test_how_answers_end_is_the_growth_of_each_reason() -> None:
    window = EngineWindow(WINDOW)
    window.add(*ended(0, stop=100, length=10, abort=3))
    window.add(*ended(50, stop=200, length=35, abort=3))
    told = facts(window, 50).finished_per_second
    assert told == (("abort", 0.0), ("length", 0.5), ("stop", 2.0))


def test_a_reason_that_is_new_has_no_growth_yet() -> None:
    window = EngineWindow(WINDOW)
    window.add(*ended(0, stop=100))
    window.add(*ended(50, stop=200, error=7))
    assert facts(window, 50).finished_per_second == (("stop", 2.0),)


def test_a_reason_that_is_too_long_is_not_shown() -> None:
    window = EngineWindow(WINDOW)
    window.add(*ended(0, **{"z" * 40: 100}))
    window.add(*ended(50, **{"z" * 40: 200}))
    assert facts(window, 50).finished_per_second == (("other", 2.0),)


def test_reasons_that_are_too_many_or_too_long_are_summed_after_their_growth() -> None:
    """Which are summed may differ from page to page: totals of a sum could seem to fall."""
    window = EngineWindow(WINDOW)
    names = [f"r{n}" for n in range(7)] + ["z" * 40]
    window.add(*ended(0, stop=1000, **dict.fromkeys(names, 1000)))
    window.add(*ended(50, stop=1050, new=500, **dict.fromkeys(names, 1050)))
    told = dict(facts(window, 50).finished_per_second or ())
    assert told == {**{f"r{n}": 1.0 for n in range(6)}, "stop": 1.0, "other": 2.0}


def test_how_answers_end_is_unknown_where_nobody_tells() -> None:
    assert facts(filled(), WINDOW).finished_per_second is None


@pytest.mark.parametrize("restarted", [False, True])
def test_the_longest_answer_outlasts_the_window_and_no_restart(restarted: bool) -> None:
    """What another process answered says nothing of this one's."""
    window = EngineWindow(WINDOW)
    for second in range(0, 600, 10):
        long = 0 if restarted and second >= 300 else 1
        window.add(
            START + second,
            EngineTotals(
                values={},
                histograms={"longest_answer": ((60.0, 120.0, math.inf), (5, 5 + long, 5 + long))},
                created=2000.0 if restarted and second >= 300 else 1000.0,
            ),
        )
    engine = facts(window, 590)
    expected = 60.0 if restarted else 120.0
    assert (engine.longest_answer_seconds, engine.longest_answer_unbounded) == (expected, False)
    assert not any("longest_answer" in sample.totals.histograms for sample in window._samples)


def test_not_finite_at_either_end_is_named() -> None:
    broken = EngineTotals(values={}, not_finite=("decode_concurrency",), created=1000.0)
    window = filled()
    window.add(START + WINDOW + 10, broken)
    engine = facts(window, WINDOW + 10)
    assert engine.decode_concurrency is None
    assert engine.not_finite == ("decode_concurrency",)


def test_several_processes_of_one_engine_leave_the_mean_batch_unknown() -> None:
    window = EngineWindow(WINDOW)
    for n in range(7):
        window.add(
            START + n * 10,
            EngineTotals(values={"request_steps": 100.0 * n, "engine_steps": 10.0 * n}),
        )
    engine = facts(window, WINDOW)
    assert engine.steps_per_second == pytest.approx(1.0)
    assert engine.mean_batch is None


def test_memory_is_bounded_however_often_is_scraped() -> None:
    window = EngineWindow(WINDOW)
    for n in range(1000):
        window.add(START + n * 0.1, totals(decode_concurrency=1.2 * n))
    assert len(window._samples) <= KEPT_SAMPLES + 2
    assert facts(window, 99.9).decode_concurrency == pytest.approx(12)


@pytest.mark.parametrize("source", ["draft-k4", "none"])
def test_a_recorded_load(source: str) -> None:
    window = EngineWindow(LOAD_SECONDS * 1.5)
    for seconds, moment in ((0.0, "before"), (LOAD_SECONDS, "after")):
        page = _PAGES.joinpath(f"{source}-{moment}.prom").read_bytes()
        (engine,) = read_page(page, max_series=10_000).values()
        window.add(START + seconds, engine)
    engine_facts = facts(window, LOAD_SECONDS)
    seconds = recorded_rate(source, "inter_token_latency_seconds_sum")
    count = recorded_rate(source, "inter_token_latency_seconds_count")
    decoded = recorded_rate(source, "generation_tokens_total") - recorded_rate(
        source, "time_to_first_token_seconds_count"
    )
    assert engine_facts.decode_concurrency == pytest.approx(seconds)
    assert engine_facts.step_seconds == pytest.approx(seconds / count)
    assert engine_facts.tpot_seconds == pytest.approx(seconds / decoded)
    assert engine_facts.acceptance_length == pytest.approx(decoded / count)
    assert engine_facts.mean_batch == pytest.approx(
        count / recorded_rate(source, "iteration_tokens_total_count")
    )
    assert engine_facts.step_latency_p99_seconds is not None
    often = recorded_rate(source, 'request_success_total{finished_reason="length"}')
    assert dict(engine_facts.finished_per_second or ())["length"] == pytest.approx(often)
    assert engine_facts.longest_answer_seconds in {1.5, 2.0, 2.5}
    assert (engine_facts.drafts_per_second is None) == (source == "none")


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.001, 30), st.floats(0, 1e300)), max_size=30))
def test_no_sequence_of_samples_gives_a_number_that_is_not_finite(
    steps: list[tuple[float, float]],
) -> None:
    window, at = EngineWindow(WINDOW), START
    for seconds, value in steps:
        at += seconds
        window.add(at, totals(decode_concurrency=value, request_steps=value / 3))
        found = window.facts("0", at)
        if found is not None:
            numbers = [found.decode_concurrency, found.step_seconds, found.tpot_seconds]
            assert all(n is None or (math.isfinite(n) and n >= 0) for n in numbers)


BOUNDS = (0.01, 0.1, 1.0, math.inf)


@pytest.mark.parametrize(
    ("counts", "value", "bounds"),
    [
        ((0, 100, 100, 100), 0.0991, (0.01, 0.1)),
        ((100, 100, 100, 100), 0.0099, (0.0, 0.01)),
        ((0, 0, 0, 100), 1.0, (1.0, 1.0)),
        ((0, 50, 100, 100), 0.982, (0.1, 1.0)),
        # A count below the one before it was scraped between two updates.
        ((0, 100, 99, 100), 0.0991, (0.01, 0.1)),
    ],
)
def test_a_quantile_is_interpolated_in_its_bucket(
    counts: tuple[float, ...], value: float, bounds: tuple[float, float]
) -> None:
    found = quantile_of(0.99, BOUNDS, counts)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.bounds == bounds


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        (BOUNDS, (0, 0, 0, 0)),
        (BOUNDS, (-5, -5, -5, -5)),
        ((math.inf,), (5,)),
        ((0.1, 1.0), (5, 5)),
        (BOUNDS, (1, 2)),
    ],
)
def test_no_samples_or_no_histogram_give_no_quantile(
    bounds: tuple[float, ...], counts: tuple[float, ...]
) -> None:
    assert quantile_of(0.99, bounds, counts) is None
