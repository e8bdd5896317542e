"""`kubectl ridgeline explain`: what a serving does, and why."""

import asyncio
import sys
from typing import Annotated

import typer
from rich.console import Console

from ridgeline.cli.connection import no_serving
from ridgeline.cli.explain_document import explanation_document
from ridgeline.cli.output import Output, OutputForm, dump
from ridgeline.cli.page import explanation_page
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail
from ridgeline.cli.prometheus_flags import endpoint_of_flag
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.controller.clock import system_clock
from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain import explain as explain_serving
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader

_PIPED_WIDTH = 160
"""Columns where nobody tells."""


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
    output: OutputForm = Output.TABLE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what a serving does, why, where its settings come from, and what happened to it.

    It reads with your rights; what they do not reach is told as not known.

    Examples:
      kubectl ridgeline explain llama-70b -n inference
      kubectl ridgeline explain llama-70b --prometheus http://127.0.0.1:9090
      kubectl ridgeline explain llama-70b -o json | jq .decision
    """
    try:
        endpoint = endpoint_of_flag(prometheus, name="explain") if prometheus else None
    except ValueError as error:
        fail(str(error), status=2)
    try:
        found = asyncio.run(_explain(namespace, name, kubeconfig, endpoint, window))
    except ClusterError as error:
        fail(str(error))
    if output in (Output.JSON, Output.YAML):
        dump(explanation_document(found), output)
        return
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    Console(width=width).print(explanation_page(found))


async def _explain(
    namespace: str | None,
    name: str,
    kubeconfig: str | None,
    endpoint: Endpoint | None,
    window: int,
) -> Explanation:
    reader = TelemetryReader(endpoint, window_seconds=window) if endpoint else None
    try:
        async with connected(kubeconfig, namespace) as (api, where):
            try:
                return await explain_serving(api, where, name, reader, system_clock())
            except NotFoundError as error:
                raise no_serving(where, name) from error
    finally:
        if reader is not None:
            await reader.close()
