"""The speculative config that a command line gives a server, in whatever spelling.

As vLLM puts it together: of several whole configs the last holds; dotted keys together make one
more, which stands behind all others; the flags for single keys are added to it, and none of their
keys may be in it already. What a person can hardly have meant is refused.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from ridgeline.engine.args_mentions import Mention, Part, mentions, script_of
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    config_text,
    parse,
    refuse_code,
)
from ridgeline.engine.spelling_quotes import on_one_line

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_OFF: Final = "None"
"""A word that vLLM takes for no speculation, as it takes the empty text."""


class ArgsError(ValueError):
    """A command line cannot be read for sure, or not be changed safely."""


def config_in_force(
    words: Sequence[str],
    *,
    environment: Mapping[str, str] = NOTHING,
    contract: EngineContract | None = None,
) -> Mapping[str, object] | None:
    """Return the config of a server with this command line, `None` for no speculation.

    Args:
        words: Command and arguments, those of a `--config` file among them (`config_file`).
        environment: Values of the variables that words refer to as `$(NAME)`.
        contract: What the release accepts; `None` to take every spelling of any release.

    Raises:
        ArgsError: A shell runs a script that speaks of speculation, two mentions contradict each
            other, a flag says nothing, a variable has no known value, or the release lacks a flag.
        InvalidSpeculativeConfigError: A config is no JSON object, or loads code.
    """
    script = script_of(words)
    if script is not None and script.mentions:
        raise ArgsError(
            f"{script.mentions[0].name} stands in the script of a shell, which is not looked into; "
            "pass it as an argument of its own"
        )
    return config_of_mentions(mentions(words, environment), contract)


def config_of_mentions(
    found: Sequence[Mention], contract: EngineContract | None = None
) -> Mapping[str, object] | None:
    """Return what mentions make together, `None` for no speculation.

    Raises:
        ArgsError: As `config_in_force`.
        InvalidSpeculativeConfigError: As `config_in_force`.
    """
    for each in found:
        _refuse_unreadable(each, contract)
    wholes = [(each, _whole(each)) for each in found if each.part is Part.WHOLE]
    dotted = _merged([each for each in found if each.part is Part.KEY])
    _refuse_contradiction(wholes, dotted, found)
    config = dotted or (wholes[-1][1] if wholes else None)
    aliases = _aliases([each for each in found if each.part is Part.ALIAS], config or {})
    if config is None and not aliases:
        return None
    together = {**(config or {}), **aliases}
    refuse_code(together)
    return together


def _refuse_unreadable(mention: Mention, contract: EngineContract | None) -> None:
    if contract is not None and not _has_flag(mention, contract):
        raise ArgsError(
            f"vLLM {contract.version} has no flag {mention.flag}; write --speculative-config with "
            "the same as JSON"
        )
    if mention.value is None:
        raise ArgsError(
            f"{mention.name} says nothing: write its value behind it, or remove the flag"
        )
    if not all(mention.keys):
        raise ArgsError(f"{mention.name} names no key: write --speculative-config.KEY VALUE")
    if len(mention.keys) > _DEEPEST:
        raise ArgsError(
            f"{mention.name} goes deeper than any config; write --speculative-config as JSON"
        )
    if mention.unknown:
        variable = on_one_line(mention.unknown[0])
        raise ArgsError(
            f"{mention.name} takes its value from $({variable}), which is not known; write the "
            "value, or give the variable a literal one in env"
        )


_DEEPEST: Final = 8


def _has_flag(mention: Mention, contract: EngineContract) -> bool:
    name = mention.flag.replace("_", "-") if mention.flag.startswith("--") else mention.flag
    return any(
        flag == name or (name.startswith("--") and flag.startswith(name)) for flag in contract.flags
    )


def _whole(mention: Mention) -> Mapping[str, object] | None:
    value = mention.value or ""
    return None if value == _OFF else parse(value)


def _merged(found: Iterable[Mention]) -> dict[str, object]:
    config: dict[str, object] = {}
    for mention in found:
        place, last = config, mention.keys[-1]
        for key in mention.keys[:-1]:
            inner = place.setdefault(key, {})
            if not isinstance(inner, dict):
                raise _contradicting(
                    mention, f"{on_one_line(key)} is a value elsewhere, and not an object"
                )
            place = inner
        value, before = _value(mention), place.get(last)
        if mention.appends and isinstance(before, list) and isinstance(value, list):
            place[last] = before + value
        elif last in place and not _same(before, value):
            raise _contradicting(mention, f"{_told(before)} and {_told(value)}")
        else:
            place[last] = value
    return config


def _value(mention: Mention) -> object:
    """Return the value of one key: JSON if it is any, else the text itself."""
    text = mention.value or ""
    if mention.appends:
        return text.split(",")
    try:
        found = parse(f'{{"value":{text}}}')
    except InvalidSpeculativeConfigError:
        return text
    return text if found is None or found.keys() != {"value"} else found["value"]


def _aliases(found: Iterable[Mention], config: Mapping[str, object]) -> dict[str, object]:
    told: dict[str, object] = {}
    for mention in found:
        (key,) = mention.keys
        value: object = mention.value
        if key == "num_speculative_tokens":
            value = _count(mention)
        if key in told and told[key] != value:
            raise _contradicting(mention, f"{_told(told[key])} and {_told(value)}")
        if key in config:
            raise ArgsError(
                f"{mention.flag} and {key} of --speculative-config exclude each other, and vLLM "
                "does not start with both; remove one"
            )
        told[key] = value
    return told


def _count(mention: Mention) -> int:
    text = (mention.value or "").strip()
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > _LONGEST_NUMBER:
        raise ArgsError(f"{mention.flag} {mention.value!r:.80} is no whole number; write one, as 4")
    return int(text)


_LONGEST_NUMBER: Final = 18


def _refuse_contradiction(
    wholes: Sequence[tuple[Mention, Mapping[str, object] | None]],
    dotted: Mapping[str, object],
    found: Sequence[Mention],
) -> None:
    for (_, before), (after, config) in pairwise(wholes):
        if not _same(before, config):
            raise _contradicting(after, "two configs, of which the last holds")
    if wholes and dotted and not _same(wholes[-1][1], dotted):
        key = next(each for each in found if each.part is Part.KEY)
        raise ArgsError(
            f"{wholes[-1][0].name} and {key.name} contradict each other: vLLM drops the first as a "
            "whole; put all keys into one"
        )


def _contradicting(mention: Mention, what: str) -> ArgsError:
    return ArgsError(f"{mention.name} is given twice: {what}; remove one")


def _same(left: object, right: object) -> bool:
    """Compare JSON values: 1 and true differ."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def same_config(left: Mapping[str, object] | None, right: Mapping[str, object] | None) -> bool:
    """Tell whether two configs say the same, in whatever order; an empty object is no absence."""
    return _same(left, right)


def _told(value: object) -> str:
    return on_one_line(config_text({"": value})[4:-1], limit=60)
