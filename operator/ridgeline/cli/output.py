"""How a command's answer is written."""

import json
from enum import StrEnum
from typing import Annotated

import typer
import yaml


class Form(StrEnum):
    """Forms of an answer."""

    TABLE = "table"
    JSON = "json"


class Output(StrEnum):
    """Forms of an answer about servings."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


OutputForm = Annotated[
    Output, typer.Option("--output", "-o", help="A table, a wider one, JSON or YAML.")
]


def dump(content: object, output: Output) -> None:
    """Print plain values as JSON or YAML."""
    if output is Output.JSON:
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
    else:
        typer.echo(yaml.safe_dump(content, sort_keys=False), nl=False)
