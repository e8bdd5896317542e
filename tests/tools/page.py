"""Write a generated page, or check that it is up to date: what the tools of this folder share."""

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def between(page: str, begin: str, end: str, text: str) -> str:
    """Return a page with a text between two marks.

    Raises:
        ValueError: The page lacks a mark.
    """
    if begin not in page or end not in page:
        raise ValueError(f"the page has no place for the table: add {begin} and {end}")
    before, rest = page.split(begin, 1)
    _, after = rest.split(end, 1)
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


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


def bring_in_step(
    module: str, files: Mapping[Path, str], surplus: Sequence[Path], root: Path, *, check: bool
) -> int:
    """Write the files and remove the surplus ones, or only tell them; return the exit status.

    Args:
        module: Name that the tool is run by.
        files: What each generated file must hold.
        surplus: Files that stand there and are not generated any more.
        root: Folder that paths are told from.
        check: Write nothing; 1 when something differs.
    """
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if check:
        for path in (*stale, *surplus):
            print(f"{path.relative_to(root)} is not up to date", file=sys.stderr)
        if stale or surplus:
            print(f"run: python -m {module}", file=sys.stderr)
        return 1 if stale or surplus else 0
    for path in surplus:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    return 0
