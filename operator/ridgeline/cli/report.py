"""`kubectl ridgeline report`: servings of a cluster in one HTML file."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.cutoff_live import live_report
from ridgeline.cli.person import Kubeconfig, Namespace, connected, fail, serving_of
from ridgeline.cli.prometheus_flags import endpoint_of_flag
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.clock import system_clock
from ridgeline.controller.explain import explain as explain_serving
from ridgeline.controller.ports import TelemetrySource
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.report import Report
from ridgeline.render.report_page import report_page
from ridgeline.render.serving_report import ServingReport, servings_report
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader


def report(
    name: Annotated[str | None, typer.Argument(help="Name of one serving; else all.")] = None,
    namespace: Namespace = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Servings of all namespaces.")
    ] = False,
    prometheus: Annotated[
        str | None, typer.Option(help="Address of Prometheus, to tell where the load is now.")
    ] = None,
    window: Annotated[
        int, typer.Option(min=4, max=3600, help="Rate window of the live numbers, in seconds.")
    ] = 120,
    out: Annotated[Path, typer.Option("--out", help="File to write, .html.")] = Path(
        "ridgeline.html"
    ),
    kubeconfig: Kubeconfig = None,
) -> None:
    """Write what servings do, and why, into one HTML file that needs nothing else.

    It reads with your rights; what those do not reach is said to be unknown.

    Examples:
      kubectl ridgeline report -A --out servings.html
      kubectl ridgeline report llama-70b --prometheus http://127.0.0.1:9090
    """
    if name is not None and everywhere:
        fail("name a serving or --all-namespaces, not both", status=2)
    if out.suffix != ".html":
        fail(f"--out {out}: end its name in .html", status=2)
    try:
        endpoint = endpoint_of_flag(prometheus, name="report") if prometheus else None
    except ValueError as error:
        fail(str(error), status=2)
    try:
        made = asyncio.run(_report(kubeconfig, namespace, name, endpoint, window, everywhere))
        out.write_text(report_page(made), encoding="utf-8")
    except ClusterError as error:
        fail(str(error))
    except OSError as error:
        fail(f"--out {out} cannot be written: {error.strerror}")
    typer.echo(f"{out}: {len(made.sections)} servings")


async def _report(
    kubeconfig: str | None,
    namespace: str | None,
    name: str | None,
    endpoint: Endpoint | None,
    window: int,
    everywhere: bool,
) -> Report:
    async with connected(kubeconfig, namespace) as (api, where):
        reader = TelemetryReader(endpoint, window_seconds=window) if endpoint else None
        try:
            if name is not None:
                found: tuple[ServingObject, ...] = (await serving_of(api, where, name),)
            else:
                found = await LookApi(api).servings(None if everywhere else where)
            reports = [await serving_report(api, each, reader) for each in found]
        finally:
            if reader is not None:
                await reader.close()
    now = datetime.fromtimestamp(system_clock(), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    place = "all namespaces" if everywhere else f"namespace {where}"
    return servings_report(reports, place if name is None else f"{where}/{name}", now)


async def serving_report(
    api: KubernetesApi, serving: ServingObject, reader: TelemetrySource | None
) -> ServingReport:
    """Look at a serving; what cannot be told of it is said in its report.

    Raises:
        ClusterError: The API server refuses, or does not answer.
    """
    explanation = await explain_serving(
        api, serving.namespace, serving.name, reader, system_clock()
    )
    cutoffs: CutoffReport | str
    try:
        cutoffs = await live_report(api, serving.namespace, serving.name)
    except InvalidServing as error:
        cutoffs = str(error)
    return ServingReport(
        name=f"{serving.namespace}/{serving.name}",
        status=explanation.serving.status,
        events=explanation.events,
        cutoffs=cutoffs,
        concurrency=explanation.concurrency,
        decision=explanation.decision,
    )
