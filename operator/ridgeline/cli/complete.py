"""`kubectl_complete-ridgeline`: what kubectl runs to complete `kubectl ridgeline …`.

kubectl looks for a program of this name on the `PATH`, gives it the words so far, the last one
unfinished, and reads candidates line by line, and then a directive (kubectl 1.26 and newer).
"""

import io
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import Final

from ridgeline.cli.kubectl import app

PROGRAM: Final = "kubectl-ridgeline"
_VARIABLE: Final = "_KUBECTL_RIDGELINE_COMPLETE"

_NO_FILES: Final = ":4"
"""Directive of cobra: no names of files beside the candidates."""

_FILES: Final = ":0"
"""Directive of cobra: names of files where there is no candidate."""


def candidates(words: Sequence[str]) -> tuple[str, ...]:
    """Return what may stand in place of the last word.

    Args:
        words: The words after `kubectl ridgeline`; the last is the unfinished one, maybe empty.
    """
    typed = [PROGRAM, *words] if words else [PROGRAM, ""]
    before = dict(os.environ)
    os.environ |= {
        _VARIABLE: "complete_bash",
        "COMP_WORDS": shlex.join(typed),
        "COMP_CWORD": str(len(typed) - 1),
    }
    told = io.StringIO()
    try:
        with redirect_stdout(told), suppress(SystemExit):
            app(prog_name=PROGRAM)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return tuple(each for each in told.getvalue().splitlines() if each)


def main() -> None:
    """Print the candidates and a directive, as kubectl reads them."""
    found = candidates(sys.argv[1:])
    for each in found:
        sys.stdout.write(f"{each}\n")
    sys.stdout.write(f"{_NO_FILES if found else _FILES}\n")
