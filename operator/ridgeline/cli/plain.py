"""Commands that tell in plain words: their help, and what is wrong with an option.

Help is text without boxes: it is as wide as a line may be, and what stands in it can be copied.
"""

import errno
import os
import sys
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ridgeline.cli.help_parts import parts_of, tail

_PREFIX: Final = "Value error, "

_STANDARD_OUTPUT: Final = 1
"""Its file descriptor."""


class PlainCommand(TyperCommand):
    """A command whose help ends with examples and exit statuses, as its docstring has them."""

    def __init__(self, *, help: str | None = None, **attributes: Any) -> None:
        """Read the docstring; see click."""
        self.parts = parts_of(help or "")
        super().__init__(help=self.parts.about, **{**attributes, "rich_markup_mode": None})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; see click."""
        super().format_help(ctx, formatter)
        formatter.write(f"\n{tail(self.parts)}")


class PlainGroup(TyperGroup):
    """A group with such a help, whose commands say what is wrong with an option in plain words."""

    def __init__(self, *, help: str | None = None, **attributes: Any) -> None:
        """Read the docstring; see click."""
        self.parts = parts_of(help or "")
        super().__init__(help=self.parts.about, **{**attributes, "rich_markup_mode": None})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; see click."""
        super().format_help(ctx, formatter)
        formatter.write(f"\n{tail(self.parts)}")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with the whole first sentence of its help; see click."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, (each.help or "").partition("\n")[0])
            for name, each in listed
            if each is not None and not each.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named; see click."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PREFIX)
            raise
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            print(f"ridgeline: the output cannot be written: {error.strerror}", file=sys.stderr)
            # What waits in the buffer would be tried again at the end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_OUTPUT)
            raise typer.Exit(1) from None
        return result
