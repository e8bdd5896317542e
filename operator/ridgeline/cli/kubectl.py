"""`kubectl ridgeline …`: what a person asks about a serving."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from ridgeline import __version__
from ridgeline.cli.page import explanation_page
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.controller.clock import system_clock
from ridgeline.controller.explain import explain as explain_serving
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader

app = typer.Typer(
    name="kubectl ridgeline",
    help="Asks ridgeline's servings what they do and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main() -> None:
    """Asks ridgeline's servings what they do and why."""


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="Name of the SpeculativeServing.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")] = "default",
    prometheus: Annotated[
        str | None,
        typer.Option(help="Address of Prometheus, to compare live numbers."),
    ] = None,
    window: Annotated[
        int, typer.Option(min=4, max=3600, help="Rate window of the live numbers, in seconds.")
    ] = 120,
    kubeconfig: Annotated[
        str | None, typer.Option(envvar="KUBECONFIG", help="Kubeconfig file.")
    ] = None,
) -> None:
    """Show what a serving does, why, where its settings come from, and what happened to it."""
    try:
        endpoint = Endpoint(name="explain", url=prometheus) if prometheus else None
    except ValueError as error:
        _fail(f"--prometheus: {error}")
    try:
        asyncio.run(_explain(namespace, name, kubeconfig, endpoint, window))
    except NotFoundError:
        _fail(
            f"there is no SpeculativeServing {name!r} in namespace {namespace!r}; "
            "see kubectl get sps --all-namespaces"
        )
    except ClusterError as error:
        _fail(str(error))


async def _explain(
    namespace: str, name: str, kubeconfig: str | None, endpoint: Endpoint | None, window: int
) -> None:
    api = await KubernetesApi.connect(
        kubeconfig or _usual_kubeconfig(), user_agent=f"kubectl-ridgeline/{__version__}"
    )
    reader = TelemetryReader(endpoint, window_seconds=window) if endpoint else None
    try:
        explanation = await explain_serving(api, namespace, name, reader, system_clock())
    finally:
        if reader is not None:
            await reader.close()
        await api.close()
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(explanation_page(explanation))


def _usual_kubeconfig() -> str | None:
    usual = Path(os.path.expanduser("~/.kube/config"))
    return str(usual) if usual.exists() else None


def _fail(message: str) -> NoReturn:
    typer.echo(f"kubectl ridgeline: {message}", err=True)
    sys.exit(1)
