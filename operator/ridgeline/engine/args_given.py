"""The argument list of a container as its maker wrote it, kept while our own flag stands in it.

Who writes a list as a whole must be able to give it back. What is remembered of the maker's list is
only its own speculative flags and where they stood: everything else stands in the list still.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ridgeline.engine.args_mentions import Mention, mentions
from ridgeline.engine.args_reading import NOTHING, ArgsError, config_in_force
from ridgeline.engine.args_replace import replace_flag
from ridgeline.engine.config_file import CONFIG_FILE_FLAG, names_config_file
from ridgeline.engine.container import Container, is_reference, known_environment
from ridgeline.engine.speculative_config import config_text


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFlag:
    """A speculative flag of the maker's list.

    Attributes:
        before: Number of words before it that belong to no such flag.
        words: Its words, as they stood.
    """

    before: int
    words: tuple[str, ...]


def given_flags(
    args: Sequence[str], environment: Mapping[str, str] = NOTHING
) -> tuple[GivenFlag, ...]:
    """Return the speculative flags of a list, in every spelling, in their order."""
    found, taken = [], 0
    for each in mentions(args, environment):
        end = each.first + each.words
        found.append(GivenFlag(before=each.first - taken, words=tuple(args[each.first : end])))
        taken += each.words
    return tuple(found)


def with_given(
    args: Sequence[str], given: Sequence[GivenFlag], environment: Mapping[str, str] = NOTHING
) -> tuple[str, ...]:
    """Return a list with its speculative flags taken out, and `given` in the places it had.

    After `replace_flag` it is the list from before, byte for byte.
    """
    rest = _without(args, mentions(args, environment))
    words: list[str] = []
    done = 0
    for each in given:
        words += rest[done : max(done, each.before)]
        words += each.words
        done = max(done, each.before)
    return (*words, *rest[done:])


def without_literal_flags(args: Sequence[str]) -> tuple[str, ...]:
    """Return a list without the speculative flags that carry a value of their own.

    One that takes its value from the profile's variable is no part of a profile, and stays.
    """
    found = [
        each
        for each in mentions(args, NOTHING)
        if not is_reference(args[each.first + each.words - 1])
    ]
    return _without(args, found)


def config_in_args(container: Container) -> str:
    """Return the speculative config in force of a container whose own flag may be replaced.

    It is the text itself where one flag carries all of it, else compact JSON; empty for none.

    Raises:
        ArgsError: The flag cannot be read for sure, or not be replaced: a script of a shell, a
            flag in `command` or in a `--config` file, contradictions.
        InvalidSpeculativeConfigError: The config is no JSON object, or loads code.
    """
    if names_config_file(container.words):
        raise ArgsError(
            f"container {container.name!r} names a {CONFIG_FILE_FLAG} file, which may hold a "
            "speculative config of its own and is not read: write its content as args, or use "
            "injection mode Env"
        )
    environment = known_environment(container)
    config = config_in_force(container.words, environment=environment)
    text = "" if config is None else _text(mentions(container.args, environment), config)
    replace_flag(container.args, text, command=container.command, environment=environment)
    return text


def _text(found: Sequence[Mention], config: Mapping[str, object]) -> str:
    if len(found) == 1 and not found[0].keys and found[0].value:
        return found[0].value
    return config_text(config)


def _without(args: Sequence[str], found: Sequence[Mention]) -> tuple[str, ...]:
    ours = {each.first + offset for each in found for offset in range(each.words)}
    return tuple(word for index, word in enumerate(args) if index not in ours)
