"""What wrong options are told as: without the words of the library that reads them."""

from typing import Any, Final

import typer
from typer.core import TyperGroup

_PREFIX: Final = "Value error, "


class PlainGroup(TyperGroup):
    """A group whose commands say what is wrong with an option in plain words."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named; see click."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PREFIX)
            raise
