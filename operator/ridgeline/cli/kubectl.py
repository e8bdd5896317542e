"""`kubectl ridgeline …`: what a person asks about a serving."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ridgeline import __version__
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.look import LookApi
from ridgeline.render.serving import serving_page

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
    kubeconfig: Annotated[
        str | None, typer.Option(envvar="KUBECONFIG", help="Kubeconfig file.")
    ] = None,
) -> None:
    """Show what a serving does, why, and what happened to it."""
    try:
        asyncio.run(_explain(namespace, name, kubeconfig))
    except NotFoundError:
        _fail(
            f"there is no SpeculativeServing {name!r} in namespace {namespace!r}; "
            "see kubectl get sps --all-namespaces"
        )
    except ClusterError as error:
        _fail(str(error))


async def _explain(namespace: str, name: str, kubeconfig: str | None) -> None:
    api = await KubernetesApi.connect(
        kubeconfig or _usual_kubeconfig(), user_agent=f"kubectl-ridgeline/{__version__}"
    )
    try:
        look = LookApi(api)
        serving = await look.serving(namespace, name)
        events = await look.events(serving)
    finally:
        await api.close()
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(serving_page(f"{namespace}/{name}", serving.status, events))


def _usual_kubeconfig() -> str | None:
    usual = Path(os.path.expanduser("~/.kube/config"))
    return str(usual) if usual.exists() else None


def _fail(message: str) -> None:
    typer.echo(f"kubectl ridgeline: {message}", err=True)
    sys.exit(1)
