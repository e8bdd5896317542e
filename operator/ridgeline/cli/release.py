"""`kubectl ridgeline release`: what the operator owns in a target is given up."""

import asyncio
from typing import Annotated

import typer

from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail, serving_of
from ridgeline.cluster.errors import ClusterError
from ridgeline.cluster.parent_target import ParentTargetApi
from ridgeline.terms.parents import ParentKind


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

    Examples:
      kubectl ridgeline release llama-70b -n inference
      kubectl ridgeline release llama-70b --yes
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
        # What was written through a parent is given up there, by the person's own rights.
        targets = ParentTargetApi(api, frozenset(ParentKind))
        target = (serving.spec.get("targetRef") or {}).get("name", "")
        deployment = await targets.release(await targets.read(where, str(target)))
    return deployment.name
