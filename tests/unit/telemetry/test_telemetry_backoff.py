"""When a failing endpoint is asked again."""

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.telemetry.backoff import LONGEST_ASKED_SECONDS, Backoff


def test_waits_double_up_to_the_longest() -> None:
    backoff, waits = Backoff(first_seconds=15, longest_seconds=100), []
    for _ in range(5):
        backoff = backoff.failed(1000.0)
        waits.append(backoff.wait_seconds)
    assert waits == [15, 30, 60, 100, 100]


def test_nothing_is_asked_before_its_time() -> None:
    backoff = Backoff(first_seconds=15).failed(1000.0)
    assert backoff.next_attempt_at == 1015.0
    assert not backoff.allows(1014.9)
    assert backoff.allows(1015.0)


def test_a_success_forgets_the_failures_and_keeps_the_settings() -> None:
    settings = Backoff(first_seconds=7, longest_seconds=70)
    assert settings.failed(1.0).failed(9.0).succeeded() == settings
    assert settings.allows(0.0)


def test_a_clock_that_was_set_back_does_not_silence_an_endpoint() -> None:
    assert Backoff().failed(5000.0).allows(1000.0)


@given(st.integers(min_value=0, max_value=5000))
def test_no_number_of_failures_overflows(failures: int) -> None:
    backoff = Backoff(failures=failures, failed_at=0.0)
    assert 0 <= backoff.wait_seconds <= backoff.longest_seconds


def test_a_wait_that_was_asked_for_is_kept_where_it_is_longer() -> None:
    settings = Backoff(first_seconds=15, longest_seconds=100)
    assert settings.failed(1000.0, retry_after_seconds=40.0).next_attempt_at == 1040.0
    assert settings.failed(1000.0, retry_after_seconds=5.0).next_attempt_at == 1015.0
    # Also beyond our own longest wait, but not for ever.
    assert settings.failed(1000.0, retry_after_seconds=300.0).wait_seconds == 300.0
    longest = settings.failed(1000.0, retry_after_seconds=1e9).wait_seconds
    assert longest == LONGEST_ASKED_SECONDS


def test_a_wait_that_was_asked_for_is_forgotten_at_the_next_failure() -> None:
    asked = Backoff(first_seconds=15).failed(1000.0, retry_after_seconds=500.0)
    assert asked.failed(1500.0).wait_seconds == 30
    assert asked.succeeded() == Backoff(first_seconds=15)
