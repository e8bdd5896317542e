"""Every way in which a profile is written on a command line, and how it is read back.

What `words_of` writes, `read_profile` reads as the same profile; the bytes are always the same for
the same profile, spelling and release.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from ridgeline.engine.args_expand import escaped
from ridgeline.engine.args_mentions import ALIASES, CONFIG_FLAG, SHORT_FLAG
from ridgeline.engine.args_reading import NOTHING, ArgsError, config_in_force
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.speculative_config import Profile, config_of, config_text
from ridgeline.engine.spelling_profile import profile_from, render_for


class Spelling(StrEnum):
    """A way of writing a speculative config."""

    SEPARATE = "Separate"
    """`--speculative-config {…}`"""
    EQUALS = "Equals"
    """`--speculative-config={…}`: what ridgeline writes."""
    UNDERSCORE = "Underscore"
    """`--speculative_config {…}`"""
    UNDERSCORE_EQUALS = "UnderscoreEquals"
    DOTTED = "Dotted"
    """`--speculative-config.method eagle`, one for each key."""
    DOTTED_EQUALS = "DottedEquals"
    SHORT = "Short"
    """`-sc {…}`"""
    SHORT_EQUALS = "ShortEquals"
    ALIASES = "Aliases"
    """`--spec-method`, `--spec-model`, `--spec-tokens`; other keys as JSON beside them."""


_UNDERSCORED: Final = "--speculative_config"
_WHOLE: Final = {
    Spelling.SEPARATE: (CONFIG_FLAG, False),
    Spelling.EQUALS: (CONFIG_FLAG, True),
    Spelling.UNDERSCORE: (_UNDERSCORED, False),
    Spelling.UNDERSCORE_EQUALS: (_UNDERSCORED, True),
    Spelling.SHORT: (SHORT_FLAG, False),
    Spelling.SHORT_EQUALS: (SHORT_FLAG, True),
}
"""Spellings of the whole config: the flag, and whether its value stands in the same word."""


def spellings_of(contract: EngineContract) -> tuple[Spelling, ...]:
    """Return the spellings that a release reads."""
    missing = set()
    if SHORT_FLAG not in contract.flags:
        missing |= {Spelling.SHORT, Spelling.SHORT_EQUALS}
    if not contract.flags >= ALIASES.keys():
        missing.add(Spelling.ALIASES)
    return tuple(each for each in Spelling if each not in missing)


def words_of(profile: Profile, spelling: Spelling, contract: EngineContract) -> tuple[str, ...]:
    """Return the arguments that give a server this profile; none for `Disabled`.

    They are words of a container's `args`: a dollar sign is escaped for the kubelet.

    Raises:
        ArgsError: The release does not read the spelling.
        InvalidSpeculativeConfigError: The release does not serve the profile.
    """
    text = render_for(profile, contract)
    if spelling not in spellings_of(contract):
        known = ", ".join(each.value for each in spellings_of(contract))
        raise ArgsError(
            f"vLLM {contract.version} does not read the spelling {spelling.value}; choose one of "
            f"{known}"
        )
    if not text:
        return ()
    if spelling in _WHOLE:
        flag, inline = _WHOLE[spelling]
        return _pair(flag, text, inline=inline)
    config = config_of(profile)
    if spelling is Spelling.ALIASES:
        return _with_aliases(config)
    pairs = (
        _pair(f"{CONFIG_FLAG}.{key}", _bare(value), inline=spelling is Spelling.DOTTED_EQUALS)
        for key, value in config.items()
    )
    return tuple(word for pair in pairs for word in pair)


def file_of(profile: Profile, contract: EngineContract) -> str:
    """Return the text of a `--config` file that gives a server this profile; empty for `Disabled`.

    The config is one JSON text: every release reads that, and only newer ones a mapping.

    Raises:
        InvalidSpeculativeConfigError: The release does not serve the profile.
    """
    if not render_for(profile, contract):
        return ""
    # JSON in ASCII is YAML in double quotes, whatever the characters.
    text = json.dumps(config_of(profile), separators=(",", ":"), allow_nan=False)
    return f"{CONFIG_FLAG.removeprefix('--')}: {json.dumps(text)}\n"


def read_profile(
    words: Sequence[str],
    contract: EngineContract,
    *,
    name: str,
    environment: Mapping[str, str] = NOTHING,
) -> Profile:
    """Return the profile of a server with this command line, in whatever spelling.

    Args:
        words: Command and arguments; with a file, as `config_file.with_config_file` gives them.
        contract: What the release accepts.
        name: The profile's name.
        environment: Values of the variables that words refer to as `$(NAME)`.

    Raises:
        ArgsError: The command line cannot be read for sure.
        InvalidSpeculativeConfigError: Its config is none that the release serves.
    """
    config = config_in_force(words, environment=environment, contract=contract)
    return profile_from(config, contract, name=name)


def _pair(flag: str, value: str, *, inline: bool) -> tuple[str, ...]:
    value = escaped(value)
    return (f"{flag}={value}",) if inline else (flag, value)


def _with_aliases(config: Mapping[str, object]) -> tuple[str, ...]:
    pairs = [
        _pair(flag, str(config[key]), inline=False)
        for flag, key in ALIASES.items()
        if key in config
    ]
    rest = {key: value for key, value in config.items() if key not in ALIASES.values()}
    if rest:
        pairs.append(_pair(CONFIG_FLAG, config_text(rest), inline=True))
    return tuple(word for pair in pairs for word in pair)


_PLAIN_TEXT: Final = re.compile(r"(?!(?:true|false|null|NaN|Infinity)$)[A-Za-z/.][^\s]*")
"""Texts that vLLM, which reads a dotted key's value as JSON if it is any, leaves as they are."""


def _bare(value: object) -> str:
    if isinstance(value, str) and _PLAIN_TEXT.fullmatch(value):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
