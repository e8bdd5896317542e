"""Write a generated page, or check that it is up to date: what the tools of this folder share."""

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def run(module: str, page: Callable[[], str], arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with `--check`; return the exit status.

    0 when written or up to date, 1 when `--check` finds a difference, 2 for wrong usage.

    Args:
        module: Name that the tool is run by: `python -m MODULE [--check] FILE`.
        page: Makes the page.
        arguments: Command line; that of the process when not given.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args(arguments)
    wanted = page()
    if not chosen.check:
        chosen.file.write_text(wanted, encoding="utf-8")
        return 0
    found = chosen.file.read_text(encoding="utf-8") if chosen.file.exists() else ""
    if found == wanted:
        return 0
    difference = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), str(chosen.file), "generated", lineterm=""
    )
    sys.stderr.write("\n".join(difference) + "\n")
    sys.stderr.write(f"{chosen.file} is out of date: python -m {module} {chosen.file}\n")
    return 1
