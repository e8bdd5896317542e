"""Numbers that a vLLM command line gives: as vLLM's own parser would read them."""

import re
from collections.abc import Sequence
from typing import Final

_DATA_PARALLEL: Final = ("--data-parallel-size", "-dp")


def data_parallel_size(words: Sequence[str]) -> int:
    """Return how many engines a server runs: the data-parallel size, 1 when not given.

    The last mention wins, as with argparse. Words of a `sh -c` script are looked into too.
    """
    size = 1
    flat = [part for word in words for part in _split_script(word)]
    for index, word in enumerate(flat):
        name, equals, inline = word.partition("=")
        if name.replace("_", "-") not in _DATA_PARALLEL:
            continue
        value = inline if equals else flat[index + 1] if index + 1 < len(flat) else ""
        if value.isdecimal() and int(value) > 0:
            size = int(value)
    return size


def _split_script(word: str) -> list[str]:
    return re.split(r"\s+", word.strip()) if re.search(r"\s", word) else [word]
