"""`kubectl ridgeline report`: servings of a cluster in one HTML file."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.cutoff_live import live_report
from ridgeline.cli.moments import moment_of
from ridgeline.cli.person import Kubeconfig, Namespace, connected, fail, serving_of
from ridgeline.cli.prometheus_flags import endpoint_of_flag
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, RefusedError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.clock import system_clock
from ridgeline.controller.explain import explain as explain_serving
from ridgeline.controller.ports import TelemetrySource
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.report import Report
from ridgeline.render.report_page import report_page
from ridgeline.render.serving_past import Past, PastPoint
from ridgeline.render.serving_report import ServingReport, servings_report
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.history import LONG_STEP_SECONDS, History, of_target, read_history
from ridgeline.telemetry.reader import TelemetryReader

MOST_SECONDS: Final = 31 * 86_400
"""Farthest back that a report looks."""


def report(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of servings; else all.")
    ] = None,
    namespace: Namespace = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Servings of all namespaces.")
    ] = False,
    prometheus: Annotated[
        str | None, typer.Option(help="Address of Prometheus, to tell where the load is now.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Also draw the load since then: 24h, 7d, or a time such as 2026-11-29T08:00Z.",
        ),
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
      kubectl ridgeline report llama-70b --prometheus http://127.0.0.1:9090 --from 24h
    """
    if names and everywhere:
        fail("name a serving or --all-namespaces, not both", status=2)
    if since is not None and prometheus is None:
        fail("--from needs --prometheus: only a Prometheus knows the load of before", status=2)
    if out.suffix != ".html":
        fail(f"--out {out}: end its name in .html", status=2)
    try:
        endpoint = endpoint_of_flag(prometheus, name="report") if prometheus else None
        seconds = None if since is None else _seconds(since)
    except ValueError as error:
        fail(str(error), status=2)
    try:
        asked = _Asked(
            names=tuple(names or ()),
            everywhere=everywhere,
            endpoint=endpoint,
            window=window,
            seconds=seconds,
        )
        made = asyncio.run(_report(kubeconfig, namespace, asked))
        out.write_text(report_page(made), encoding="utf-8")
    except ClusterError as error:
        fail(str(error))
    except OSError as error:
        fail(f"--out {out} cannot be written: {error.strerror}", status=2)
    typer.echo(f"{out}: {len(made.sections)} servings")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a person asks for.

    Attributes:
        names: Servings; all when empty.
        everywhere: Whether those of all namespaces.
        endpoint: Where to read numbers.
        window: Rate window of the live ones, in seconds.
        seconds: How far back the load is drawn; `None` for not at all.
    """

    names: tuple[str, ...]
    everywhere: bool
    endpoint: Endpoint | None
    window: int
    seconds: int | None


async def _report(kubeconfig: str | None, namespace: str | None, asked: _Asked) -> Report:
    async with connected(kubeconfig, namespace) as (api, where):
        reader = (
            TelemetryReader(asked.endpoint, window_seconds=asked.window) if asked.endpoint else None
        )
        try:
            if asked.names:
                found = [await serving_of(api, where, each) for each in dict.fromkeys(asked.names)]
            else:
                found = list(await LookApi(api).servings(None if asked.everywhere else where))
            history = await _history(asked)
            reports = [
                replace(await serving_report(api, each, reader), past=_past(history, each, asked))
                for each in found
            ]
        finally:
            if reader is not None:
                await reader.close()
    now = datetime.fromtimestamp(system_clock(), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    place = "all namespaces" if asked.everywhere else f"namespace {where}"
    if asked.names:
        place = ", ".join(f"{where}/{each.name}" for each in found)
    return servings_report(reports, place, now)


def _seconds(since: str) -> int:
    """Return how long ago a moment was.

    Raises:
        ValueError: It is none, or lies in the future, or too far back.
    """
    now = system_clock()
    ago = round(now - moment_of("--from", since, now))
    if not LONG_STEP_SECONDS <= ago <= MOST_SECONDS:
        raise ValueError(f"--from {since}: name a time from 5 minutes to 31 days ago")
    return ago


async def _history(asked: _Asked) -> History | None:
    if asked.endpoint is None or asked.seconds is None:
        return None
    return await read_history(
        asked.endpoint,
        system_clock(),
        window_seconds=float(asked.window),
        long_seconds=asked.seconds,
    )


def _past(history: History | None, serving: ServingObject, asked: _Asked) -> Past | None:
    """Return the load of a serving's target, means over five minutes."""
    if history is None or asked.seconds is None:
        return None
    target = str((serving.spec.get("targetRef") or {}).get("name"))
    load = of_target(history.long, serving.namespace, target)
    return Past(
        begins=history.read_at - asked.seconds,
        ends=history.read_at,
        points=tuple(
            PastPoint(
                at=each.at,
                concurrency=each.concurrency / each.engines,
                tokens_per_second=each.tokens_per_second,
            )
            for each in load
            if each.engines > 0
        ),
        step=float(LONG_STEP_SECONDS),
        error=history.error
        or (None if load else f"no sample of the Pods of {target} in that time"),
    )


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
    except (InvalidServing, RefusedError) as error:
        cutoffs = str(error)
    return ServingReport(
        name=f"{serving.namespace}/{serving.name}",
        status=explanation.serving.status,
        events=explanation.events,
        cutoffs=cutoffs,
        concurrency=explanation.concurrency,
        decision=explanation.decision,
    )
