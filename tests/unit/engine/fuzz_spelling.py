"""Feeds words that atheris makes up to the reading and replacing of a config.

    python -m tests.unit.engine.fuzz_spelling CORPUS [libFuzzer's flags]

Words are separated by zero bytes. Any words must give a config or one typed error of one line; what
is replaced says what was asked for, and everything else is as it was.
"""

import importlib
import sys
from typing import Any

# It has no types, and is not there for every Python.
atheris: Any = importlib.import_module("atheris")

with atheris.instrument_imports(include=["ridgeline.engine"]):
    from ridgeline.engine.args_mentions import mentions
    from ridgeline.engine.args_reading import NOTHING, ArgsError, config_in_force, same_config
    from ridgeline.engine.args_replace import replace_flag
    from ridgeline.engine.speculative_config import (
        InvalidSpeculativeConfigError,
        config_of,
        parse,
    )
    from ridgeline.engine.spelling_profile import profile_from
    from ridgeline.settings.engine_contract import load_engine_contracts

NEWEST = load_engine_contracts()[-1]
NEW = '{"method":"ngram","num_speculative_tokens":3}'
REFUSED = (ArgsError, InvalidSpeculativeConfigError)


def one_input(body: bytes) -> None:
    """Read, replace and remove the config of one command line."""
    words = body.decode("utf-8", errors="replace").split("\0")
    read(words)
    for config in (NEW, ""):
        replaced(words, config)


def read(words: list[str]) -> None:
    """A config is read, and a profile is the same config."""
    try:
        config = config_in_force(words, contract=NEWEST)
        profile = profile_from(config, NEWEST, name="p")
    except REFUSED as error:
        check_message(error)
        return
    told = {key: value for key, value in (config or {}).items() if value is not None}
    if told.get("method") == config_of(profile).get("method"):
        assert config_of(profile).keys() == {key.replace("-", "_") for key in told}


def replaced(words: list[str], config: str) -> None:
    """Only our flag changes, and it says what was asked for."""
    try:
        changed = replace_flag(words, config)
    except REFUSED as error:
        check_message(error)
        return
    assert others(changed) == others(words)
    assert same_config(config_in_force(changed), parse(config))
    assert replace_flag(changed, config, command=("x",)) == changed


def others(words: Any) -> list[str]:
    """The words that are not ours."""
    found = mentions(words, NOTHING)
    ours = {each.first + offset for each in found for offset in range(each.words)}
    return [word for index, word in enumerate(words) if index not in ours]


def check_message(error: Exception) -> None:
    """One line of a length that a person reads."""
    assert str(error).isprintable(), error
    assert 20 < len(str(error)) < 700, error


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
