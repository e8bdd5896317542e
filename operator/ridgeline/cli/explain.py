"""`kubectl ridgeline explain`: what a serving does, and why."""

import asyncio
from dataclasses import replace
from typing import Annotated

import typer

from ridgeline.cli.connection import no_serving
from ridgeline.cli.explain_document import explanation_document
from ridgeline.cli.operator_flags import (
    USUAL_OPERATOR,
    OperatorOption,
    OperatorUrl,
    place_of_flags,
)
from ridgeline.cli.output import Output, OutputForm, dump, show
from ridgeline.cli.page import explanation_page
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail
from ridgeline.cli.prometheus_flags import endpoint_of_flag
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.controller.clock import system_clock
from ridgeline.controller.explain import Explanation
from ridgeline.controller.explain import explain as explain_serving
from ridgeline.controller.explain_operator import OperatorPlace
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import FAST
from ridgeline.telemetry.reader import TelemetryReader


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
    operator: OperatorOption = USUAL_OPERATOR,
    operator_url: OperatorUrl = None,
    output: OutputForm = Output.TABLE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what a serving does, why, where its settings come from, and what happened to it.

    It reads with your rights; what they do not reach is told as not known. Where they reach the
    operator's Service, what its last pass knew and decided is told, and wins.

    Examples:
      kubectl ridgeline explain llama-70b -n inference
      kubectl ridgeline explain llama-70b -o wide --operator-url http://localhost:8080
      kubectl ridgeline explain llama-70b --prometheus http://127.0.0.1:9090 -o json | jq .decision
    """
    try:
        endpoint = endpoint_of_flag(prometheus, name="explain") if prometheus else None
        place = place_of_flags(operator, operator_url)
    except ValueError as error:
        fail(str(error), status=2)
    try:
        found = asyncio.run(_explain(namespace, name, kubeconfig, endpoint, window, place))
    except ClusterError as error:
        fail(str(error))
    if output.is_document:
        dump(explanation_document(found), output)
        return
    show(explanation_page(found, wide=output is Output.WIDE), output)


async def _explain(
    namespace: str | None,
    name: str,
    kubeconfig: str | None,
    endpoint: Endpoint | None,
    window: int,
    place: OperatorPlace | None,
) -> Explanation:
    reader = TelemetryReader(endpoint, window_seconds=window) if endpoint else None
    try:
        async with connected(kubeconfig, namespace) as (api, where):
            try:
                found = await explain_serving(api, where, name, reader, system_clock(), place)
            except NotFoundError as error:
                raise no_serving(where, name) from error
            asked = () if reader is None else tuple((each, reader.promql[each]) for each in FAST)
            return replace(found, asked=asked)
    finally:
        if reader is not None:
            await reader.close()
