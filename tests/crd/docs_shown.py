"""What README, tutorial and how-to pages show to be typed and to be applied."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

REPOSITORY: Final = Path(__file__).parents[2]
SHELLS: Final = frozenset({"sh", "bash", "console", "shell"})

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_NAMED: Final = re.compile(r"`(?P<name>[\w/.-]+\.(?:yaml|json))`:?\s*\Z")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of a page."""

    page: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A YAML document of a page.

    Attributes:
        page: Path of the page.
        place: Which of its documents it is, counted from 0.
        name: Name of the file that the words before it give it; empty without one.
        body: What it holds.
    """

    page: str
    place: int
    name: str
    body: Any

    @property
    def title(self) -> str:
        """Kind of a whole object; the keys of a part."""
        if isinstance(self.body, dict):
            kind = self.body.get("kind")
            return str(kind) if kind and "apiVersion" in self.body else " ".join(self.body)
        return "list"


def pages() -> list[Path]:
    """Return the pages whose commands and manifests are executed."""
    docs = REPOSITORY / "docs"
    found = [REPOSITORY / "README.md", *sorted((docs / "how-to").glob("*.md"))]
    return found + [each for each in (docs / "tutorial.md",) if each.exists()]


def commands() -> list[Command]:
    """Return every command, in the order in which a reader types them."""
    return [
        Command(page=_path(page), text=text)
        for page in pages()
        for text in commands_of(page.read_text(encoding="utf-8"))
    ]


def commands_of(text: str) -> Iterator[str]:
    """Yield the commands of a page; after `$` where the block shows output too."""
    for block in _FENCE.finditer(text):
        if block["language"] not in SHELLS:
            continue
        indent = len(block["indent"])
        lines = [line[indent:] for line in block["body"].replace("\\\n", " ").splitlines()]
        prompted = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if line.strip() and (line.startswith("$ ") or not prompted):
                yield re.sub(r" {2,}", " ", line.removeprefix("$ ")).strip()


def manifests() -> list[Manifest]:
    """Return every YAML document."""
    found = []
    for page in pages():
        found += list(manifests_of(_path(page), page.read_text(encoding="utf-8")))
    return found


def manifests_of(page: str, text: str) -> Iterator[Manifest]:
    """Yield the YAML documents of a page."""
    place = 0
    for block in _FENCE.finditer(text):
        if block["language"] not in {"yaml", "yml"}:
            continue
        named = _NAMED.search(text[: block.start()])
        name = named["name"] if named else ""
        for body in yaml.safe_load_all(block["body"]):
            if body is not None:
                yield Manifest(page=page, place=place, name=name, body=body)
                place += 1


def _path(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()
