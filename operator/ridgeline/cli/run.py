"""`ridgeline run`: the operator itself."""

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ridgeline.cluster.errors import ClusterError
from ridgeline.controller.logs import configure_logging
from ridgeline.controller.run import Operator, stop_on_signals
from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config


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
    """Run the operator until SIGTERM.

    Examples:
      ridgeline run --config config.yaml --kubeconfig ~/.kube/config --log-format plain

    Exit status:
      0 when it was told to stop.
      1 when it cannot begin or go on, its configuration among the reasons, with one line on
        standard error.
      2 for wrong usage.
    """
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


def _fail(message: str) -> NoReturn:
    typer.echo(f"ridgeline: {message}", err=True)
    sys.exit(1)
