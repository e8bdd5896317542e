"""Commands that are imported when they are run: a help or a completion needs none of them."""

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand

from ridgeline.cli.plain import PlainCommand, PlainGroup

PASS_ON: Final = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
"""Settings of a command whose arguments go to a program of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A command by name.

    Attributes:
        name: What is typed.
        module: Where it is.
        attribute: Its function or its app there.
        summary: The first sentence of its docstring, for lists of commands.
        passes_on: Whether its arguments go to a program of its own.
    """

    name: str
    module: str
    attribute: str
    summary: str
    passes_on: bool = False

    def load(self) -> Any:
        """Import the command."""
        found = getattr(import_module(self.module), self.attribute)
        if isinstance(found, typer.Typer):
            group = typer.main.get_group(found)
            group.name = self.name
            return group
        app = typer.Typer(add_completion=False)
        settings = PASS_ON if self.passes_on else None
        app.command(self.name, cls=PlainCommand, context_settings=settings)(found)
        return typer.main.get_command(app)

    def listed(self) -> TyperCommand:
        """Return what stands for it in a list of commands."""
        return TyperCommand(self.name, help=self.summary)


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is looked up."""

    def __init__(self, named: Sequence[Named]) -> None:
        """Load nothing yet."""
        self.named = {each.name: each for each in named}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return a command."""
        if name not in self._loaded:
            self._loaded[name] = self.named[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        """Take a command that is loaded already."""
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        """Forget a command."""
        self.named.pop(name, None)
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        """Give the names, in order."""
        return iter(dict.fromkeys([*self.named, *self._loaded]))

    def __len__(self) -> int:
        """Count the names."""
        return len(set(self.named) | set(self._loaded))


def lazy_group(*named: Named) -> type[PlainGroup]:
    """Return a kind of group that has these commands."""

    class LazyGroup(PlainGroup):
        """Lists its commands without loading them."""

        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            own, self.commands = self.commands, LazyCommands(named)
            self.commands.update(own)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
            return list(self.commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
            known = {each.name: each for each in named}
            return known[cmd_name].listed() if cmd_name in known else self.commands.get(cmd_name)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, _, rest = super().resolve_command(ctx, args)
            return name, None if name is None else self.commands[name], rest

    return LazyGroup
