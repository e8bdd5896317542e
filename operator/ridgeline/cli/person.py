"""A connection of `kubectl ridgeline` to a cluster: a person's file, namespace and rights."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, NoReturn

import typer

from ridgeline import __version__
from ridgeline.cli.connection import no_serving, usual_kubeconfig
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject

ServingName = Annotated[str, typer.Argument(help="Name of the SpeculativeServing.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Its namespace; else the context's.")
]
Kubeconfig = Annotated[str | None, typer.Option(envvar="KUBECONFIG", help="Kubeconfig file.")]


@asynccontextmanager
async def connected(
    kubeconfig: str | None, namespace: str | None
) -> AsyncIterator[tuple[KubernetesApi, str]]:
    """Give a connection and the namespace that is meant.

    Raises:
        ClusterError: The file cannot be read, or the API server does not answer.
    """
    path = kubeconfig or usual_kubeconfig()
    try:
        where = namespace or await KubernetesApi.usual_namespace(path)
        api = await KubernetesApi.connect(path, user_agent=f"kubectl-ridgeline/{__version__}")
    except RecursionError as error:
        raise ClusterError(
            f"kubeconfig {path} cannot be read: it has brackets without end"
        ) from error
    try:
        yield api, where
    finally:
        await api.close()


async def serving_of(api: KubernetesApi, namespace: str, name: str) -> ServingObject:
    """Read a serving.

    Raises:
        ClusterError: There is none, or it may not be read; the message has the way out.
    """
    try:
        return await LookApi(api).serving(namespace, name)
    except NotFoundError as error:
        raise no_serving(namespace, name) from error


def fail(message: str, *, status: int = 1) -> NoReturn:
    """End with one line on standard error."""
    typer.echo(f"kubectl ridgeline: {message}", err=True)
    sys.exit(status)
