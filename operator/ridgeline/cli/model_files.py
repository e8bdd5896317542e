"""A checkpoint's `config.json`, read from a file or from standard input."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_LARGEST: Final = 4 * 1024 * 1024
"""Bytes that are read; a configuration has a few thousand."""

STANDARD_INPUT: Final = "-"


class ModelFileError(ValueError):
    """The file is no `config.json`; the message names it and what to give."""


def read_config(path: str) -> tuple[Mapping[str, Any], str]:
    """Return a `config.json` and what to call its model.

    Args:
        path: The file, or its folder; `-` for standard input.

    Raises:
        ModelFileError: It cannot be read, or is none.
    """
    file = Path(path)
    if path != STANDARD_INPUT and os.path.isdir(file):
        file = file / "config.json"
    shown = "standard input" if path == STANDARD_INPUT else str(file)
    try:
        config = json.loads(_text(path, file))
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{shown} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{shown} is not JSON: give the config.json that lies beside a checkpoint's weights"
        ) from error
    if not isinstance(config, dict):
        raise ModelFileError(f"{shown} holds no JSON object: give a checkpoint's config.json")
    return config, _name(config, path, file)


def _text(path: str, file: Path) -> str:
    if path == STANDARD_INPUT:
        raw = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        with file.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        shown = "standard input" if path == STANDARD_INPUT else str(file)
        raise ModelFileError(f"{shown} is larger than {_LARGEST >> 20} MiB: give a config.json")
    # Some editors begin a file with a byte-order mark, which JSON has no place for.
    return raw.decode("utf-8-sig")


def _name(config: Mapping[str, Any], path: str, file: Path) -> str:
    told = config.get("_name_or_path")
    by_file = file.resolve().parent.name if file.name == "config.json" else file.stem
    names = (told if isinstance(told, str) else "", "" if path == STANDARD_INPUT else by_file)
    return next((plain for each in names if (plain := _plain(each))), "model")


def _plain(name: str) -> str:
    """Return what of a name may stand in a comment of YAML, a chart and a terminal."""
    return re.sub(r"[^\w./@:+-]", "", name, flags=re.ASCII).strip("./")
