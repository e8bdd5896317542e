"""Write a generated page, or tell that it is out of date: what the makers of pages share."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def run(module: str, page: Callable[[], str], arguments: Sequence[str]) -> int:
    """Write the page, or only compare it with `--check`; return the exit status.

    0 when it was written or is up to date, 1 when `--check` finds a difference, 2 on wrong
    arguments.

    Args:
        module: Name that the maker is run by: `python -m MODULE [--check] FILE`.
        page: Makes the page.
        arguments: Command line without the program's name.
    """
    check = "--check" in arguments
    names = [each for each in arguments if each != "--check"]
    if len(names) != 1:
        sys.stderr.write(f"usage: python -m {module} [--check] FILE\n")
        return 2
    file = Path(names[0])
    if not check:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page(), encoding="utf-8")
        return 0
    if file.is_file() and file.read_text(encoding="utf-8") == page():
        return 0
    sys.stderr.write(f"{file} is out of date: python -m {module} {file}\n")
    return 1


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def codes(names: Sequence[str]) -> str:
    """Return names as code, a dash where there are none."""
    return ", ".join(f"`{each}`" for each in names) or "–"
