"""A command's docstring in its parts: what it does, examples of it, and how it ends.

`Examples:` (or `Example:`) heads lines that begin with the program, two spaces in; what is further
in goes on with the line before. `Exit status:` heads lines that begin with a number.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

USUAL_STATUSES: Final = (
    "0 when all went well.",
    "1 when it could not be done, with one line on standard error that says why.",
    "2 for wrong usage, a file that cannot be read among it.",
)
"""How a command ends that says nothing else."""

_WIDTH: Final = 100
_GOES_ON: Final = " \\\n      "

_HEADINGS: Final = {"Example:": "examples", "Examples:": "examples", "Exit status:": "statuses"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpParts:
    """What a docstring says.

    Attributes:
        about: What the command does, a paragraph a line.
        examples: Command lines, each on one line.
        statuses: How it ends: a number and what it means, each on one line.
    """

    about: str
    examples: tuple[str, ...]
    statuses: tuple[str, ...] = USUAL_STATUSES


def parts_of(docstring: str) -> HelpParts:
    """Return a docstring in its parts; its lines are not indented."""
    found: dict[str, list[str]] = {"about": [], "examples": [], "statuses": []}
    part = "about"
    for line in docstring.splitlines():
        if line in _HEADINGS:
            part = _HEADINGS[line]
        else:
            found[part].append(line)
    return HelpParts(
        about="\n\n".join(_paragraphs(found["about"])),
        examples=tuple(_joined(found["examples"])),
        statuses=tuple(_joined(found["statuses"])) or USUAL_STATUSES,
    )


def tail(parts: HelpParts) -> str:
    """Return examples and exit statuses as `--help` ends with them; examples can be copied."""
    examples = [f"  {folded(each)}" for each in parts.examples]
    heading = "Example:" if len(examples) == 1 else "Examples:"
    statuses = [f"  {each}" for each in parts.statuses]
    shown = [heading, *examples, ""] if examples else []
    return "\n".join([*shown, "Exit status:", *statuses, ""])


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        yield " ".join(paragraph.split())


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yield each line with what goes on from it."""
    found: list[str] = []
    for line in filter(str.strip, lines):
        inner = len(line) - len(line.lstrip())
        if found and inner > len("  "):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    yield from found


def folded(example: str) -> str:
    """Return a command line on several lines that a shell reads as one, broken before options."""
    lines = [""]
    for word in re.split(r" (?=--?[a-z]|\| )", example):
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH - len(_GOES_ON):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return _GOES_ON.join(lines)
