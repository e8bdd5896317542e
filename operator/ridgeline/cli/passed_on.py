"""`ridgeline stand-in` and `ridgeline load`: programs that read their arguments themselves."""

import inspect
from collections.abc import Sequence
from typing import Final

import typer

from ridgeline.cli.help_parts import parts_of, tail
from ridgeline.sim import load as load_generator
from ridgeline.sim import stand_in as stand_in_server

_STAND_IN_HELP: Final = """\
Usage: ridgeline stand-in serve MODEL [flags of vllm serve]

A server that stands where `vllm serve` stands: same flags, same deaths, same /metrics. It loads no
model and needs no GPU. What it imitates is set by environment variables, such as
STAND_IN_ENGINE_VERSION (a release of vLLM) and STAND_IN_STARTUP_SECONDS; all of them, and the flags
that it obeys, are in docs/reference/stand-in.md.
"""


def stand_in(context: typer.Context) -> None:
    """Stand where a vLLM server stands: `ridgeline stand-in serve MODEL [vLLM's flags]`.

    Examples:
      STAND_IN_STARTUP_SECONDS=2 ridgeline stand-in serve my/model --port 8000

    Exit status:
      0 when it was told to stop.
      1 or 2 where vLLM would die with it: docs/reference/stand-in.md lists the cases.
    """
    if _asks_for_help(context.args):
        typer.echo(_STAND_IN_HELP)
        typer.echo(tail(parts_of(inspect.getdoc(stand_in) or "")), nl=False)
        return
    raise typer.Exit(stand_in_server.main(context.args))


def load(context: typer.Context) -> None:
    """Send load to OpenAI-compatible servers: closed loop, open loop or from a trace.

    Examples:
      ridgeline load --url http://127.0.0.1:8000 --users 8 --duration 60
      ridgeline load --url http://127.0.0.1:8000 --rate 2.5 --duration 60 --json

    Exit status:
      0 when a request was answered.
      1 when none was.
      2 for wrong usage, a trace that cannot be read among it.
    """
    if not _asks_for_help(context.args):
        raise typer.Exit(load_generator.main(context.args))
    try:
        load_generator.main(["--help"])
    except SystemExit:
        typer.echo()
        typer.echo(tail(parts_of(inspect.getdoc(load) or "")), nl=False)


def _asks_for_help(words: Sequence[str]) -> bool:
    return any(each in ("-h", "--help") for each in words)
