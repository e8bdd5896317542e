"""`ridgeline version`."""

import typer

from ridgeline import __version__


def version() -> None:
    """Print the version.

    Example:
      ridgeline version
    """
    typer.echo(__version__)
