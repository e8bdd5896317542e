"""How a command's answer is written."""

import json
import sys
from enum import StrEnum
from typing import Annotated, Final

import typer
import yaml
from rich.console import Console, RenderableType

_PIPED_WIDTH: Final = 160
"""Columns where nobody tells: piped output is not folded at 80."""

_WIDE: Final = 240


class Output(StrEnum):
    """Forms of an answer."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Whether it is for a program."""
        return self in (Output.JSON, Output.YAML)


OutputForm = Annotated[
    Output, typer.Option("--output", "-o", help="A table, a wider one, JSON or YAML.")
]


def dump(content: object, output: Output) -> None:
    """Print plain values as JSON or YAML."""
    text = json.dumps(content, indent=2, allow_nan=False)
    if output is Output.YAML:
        text = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True).rstrip("\n")
    typer.echo(text)


def show(page: RenderableType, output: Output) -> None:
    """Print a page for a person; colour stands on a terminal alone."""
    piped = _WIDE if output is Output.WIDE else _PIPED_WIDTH
    Console(width=None if sys.stdout.isatty() else piped).print(page, crop=False)
