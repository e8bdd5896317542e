"""The longest answers of an hour, from pages that are scraped directly."""

import math

import pytest

from ridgeline.telemetry.scrape_longest import HOUR_SECONDS, LongestAnswers
from ridgeline.telemetry.scrape_page import Histogram

START = 1_800_000_000.0
BOUNDS = (60.0, 120.0, math.inf)
NONE = (None, False)


def times(short: int = 0, long: int = 0, longer: int = 0) -> Histogram:
    """Answers in the first bucket, in the second, and above all bounds."""
    return BOUNDS, (float(short), float(short + long), float(short + long + longer))


def after(*pages: tuple[float, Histogram | None]) -> LongestAnswers:
    longest = LongestAnswers()
    for at, page in pages:
        longest.add(START + at, page)
    return longest


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (times(), NONE),
        (times(short=9), (60.0, False)),
        (times(short=9000, long=1), (120.0, False)),
        (times(short=9, longer=1), (120.0, True)),
        (None, NONE),
        (((math.inf,), (5.0,)), NONE),
    ],
)
def test_what_the_first_page_counted_is_taken_for_new(
    page: Histogram | None, told: tuple[float | None, bool]
) -> None:
    assert after((0, page)).at(START) == told


def test_later_only_what_was_added_counts() -> None:
    longest = after((0, times(long=1)), (60, times(short=1, long=1)))
    assert longest.at(START + 60) == (120.0, False)
    assert longest.at(START + HOUR_SECONDS - 1) == (120.0, False)
    assert longest.at(START + HOUR_SECONDS) == (60.0, False)
    assert longest.at(START + HOUR_SECONDS + 60) == NONE


def test_an_answer_above_all_bounds_comes_before_one_at_the_highest() -> None:
    longest = after((0, times(longer=1)), (60, times(long=1, longer=1)))
    assert longest.at(START + 60) == (120.0, True)
    assert longest.at(START + HOUR_SECONDS) == (120.0, False)


def test_nothing_new_keeps_what_was_seen() -> None:
    longest = after((0, times(long=1)), (60, times(long=1)), (120, None))
    assert longest.at(START + 120) == (120.0, False)


def test_a_page_without_the_histogram_loses_no_answer() -> None:
    longest = after((0, times(short=1)), (60, None), (HOUR_SECONDS, times(short=1, long=1)))
    assert longest.at(START + HOUR_SECONDS) == (120.0, False)


def test_other_bounds_are_counted_anew() -> None:
    longest = after((0, times(short=5)), (60, ((10.0, math.inf), (3.0, 3.0))))
    assert longest.at(START + 60) == (60.0, False)
    assert longest.at(START + HOUR_SECONDS) == (10.0, False)


def test_no_more_is_kept_than_there_are_buckets() -> None:
    longest, page = LongestAnswers(), [0, 0, 0]
    for n in range(1000):
        page[n % 3] += 1
        longest.add(START + n, times(*page))
    assert len(longest._kept) <= len(BOUNDS)
