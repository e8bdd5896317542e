"""`ridgeline …`: the operator itself, and the tools that stand beside it."""

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from ridgeline import __version__
from ridgeline.cli.advise import EPILOG as ADVISE_EPILOG
from ridgeline.cli.advise import advise
from ridgeline.cli.calibrate import app as calibrate_app
from ridgeline.cli.check import check
from ridgeline.cli.cutoff import cutoff
from ridgeline.cli.lint import lint
from ridgeline.cli.model import app as model_app
from ridgeline.cli.plain import PlainGroup
from ridgeline.cli.record import app as record_app
from ridgeline.cli.replay import replay
from ridgeline.cli.simulate import simulate
from ridgeline.cluster.errors import ClusterError
from ridgeline.controller.logs import configure_logging
from ridgeline.controller.run import Operator, stop_on_signals
from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config
from ridgeline.sim import load as load_generator
from ridgeline.sim import stand_in as stand_in_server

app = typer.Typer(
    name="ridgeline",
    cls=PlainGroup,
    help="Keeps vLLM Deployments on the speculation profile that is best for their load.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(record_app, name="record")
app.add_typer(calibrate_app, name="calibrate")
app.add_typer(model_app, name="model")
app.command(epilog=ADVISE_EPILOG)(advise)
app.command()(cutoff)
app.command()(lint)
app.command()(check)
app.command()(simulate)
app.command()(replay)


class LogLevel(StrEnum):
    """Levels of the log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """Forms of the log."""

    JSON = "json"
    PLAIN = "plain"


_STAND_IN_HELP: Final = """\
Usage: ridgeline stand-in serve MODEL [flags of vllm serve]

A server that stands where `vllm serve` stands: same flags, same deaths, same /metrics. It loads no
model and needs no GPU. What it imitates is set by environment variables, such as
STAND_IN_ENGINE_VERSION (a release of vLLM) and STAND_IN_STARTUP_SECONDS; all of them, and the flags
that it obeys, are in docs/reference/stand-in.md.

Example:
  STAND_IN_STARTUP_SECONDS=2 ridgeline stand-in serve my/model --port 8000"""

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command()
def run(
    config: Annotated[Path, typer.Option(help="Configuration file (YAML).")] = Path(
        "/etc/ridgeline/config.yaml"
    ),
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            envvar="KUBECONFIG", help="Kubeconfig file; without one, the Pod's service account."
        ),
    ] = None,
    log_level: Annotated[
        LogLevel, typer.Option(help="Least level that is logged.")
    ] = LogLevel.INFO,
    log_format: Annotated[
        LogFormat, typer.Option(help="One JSON object a line, or plain text.")
    ] = LogFormat.JSON,
) -> None:
    """Run the operator until SIGTERM."""
    configure_logging(log_level.value, as_json=log_format is LogFormat.JSON)
    try:
        asyncio.run(_run(load_config(config), kubeconfig, config))
    except (InvalidConfigError, ClusterError) as error:
        _fail(str(error))
    except ExceptionGroup as group:
        known, other = group.split(ClusterError)
        if other is not None or known is None:
            raise
        _fail("; ".join(str(each) for each in known.exceptions))


async def _run(config: OperatorConfig, kubeconfig: str | None, config_file: Path) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    await Operator(config, kubeconfig, config_file).run(stop)


@app.command(context_settings=_PASS_ON)
def stand_in(context: typer.Context) -> None:
    """Stand where a vLLM server stands: `ridgeline stand-in serve MODEL [vLLM's flags]`."""
    if any(each in ("-h", "--help") for each in context.args):
        typer.echo(_STAND_IN_HELP)
        return
    raise typer.Exit(stand_in_server.main(context.args))


@app.command(context_settings=_PASS_ON)
def load(context: typer.Context) -> None:
    """Send load to OpenAI-compatible servers: closed loop, open loop or from a trace."""
    raise typer.Exit(load_generator.main(context.args))


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def _fail(message: str) -> None:
    typer.echo(f"ridgeline: {message}", err=True)
    sys.exit(1)
