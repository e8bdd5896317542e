"""`kubectl ridgeline …`: what a person asks about a serving."""

import asyncio
import sys
from typing import Annotated

import typer
from rich.console import Console

from ridgeline.cli.connection import no_serving
from ridgeline.cli.cutoff_live import cutoff
from ridgeline.cli.orders import force, resume, suspend
from ridgeline.cli.page import explanation_page
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail, serving_of
from ridgeline.cli.prometheus_flags import endpoint_of_flag
from ridgeline.cli.status import history, status
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.target import TargetApi
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

app.command()(status)
app.command()(history)
app.command()(cutoff)
app.command()(force)
app.command()(suspend)
app.command()(resume)


@app.callback()
def main() -> None:
    """Asks ridgeline's servings what they do and why."""


@app.command()
def explain(
    name: ServingName,
    namespace: Namespace = None,
    prometheus: Annotated[
        str | None,
        typer.Option(help="Address of Prometheus, to compare live numbers."),
    ] = None,
    window: Annotated[
        int, typer.Option(min=4, max=3600, help="Rate window of the live numbers, in seconds.")
    ] = 120,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what a serving does, why, where its settings come from, and what happened to it."""
    try:
        endpoint = endpoint_of_flag(prometheus, name="explain") if prometheus else None
    except ValueError as error:
        fail(str(error), status=2)
    try:
        asyncio.run(_explain(namespace, name, kubeconfig, endpoint, window))
    except ClusterError as error:
        fail(str(error))


async def _explain(
    namespace: str | None,
    name: str,
    kubeconfig: str | None,
    endpoint: Endpoint | None,
    window: int,
) -> None:
    reader = TelemetryReader(endpoint, window_seconds=window) if endpoint else None
    try:
        async with connected(kubeconfig, namespace) as (api, where):
            try:
                explanation = await explain_serving(api, where, name, reader, system_clock())
            except NotFoundError as error:
                raise no_serving(where, name) from error
    finally:
        if reader is not None:
            await reader.close()
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(explanation_page(explanation))


@app.command()
def release(
    name: ServingName,
    namespace: Namespace = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Also when the serving is not suspended.")
    ] = False,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give up what the operator owns in a serving's target: Git's default applies again.

    Kubernetes rolls the target once, when it ran another profile. Suspend the serving first; else
    the operator sees its profile undone, and says so.
    """
    try:
        released = asyncio.run(_release(namespace, name, kubeconfig, yes=yes))
    except ClusterError as error:
        fail(str(error))
    typer.echo(f"deployment {released} released: env item, label and annotation are Git's again")


async def _release(namespace: str | None, name: str, kubeconfig: str | None, *, yes: bool) -> str:
    async with connected(kubeconfig, namespace) as (api, where):
        serving = await serving_of(api, where, name)
        if not (yes or serving.spec.get("suspend")):
            raise ClusterError(
                f"{where}/{name} is not suspended: set spec.suspend to true first, or repeat with "
                "--yes (the target is rolled to Git's default)"
            )
        targets = TargetApi(api)
        target = (serving.spec.get("targetRef") or {}).get("name", "")
        deployment = await targets.release(await targets.read(where, str(target)))
    return deployment.name
