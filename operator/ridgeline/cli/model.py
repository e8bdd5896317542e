"""`ridgeline model …`: what a serving says of a model that the catalogue does not have."""

import json
import sys
from enum import StrEnum
from typing import Annotated, NoReturn

import typer
import yaml

from ridgeline.cli.model_files import ModelFileError, read_config
from ridgeline.cli.plain import PlainCommand, PlainGroup
from ridgeline.settings.advise_model import AdvisedModel, NoModel, model_of_config, model_stanza

app = typer.Typer(cls=PlainGroup, no_args_is_help=True)


class ModelForm(StrEnum):
    """Forms of the output."""

    YAML = "yaml"
    JSON = "json"


@app.callback()
def main() -> None:
    """Describe models.

    Example:
      ridgeline model describe ./config.json
    """


@app.command(cls=PlainCommand)
def describe(
    config: Annotated[
        str,
        typer.Argument(help="A checkpoint's config.json, its folder, or - for standard input."),
    ],
    output: Annotated[
        ModelForm, typer.Option("--output", "-o", help="yaml goes below spec of a serving.")
    ] = ModelForm.YAML,
) -> None:
    """Print the model stanza of a serving, spec.model, from a checkpoint's config.json.

    Examples:
      ridgeline model describe ./config.json
      ridgeline model describe ~/models/my-llama -o json

    Exit status:
      0 when the shape is told.
      1 when the file does not tell it, with the keys that are missing.
      2 for wrong usage, a file that cannot be read among it.
    """
    try:
        content, name = read_config(config)
    except ModelFileError as error:
        _fail(str(error), status=2)
    found = model_of_config(content, name)
    if isinstance(found, NoModel):
        _fail(found.message)
    stanza = {"model": model_stanza(found, found.precision.precision)}
    if output is ModelForm.JSON:
        typer.echo(json.dumps(stanza, indent=2, allow_nan=False))
        return
    typer.echo("\n".join(f"# {each}" for each in _comments(found, name)))
    typer.echo(yaml.safe_dump(stanza, sort_keys=False), nl=False)


def _comments(found: AdvisedModel, name: str) -> tuple[str, ...]:
    precision = found.precision
    told = (
        f"precision: {precision.because}"
        if precision.precision is not None
        else f"no precision: {precision.because}; set it, or the container's arguments tell"
    )
    return (f"{name}, from its config.json", told, *found.notes)


def _fail(message: str, *, status: int = 1) -> NoReturn:
    typer.echo(f"ridgeline model: {message}", err=True)
    sys.exit(status)
