"""The same message about the same serving is logged once a minute, and the rest is counted."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

from ridgeline.controller import log_limit
from ridgeline.controller.log_limit import OncePerMinute
from ridgeline.controller.logs import JsonFormatter, configure_logging


def record(message: str, *arguments: object, at: float = 0.0, **more: Any) -> logging.LogRecord:
    level = more.pop("level", logging.WARNING)
    made = logging.LogRecord("ridgeline.x", level, "x.py", 1, message, arguments, None)
    made.created = 1000.0 + at
    vars(made).update(more)
    return made


def test_a_message_passes_once_a_minute_and_says_how_many_did_not() -> None:
    limit = OncePerMinute()
    assert limit.filter(record("put off", at=0, serving="a"))
    assert not limit.filter(record("put off", at=1, serving="a"))
    assert not limit.filter(record("put off", at=59.9, serving="a"))
    late = record("put off", at=60, serving="a")
    assert limit.filter(late)
    assert json.loads(JsonFormatter().format(late))["left_out"] == 2
    after = record("put off", at=120, serving="a")
    assert limit.filter(after)
    assert not hasattr(after, "left_out")


@pytest.mark.parametrize(
    "other",
    [
        record("put off", serving="b", namespace="n"),
        record("put off", serving="a", namespace="m"),
        record("put off: %s", "another error", serving="a", namespace="n"),
        record("put off", serving="a", namespace="n", level=logging.ERROR),
        record("put off", serving="a", namespace="n", endpoint="e"),
    ],
)
def test_another_thing_is_not_held_back(other: logging.LogRecord) -> None:
    limit = OncePerMinute()
    assert limit.filter(record("put off", serving="a", namespace="n"))
    assert limit.filter(other)


def test_messages_that_differ_in_numbers_are_one() -> None:
    limit = OncePerMinute()
    assert limit.filter(record("no answer within %g s (%d)", 0.5, 17))
    assert not limit.filter(record("no answer within %g s (%d)", 10.25, 18))


def test_who_asks_for_debug_gets_all() -> None:
    limit = OncePerMinute()
    assert all(limit.filter(record("decided", level=logging.DEBUG)) for _ in range(3))


def test_a_clock_that_was_set_back_silences_nothing() -> None:
    limit = OncePerMinute()
    assert limit.filter(record("put off", at=5000))
    assert limit.filter(record("put off", at=0))


def test_it_remembers_a_bounded_number_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_limit, "REMEMBERED", 3)
    limit = OncePerMinute()
    for name in "abc":
        assert limit.filter(record("put off", at=0, serving=name))
    assert limit.filter(record("put off", at=61, serving="d"))
    # Those that are a minute old went to make room, and nothing else did.
    assert not limit.filter(record("put off", at=62, serving="d"))
    for name in "efghij":
        assert limit.filter(record("put off", at=62, serving=name))
    assert len(limit._last) <= 3


def test_the_operator_s_own_log_is_limited() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logging("info", stream=stream)
        for _ in range(5):
            logging.getLogger("ridgeline.x").warning("put off", extra={"serving": "a"})
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert len(stream.getvalue().splitlines()) == 1
