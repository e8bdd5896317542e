"""`kubectl ridgeline …`: what a person asks about a serving."""

import asyncio
from typing import Annotated

import typer

from ridgeline.cli.cutoff_live import cutoff
from ridgeline.cli.explain import explain
from ridgeline.cli.orders import force, resume, suspend
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail, serving_of
from ridgeline.cli.plain import PlainGroup
from ridgeline.cli.report import report
from ridgeline.cli.status import history, status
from ridgeline.cluster.errors import ClusterError
from ridgeline.cluster.parent_target import ParentTargetApi
from ridgeline.terms.parents import ParentKind

app = typer.Typer(
    name="kubectl ridgeline",
    cls=PlainGroup,
    help="Asks ridgeline's servings what they do and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(explain)
app.command()(status)
app.command()(history)
app.command()(cutoff)
app.command()(report)
app.command()(force)
app.command()(suspend)
app.command()(resume)


@app.callback()
def main() -> None:
    """Asks ridgeline's servings what they do and why."""


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
        # What was written through a parent is given up there, by the person's own rights.
        targets = ParentTargetApi(api, frozenset(ParentKind))
        target = (serving.spec.get("targetRef") or {}).get("name", "")
        deployment = await targets.release(await targets.read(where, str(target)))
    return deployment.name
