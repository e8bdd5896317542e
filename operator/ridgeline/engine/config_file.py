"""The YAML file that `--config` names, as words of the command line.

vLLM puts its keys in front of the other flags, so that a flag of the command line wins over one of
the file (`FlexibleArgumentParser.load_config_file`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ridgeline.engine.args_expand import escaped
from ridgeline.engine.args_mentions import mentions
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.spelling_quotes import on_one_line

CONFIG_FILE_FLAG: Final = "--config"


class ConfigFileError(ArgsError):
    """The document is no file of flags, or vLLM would misread it."""


def names_config_file(words: Sequence[str]) -> bool:
    """Tell whether a command line names a file of flags."""
    return any(word.partition("=")[0] == CONFIG_FILE_FLAG for word in words)


def words_of_file(document: object) -> tuple[str, ...]:
    """Return the words that vLLM makes of a file.

    Args:
        document: What the file's YAML says; `None` for an empty file.

    Raises:
        ConfigFileError: It is no mapping of flags to values, or a value would be misread.
    """
    if document is None:
        return ()
    if not isinstance(document, Mapping):
        raise ConfigFileError(
            f"the {CONFIG_FILE_FLAG} file is no mapping; write one flag a line, as port: 8000"
        )
    return tuple(word for key, value in document.items() for word in _words(key, value))


def with_config_file(words: Sequence[str], document: object) -> tuple[str, ...]:
    """Return a command line with the words of its file where vLLM puts them.

    They stand behind `serve` and the model; without `serve`, in front of everything. Dollar signs
    in them are escaped: the kubelet expands variables of the command line, and none in files.

    Raises:
        ConfigFileError: As `words_of_file`.
    """
    inserted = map(escaped, words_of_file(document))
    if "serve" not in words:
        at = 0
    else:
        at = words.index("serve") + 1
        at += at < len(words) and not words[at].startswith("-")
    return (*words[:at], *inserted, *words[at:])


def _words(key: object, value: object) -> Iterator[str]:
    if not isinstance(key, str):
        raise ConfigFileError(
            f"the {CONFIG_FILE_FLAG} file has a key {key!r:.60} that is no text; write the flag's "
            "name without its dashes"
        )
    flag = f"--{key}"
    if isinstance(value, bool):
        yield from _switch(flag, on=value)
    elif isinstance(value, list):
        yield from (flag, *map(str, value)) if value else ()
    elif isinstance(value, Mapping):
        yield from (flag, _json(key, value))
    else:
        yield from (flag, str(value))


def _switch(flag: str, *, on: bool) -> Iterator[str]:
    found = mentions((flag,), {})
    if found:
        raise ConfigFileError(
            f"the {CONFIG_FILE_FLAG} file gives {found[0].name.removeprefix('--')} a switch, and "
            "vLLM takes the word behind it for its value; write it as a key of speculative-config"
        )
    yield flag if on else f"--no-{flag.removeprefix('--')}"


def _json(key: str, value: Mapping[object, object]) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigFileError(
            f"key {on_one_line(key)} of the {CONFIG_FILE_FLAG} file holds what JSON cannot say (a "
            "date, a number that is not finite); quote it"
        ) from error
