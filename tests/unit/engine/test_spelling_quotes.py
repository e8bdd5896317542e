"""What templates do to JSON, and what a message says of it."""

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, parse
from ridgeline.engine.spelling_quotes import repair

CONFIG = '{"method":"eagle","model":"o/h","num_speculative_tokens":4}'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"'{CONFIG}'", "quotes stand around"),
        (f'"{CONFIG}"', "quotes stand around"),
        (CONFIG.replace('"', '\\"'), "quotes are escaped"),
        (json.dumps(CONFIG), "JSON text once more"),
        (json.dumps(json.dumps(CONFIG)), "JSON text once more, and the object is a JSON text"),
        (CONFIG.replace('"', '""'), "quotes are doubled"),
        (CONFIG.replace("{", "{{").replace("}", "}}"), "braces are doubled"),
        (CONFIG.replace('"', "'"), "single quotes"),
        (CONFIG.replace('"', ""), "quotes are lost"),
        (html.escape(CONFIG), "written for HTML"),
        (CONFIG.replace('":"', "”:“").replace('"', "“"), "typographic"),
        ("'" + CONFIG.replace('"', '\\"') + "'", "quotes stand around the object, and"),
    ],
    ids=lambda text: text[:24],
)
def test_the_message_says_what_happened_and_what_to_write(text: str, what: str) -> None:
    with pytest.raises(InvalidSpeculativeConfigError) as told:
        parse(text)

    assert what in str(told.value)
    assert str(told.value).endswith(f"; write {CONFIG}")
    assert parse(CONFIG) is not None


@pytest.mark.parametrize("text", ["", "{", "eagle", "[]", "$(SPECULATION_CONFIG)", "{" * 20_000])
def test_what_nobody_can_tell_is_not_guessed(text: str) -> None:
    assert repair(text) is None


@given(st.text("{}\"\\'ab:,1 &quot;“", max_size=24))
def test_a_guess_is_a_json_object(text: str) -> None:
    found = repair(text)

    assert found is None or isinstance(json.loads(found.text), dict)


@pytest.mark.parametrize("text", ['{"a":NaN}', '{"a":-Infinity}', '{"a":[1e999]}'])
def test_numbers_that_are_not_finite_are_refused(text: str) -> None:
    with pytest.raises(InvalidSpeculativeConfigError, match="is not finite"):
        parse(text)


def test_a_long_text_is_not_turned_over() -> None:
    assert repair("'" + json.dumps({"method": "x" * 20_000}) + "'") is None
