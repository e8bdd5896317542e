"""`kubectl ridgeline status|history`: what servings do now, and what was switched."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.live import Live

from ridgeline.cli.output import Output, OutputForm, dump
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail, serving_of
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError, UnavailableError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.clock import system_clock
from ridgeline.render.serving import lines_table
from ridgeline.render.servings import Document, serving_document, servings_table

_PIPED_WIDTH: Final = 200
"""Columns where nobody tells: piped output is not folded at 80."""


def status(
    name: Annotated[str | None, typer.Argument(help="Name of one serving; else all.")] = None,
    namespace: Namespace = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Servings of all namespaces.")
    ] = False,
    output: OutputForm = Output.TABLE,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show the table live until interrupted.")
    ] = False,
    interval: Annotated[
        float, typer.Option(min=1.0, max=3600.0, help="Seconds between two looks with --watch.")
    ] = 5.0,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what each serving runs, what it should run, and why.

    Examples:
      kubectl ridgeline status -A
      kubectl ridgeline status llama-70b --watch
      kubectl ridgeline status -o json | jq '.[] | select(.stalled)'
    """
    if name is not None and everywhere:
        fail("name a serving or --all-namespaces, not both", status=2)
    if watch and output in (Output.JSON, Output.YAML):
        fail("--watch shows a table: -o table or -o wide", status=2)
    look = _Look(name=name, namespace=namespace, everywhere=everywhere, kubeconfig=kubeconfig)
    try:
        if watch:
            asyncio.run(_watch(look, wide=output is Output.WIDE, interval=interval))
        else:
            _print(asyncio.run(look.once()), output)
    except ClusterError as error:
        fail(str(error))
    except KeyboardInterrupt:
        return


def history(
    name: ServingName,
    namespace: Namespace = None,
    output: OutputForm = Output.TABLE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the last switches of a serving: when, from what to what, and why.

    Example:
      kubectl ridgeline history llama-70b
    """
    try:
        serving = asyncio.run(_one(kubeconfig, namespace, name))
    except ClusterError as error:
        fail(str(error))
    switches = list(serving.status.get("switchHistory") or ())
    if output in (Output.JSON, Output.YAML):
        dump(switches, output)
        return
    rows = [
        (
            str(each.get("startTime", "-")),
            str(each.get("finishTime", "running")),
            str(each.get("from", "unknown")),
            str(each.get("to", "-")),
            str(each.get("reason", "-")),
        )
        for each in switches
    ]
    title = f"Switches of {serving.namespace}/{serving.name}"
    if not rows:
        typer.echo(f"{title}: none yet")
        return
    _console().print(lines_table(title, ("decided", "ended", "from", "to", "reason"), rows))


async def _one(kubeconfig: str | None, namespace: str | None, name: str) -> ServingObject:
    async with connected(kubeconfig, namespace) as (api, where):
        return await serving_of(api, where, name)


class _Look:
    """What is looked at, and whose eyes are used."""

    def __init__(
        self, *, name: str | None, namespace: str | None, everywhere: bool, kubeconfig: str | None
    ) -> None:
        self._name, self._everywhere = name, everywhere
        self._namespace, self._kubeconfig = namespace, kubeconfig

    async def once(self) -> list[Document]:
        async with self.connected() as (api, where):
            return await self.at(api, where)

    def connected(self) -> Any:
        return connected(self._kubeconfig, self._namespace)

    async def at(self, api: KubernetesApi, where: str) -> list[Document]:
        return [
            serving_document(each.namespace, each.name, each.spec, each.status)
            for each in await self._found(api, where)
        ]

    async def _found(self, api: KubernetesApi, where: str) -> Sequence[ServingObject]:
        if self._name is not None:
            return (await serving_of(api, where, self._name),)
        try:
            return await LookApi(api).servings(None if self._everywhere else where)
        except NotFoundError as error:
            raise ClusterError(
                "the cluster does not know SpeculativeServings: install ridgeline's CRDs"
            ) from error


async def _watch(look: _Look, *, wide: bool, interval: float) -> None:
    async with look.connected() as (api, where):
        with Live(console=_console(), refresh_per_second=4) as live:
            while True:
                try:
                    documents = await look.at(api, where)
                except UnavailableError as error:
                    live.console.print(f"kubectl ridgeline: {error}; looking again")
                else:
                    live.update(servings_table(documents, wide=wide, now=system_clock()))
                await asyncio.sleep(interval)


def _print(documents: Sequence[Document], output: Output) -> None:
    if output in (Output.JSON, Output.YAML):
        dump(documents, output)
    elif documents:
        wide = output is Output.WIDE
        _console().print(servings_table(documents, wide=wide, now=system_clock()))
    else:
        typer.echo("no SpeculativeServing found; -A looks in all namespaces")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
