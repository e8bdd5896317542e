"""Our own flag in a container's argument list, replaced; everything else stays as it is.

Pure: nothing is written anywhere. Words of a shell's script are never edited.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.engine.args_expand import escaped
from ridgeline.engine.args_mentions import (
    CONFIG_FLAG,
    Mention,
    Part,
    Script,
    mentions,
    script_of,
)
from ridgeline.engine.args_reading import (
    NOTHING,
    ArgsError,
    config_of_mentions,
    same_config,
)
from ridgeline.engine.config_file import CONFIG_FILE_FLAG, names_config_file, words_of_file
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    LoadsCodeError,
    parse,
)


def replace_flag(
    args: Sequence[str],
    config: str,
    *,
    command: Sequence[str] = (),
    environment: Mapping[str, str] = NOTHING,
    config_file: object = None,
) -> tuple[str, ...]:
    """Return an argument list that gives the server another speculative config.

    Every spelling of our flag is found. A whole config is replaced where it stands, in the spelling
    that it has; dotted keys and flags for single keys give way to one `--speculative-config=…`; a
    flag that was not there comes last. The list is returned as it is when it says the same already,
    so that nothing rolls for a spelling.

    Args:
        args: The container's `args`.
        config: The config as `render` gives it; empty for no speculation, which removes the flag.
        command: The container's `command`.
        environment: Values of the container's variables that are known.
        config_file: The document of the file that `--config` names; `None` when it is not known.

    Raises:
        ArgsError: It cannot be done safely; the message says why and what to do.
        InvalidSpeculativeConfigError: `config` is no config.
        LoadsCodeError: `config`, or the one that is there, makes the server run code.
    """
    wanted = parse(config)
    _refuse_elsewhere(args, command, environment, config_file)
    found = mentions(args, environment)
    _refuse_from_variable(args, found)
    if _says(found, wanted):
        return tuple(args)
    changed = _without(args, found) if wanted is None else _with(args, found, config)
    if not changed and not command:
        raise ArgsError(
            "nothing would be left of args, and the image's own arguments would come back; write "
            "the model into args"
        )
    if script_of((*command, *args)) is None and script_of((*command, *changed)) is not None:
        raise ArgsError(
            "the command line ends where a shell expects its script, and the flag would become "
            "that script; write the script, and pass flags as args behind it"
        )
    return changed


def _says(found: Sequence[Mention], wanted: Mapping[str, object] | None) -> bool:
    try:
        return same_config(config_of_mentions(found), wanted)
    except LoadsCodeError:
        raise
    except InvalidSpeculativeConfigError:
        # What no server starts with may go; but of two, nobody can tell which was meant.
        if len({each.part for each in found}) > 1 or _several_wholes(found):
            raise
        return False
    except ArgsError:
        if len(found) > 1:
            raise
        return False


def _several_wholes(found: Sequence[Mention]) -> bool:
    return sum(each.part is Part.WHOLE for each in found) > 1


def _without(args: Sequence[str], found: Sequence[Mention]) -> tuple[str, ...]:
    ours = {each.first + offset for each in found for offset in range(each.words)}
    return tuple(word for index, word in enumerate(args) if index not in ours)


def _with(args: Sequence[str], found: Sequence[Mention], config: str) -> tuple[str, ...]:
    if not found:
        return (*args, f"{CONFIG_FLAG}={escaped(config)}")
    kept = next((each for each in found if each.part is Part.WHOLE), found[0])
    before = [each for each in found if each.first < kept.first]
    return (
        *_without(args[: kept.first], before),
        *_spelled_as(kept, config),
        *_without(args, [each for each in found if each.first > kept.first])[_end(kept) :],
    )


def _end(mention: Mention) -> int:
    return mention.first + mention.words


def _spelled_as(mention: Mention, config: str) -> tuple[str, ...]:
    value = escaped(config)
    if mention.part is not Part.WHOLE:
        return (f"{CONFIG_FLAG}={value}",)
    return (f"{mention.flag}={value}",) if mention.words == 1 else (mention.flag, value)


def _refuse_from_variable(args: Sequence[str], found: Sequence[Mention]) -> None:
    for each in found:
        word = args[each.first]
        if "$" in word.partition("=")[0]:
            raise ArgsError(
                f"args take {each.name} from {word[:40]!r}, where it cannot be replaced; write the "
                "flag into args itself"
            )


def _refuse_elsewhere(
    args: Sequence[str],
    command: Sequence[str],
    environment: Mapping[str, str],
    config_file: object,
) -> None:
    if not args and not command:
        raise ArgsError(
            "the container has neither command nor args: args would take the place of the image's "
            "own; write the server's whole command line into args"
        )
    script = script_of((*command, *args))
    if script is not None:
        _refuse_script(script)
    in_command = mentions(command, environment)
    if in_command:
        raise ArgsError(
            f"{in_command[0].name} stands in command, and only args are changed; move it to args"
        )
    if script is None and _END_OF_FLAGS in args:
        raise ArgsError(
            f"args hold a bare {_END_OF_FLAGS}, behind which nothing is a flag; remove it"
        )
    _refuse_file((*command, *args), config_file)


_END_OF_FLAGS: Final = "--"


def _refuse_script(script: Script) -> None:
    if script.mentions:
        raise ArgsError(
            f"{script.mentions[0].name} stands in the script of a shell, which is not edited; take "
            'it out and pass the flags as args behind the script, which ends in "$@"'
        )
    if not script.passes_arguments:
        raise ArgsError(
            "a shell runs a script that does not hand its arguments on, so a flag in args would "
            'not reach the server; end the script in "$@", or use the Env injection'
        )


def _refuse_file(words: Sequence[str], document: object) -> None:
    if not names_config_file(words):
        return
    if document is None:
        raise ArgsError(
            f"args name a {CONFIG_FILE_FLAG} file that is not known here, and it may hold a "
            "speculative config of its own; mount it from a ConfigMap that can be read"
        )
    in_file = mentions(words_of_file(document), NOTHING)
    if in_file:
        raise ArgsError(
            f"the {CONFIG_FILE_FLAG} file holds {in_file[0].name.removeprefix('--')}, and files "
            "are not changed; remove the key there"
        )
