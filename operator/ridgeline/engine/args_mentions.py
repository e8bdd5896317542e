"""Where a command line speaks of speculation: every spelling that vLLM's parser takes.

Underscores in the name of a long flag mean dashes, up to the first dot; a name may be cut short
where it stays unambiguous; `--flag.key value` sets one key (vLLM `FlexibleArgumentParser`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from ridgeline.engine.args_expand import expanded, undefined
from ridgeline.engine.spelling_quotes import on_one_line

CONFIG_FLAG: Final = "--speculative-config"
SHORT_FLAG: Final = "-sc"
ALIASES: Final = {
    "--spec-method": "method",
    "--spec-model": "model",
    "--spec-tokens": "num_speculative_tokens",
}
"""Flags for single keys, of the releases that have them."""

_SHORTEST: Final = {CONFIG_FLAG: "--specu", "--spec-method": "--spec-me"} | {
    "--spec-model": "--spec-mo",
    "--spec-tokens": "--spec-t",
}
"""The shortest cut of each name that no other flag of vLLM begins with."""

_BEGINNINGS: Final = ("--spec", SHORT_FLAG)
"""How every word that names one of these flags begins."""

SHELL: Final = re.compile(r"^(?:.*/)?(?:ba|da|a|z|k)?sh$")
_COMMAND_STRING: Final = re.compile(r"-[a-z]*c[a-z]*")
_ALL_ARGUMENTS: Final = re.compile(r"\$(?:[@*]|\{[@*][^}]*\})")


class Part(StrEnum):
    """How much of a config one mention sets."""

    WHOLE = "Whole"
    KEY = "Key"
    """`--speculative-config.method`."""
    ALIAS = "Alias"
    """`--spec-method`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One place of a command line that speaks of speculation.

    Attributes:
        first: Index of its first word.
        words: Number of its words: the flag, and its value unless that stands behind `=`.
        flag: The flag as written, without value and dotted keys.
        part: How much it sets.
        keys: The keys that it sets, from outside in; empty for the whole.
        value: What it says, variables expanded; `None` when it says nothing.
        appends: Whether it adds to a list (`--speculative-config.key+ a,b`).
        unknown: Names of variables in its words whose values are not known.
    """

    first: int
    words: int
    flag: str
    part: Part
    keys: tuple[str, ...]
    value: str | None
    appends: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The flag with its dotted keys, for a person."""
        keys = "".join(f".{key}" for key in self.keys) if self.part is Part.KEY else ""
        return on_one_line(self.flag + keys)


def mentions(words: Sequence[str], environment: Mapping[str, str]) -> tuple[Mention, ...]:
    """Return every mention of a command line in its order; scripts of a shell are not looked into.

    Args:
        words: Command and arguments.
        environment: Values of the variables that words refer to as `$(NAME)`.
    """
    flat = [expanded(word, environment) for word in words]
    found: list[Mention] = []
    index = 0
    while index < len(flat):
        mention = _mention(flat, index)
        if mention is not None:
            own = words[index : index + mention.words]
            unknown = tuple(name for word in own for name in undefined(word, environment))
            found.append(replace(mention, unknown=unknown) if unknown else mention)
        index += 1 if mention is None else mention.words
    return tuple(found)


def _mention(flat: Sequence[str], index: int) -> Mention | None:
    if not flat[index].startswith(_BEGINNINGS):
        return None
    name, equals, inline = flat[index].partition("=")
    head, dot, rest = name.partition(".")
    flag = _flag(head)
    if flag is None or (dot and flag in ALIASES):
        return None
    value = inline if equals else _next_value(flat, index, any_word=bool(dot))
    part = Part.ALIAS if flag in ALIASES else Part.KEY if dot else Part.WHOLE
    keys = (ALIASES[flag],) if flag in ALIASES else tuple(rest.removesuffix("+").split("."))
    return Mention(
        first=index,
        words=1 if equals or value is None else 2,
        flag=head,
        part=part,
        keys=() if part is Part.WHOLE else keys,
        value=value,
        appends=bool(dot) and rest.endswith("+"),
    )


def _flag(head: str) -> str | None:
    """Return the flag that a word names, whole or cut short."""
    if head == SHORT_FLAG:
        return CONFIG_FLAG
    plain = head.replace("_", "-")
    return next(
        (
            flag
            for flag, shortest in _SHORTEST.items()
            if plain.startswith(shortest) and flag.startswith(plain)
        ),
        None,
    )


def _next_value(flat: Sequence[str], index: int, *, any_word: bool) -> str | None:
    """Return the word after a flag: its value, unless it is a flag itself.

    After a dotted key vLLM takes any word.
    """
    following = flat[index + 1] if index + 1 < len(flat) else None
    if following is None or any_word:
        return following
    is_flag = following.startswith("-") and not re.search(r"\s|^-[0-9]", following)
    return None if is_flag else following


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script that a shell runs: `sh -c SCRIPT`, or a word of an image whose entrypoint is one.

    Attributes:
        text: The script.
        mentions: What it says of speculation, as far as it can be split into words.
        passes_arguments: Whether it hands the words behind it on (`"$@"`).
    """

    text: str
    mentions: tuple[Mention, ...]
    passes_arguments: bool


def script_of(words: Sequence[str]) -> Script | None:
    """Return the script of a command line, `None` when no shell runs one."""
    text = next(_scripts(words), None)
    if text is None:
        return None
    return Script(
        text=text,
        mentions=mentions(_shell_words(text), {}),
        passes_arguments=_ALL_ARGUMENTS.search(text) is not None,
    )


def _scripts(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if SHELL.match(word):
            yield from _command_string(words[index + 1 :])
    for word in words:
        # The image's entrypoint may be a shell; one flag with a blank in its value is no script.
        if not word.startswith("-") and any(map(_flag_word, word.split()[1:])):
            yield word


def _command_string(options: Sequence[str]) -> Iterator[str]:
    """Yield the word after `-c` (`-lc`, `-ec`); without one a shell runs a file."""
    for option, following in pairwise(options):
        if not option.startswith("-"):
            return
        if _COMMAND_STRING.fullmatch(option):
            yield following
            return


def _flag_word(word: str) -> bool:
    return "-s" in word and _flag(word.strip("\"'").partition("=")[0].partition(".")[0]) is not None


def _shell_words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()
