"""For how long something has held without a break, in one roll."""

from ridgeline.controller.mind import Standing


def test_it_counts_from_when_it_was_first_seen() -> None:
    standing = Standing()
    assert standing.seen(1.0, holds=True, now=100.0) == 0.0
    assert standing.seen(1.0, holds=True, now=130.0) == 30.0


def test_a_break_begins_it_anew() -> None:
    standing = Standing()
    standing.seen(1.0, holds=True, now=100.0)
    assert standing.seen(1.0, holds=False, now=110.0) == 0.0
    assert standing.seen(1.0, holds=True, now=120.0) == 0.0
    assert standing.seen(1.0, holds=True, now=125.0) == 5.0


def test_another_roll_begins_it_anew() -> None:
    standing = Standing()
    standing.seen(1.0, holds=True, now=100.0)
    assert standing.seen(2.0, holds=True, now=190.0) == 0.0
    assert standing.seen(2.0, holds=True, now=200.0) == 10.0


def test_a_clock_that_jumped_back_counts_nothing() -> None:
    standing = Standing()
    standing.seen(1.0, holds=True, now=100.0)
    assert standing.seen(1.0, holds=True, now=50.0) == 0.0
