"""`kubectl ridgeline cutoff`: the cut-offs of a serving in a cluster."""

import asyncio

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.connection import no_serving
from ridgeline.cli.cutoff_facts import Stated, report_of_serving
from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.cutoff_output import AsJson, PlotFile, check_plot, put_out
from ridgeline.cli.output import Output, OutputForm
from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError, RefusedError
from ridgeline.cluster.listing import list_within_reach
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.basis import Knowledge
from ridgeline.controller.explain_reach import nodes_of_status
from ridgeline.controller.view import spec_of
from ridgeline.render.cutoff_report import CutoffReport
from ridgeline.render.plots import PlotsNeedMatplotlibError


def cutoff(
    name: ServingName,
    namespace: Namespace = None,
    as_json: AsJson = False,
    output: OutputForm = Output.TABLE,
    plot: PlotFile = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show which profile of a serving is best at which concurrency, how sure that is, and why.

    It rests on what the operator learned of the serving (its status), and reads with your rights.

    Examples:
      kubectl ridgeline cutoff llama-70b -n inference
      kubectl ridgeline cutoff llama-70b -o json
      kubectl ridgeline cutoff llama-70b --plot cutoff.html
    """
    try:
        check_plot(plot)
        report = asyncio.run(_report(namespace, name, kubeconfig))
        put_out(report, Output.JSON if as_json else output, plot=plot)
    except FlagError as error:
        fail(str(error), status=2)
    except (ClusterError, PlotsNeedMatplotlibError) as error:
        fail(str(error), status=1)
    except InvalidServing as error:
        fail(f"{name}: {error}", status=1)


async def _report(namespace: str | None, name: str, kubeconfig: str | None) -> CutoffReport:
    async with connected(kubeconfig, namespace) as (api, where):
        try:
            return await live_report(api, where, name)
        except NotFoundError as error:
            raise no_serving(where, name) from error


async def live_report(api: KubernetesApi, namespace: str, name: str) -> CutoffReport:
    """Look at a serving and return what is shown of its cut-offs.

    Raises:
        NotFoundError: There is no such serving.
        RefusedError: The person's rights do not reach its Deployment.
        ClusterError: The API server refuses, or does not answer.
        InvalidServing: Its spec cannot be read.
    """
    serving = await LookApi(api).serving(namespace, name)
    spec = spec_of(serving)
    store, around = WatchStore(), Surroundings(sees_all_pods=False)
    if "deployments" in await list_within_reach(api, store, namespace, around):
        raise RefusedError(
            f"your rights do not reach Deployments in {namespace}, so nothing can be predicted: "
            "ask for get and list of them, or read the operator's table with explain"
        )
    nodes_of_status(store, serving, around)
    target = spec.target_ref.name
    return report_of_serving(
        serving,
        spec,
        store.deployments.get((namespace, target)),
        store.pods_of(namespace, target),
        Knowledge(around),
        Stated(),
    )
