"""From rates to facts: what each number means, and what it must never be."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.arithmetic import (
    FastNumbers,
    decoded_tokens,
    fast_numbers,
    prefix_acceptance,
    ratio,
    usable,
)

anything = st.none() | st.floats()


def test_a_speculating_engine() -> None:
    """10 requests decode; each step of 50 ms yields 2.5 tokens for every request in it."""
    numbers = fast_numbers(inter_token_seconds=10.0, request_steps=200.0, generated=520.0, first=20)
    assert numbers == FastNumbers(
        decode_concurrency=10.0,
        request_steps_per_second=200.0,
        generated_tokens_per_second=520.0,
        step_seconds=0.05,
        acceptance_length=2.5,
        tpot_seconds=0.02,
    )


def test_equal_time_per_token_with_and_without_speculation() -> None:
    """The step takes three times as long and yields three tokens: TPOT says so, ITL does not."""
    none = fast_numbers(inter_token_seconds=8.0, request_steps=400.0, generated=410.0, first=10.0)
    eagle = fast_numbers(
        inter_token_seconds=8.0, request_steps=400.0 / 3, generated=410.0, first=10.0
    )
    assert none.tpot_seconds == eagle.tpot_seconds == pytest.approx(0.02)
    assert none.step_seconds == pytest.approx(0.02)
    assert eagle.step_seconds == pytest.approx(0.06)


def test_no_traffic_is_zero_concurrency_and_unknown_ratios() -> None:
    numbers = fast_numbers(inter_token_seconds=0.0, request_steps=0.0, generated=0.0, first=0.0)
    assert numbers.decode_concurrency == 0.0
    assert numbers.generated_tokens_per_second == 0.0
    assert numbers.step_seconds is numbers.acceptance_length is numbers.tpot_seconds is None


def test_a_missing_signal_costs_only_what_needs_it() -> None:
    numbers = fast_numbers(inter_token_seconds=None, request_steps=10.0, generated=30.0, first=5.0)
    assert numbers.decode_concurrency is None
    assert numbers.step_seconds is None
    assert numbers.tpot_seconds is None
    assert numbers.acceptance_length == 2.5


def test_only_prefill_has_no_time_per_output_token() -> None:
    """Every output token is a first token: nothing was decoded."""
    numbers = fast_numbers(inter_token_seconds=0.0, request_steps=0.0, generated=7.0, first=7.0)
    assert numbers.tpot_seconds is None


def test_more_first_tokens_than_tokens_is_no_negative_number() -> None:
    """Two scrapes of one server, read at slightly different moments."""
    assert decoded_tokens(10.0, 10.5) == 0.0


@settings(deadline=None)
@given(anything, anything, anything, anything)
def test_nothing_broken_ever_gets_out(
    seconds: float | None, steps: float | None, generated: float | None, first: float | None
) -> None:
    numbers = fast_numbers(
        inter_token_seconds=seconds, request_steps=steps, generated=generated, first=first
    )
    for name in FastNumbers.__slots__:
        value = getattr(numbers, name)
        assert value is None or (math.isfinite(value) and value >= 0)


@settings(deadline=None)
@given(anything, anything)
def test_a_ratio_is_finite_or_unknown(numerator: float | None, denominator: float | None) -> None:
    value = ratio(usable(numerator), usable(denominator))
    assert value is None or (math.isfinite(value) and value >= 0)


@pytest.mark.parametrize("broken", [None, math.nan, math.inf, -math.inf, -0.001])
def test_broken_numbers_are_not_usable(broken: float | None) -> None:
    assert usable(broken) is None


def test_prefix_acceptance() -> None:
    assert prefix_acceptance((60.0, 40.0, 20.0), 100.0) == (0.6, 0.4, 0.2)


def test_prefix_acceptance_never_rises_and_never_exceeds_one() -> None:
    assert prefix_acceptance((101.0, 50.0, 50.5), 100.0) == (1.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("accepted", "drafts"),
    [((), 10.0), ((1.0,), 0.0), ((1.0,), None), ((1.0, None), 10.0), ((math.nan,), 10.0)],
)
def test_prefix_acceptance_is_unknown_without_all_its_numbers(
    accepted: tuple[float | None, ...], drafts: float | None
) -> None:
    assert prefix_acceptance(accepted, drafts) is None


@settings(deadline=None)
@given(st.lists(anything, max_size=8), anything)
def test_prefix_acceptance_falls_within_one(
    accepted: list[float | None], drafts: float | None
) -> None:
    p = prefix_acceptance(tuple(accepted), drafts)
    if p is not None:
        assert len(p) == len(accepted)
        assert all(0 <= later <= earlier <= 1 for earlier, later in zip((1.0, *p), p, strict=False))
