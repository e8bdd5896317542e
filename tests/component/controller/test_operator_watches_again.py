"""The operator outlives the loss of what it watches: a CRD that goes and comes back."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ridgeline.controller.run import Operator
from ridgeline.settings.config import parse_config
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options
from tests.cluster.paths import REPO
from tests.cluster.progress import Silent
from tests.cluster.provide import provided
from tests.cluster.spec import Level

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(280)]

CRDS = REPO / "crds"
SERVING = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculativeServing",
    "metadata": {"name": "llama", "namespace": "default"},
    "spec": {
        "targetRef": {"name": "nowhere"},
        "profiles": [
            {"name": "eagle", "method": "Eagle", "model": "o/h", "numSpeculativeTokens": 4},
            {"name": "none", "method": "Disabled"},
        ],
    },
}


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """A control plane of this module's own, since it takes the CRDs away."""
    with provided(Options(level=Level.CONTROL_PLANE), Silent()) as cluster:
        yield cluster


@pytest.fixture
async def operator(own_cluster: Cluster) -> AsyncIterator[asyncio.Task[None]]:
    """An operator that runs in this process, with a Prometheus that is not there."""
    config = parse_config(
        {
            "tickSeconds": 1,
            "port": 0,
            "relistSeconds": 10,
            "lease": {"namespace": "default", "durationSeconds": 5},
            "telemetry": [{"url": "http://127.0.0.1:9"}],
        }
    )
    install(own_cluster)
    stop = asyncio.Event()
    task = asyncio.create_task(Operator(config, str(own_cluster.kubeconfig)).run(stop))
    yield task
    stop.set()
    await asyncio.wait_for(task, 30)


def install(cluster: Cluster) -> None:
    for file in sorted(Path(CRDS).glob("*.yaml")):
        cluster.kubectl("apply", "-f", str(file))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")


async def until(found: Callable[[], object], task: asyncio.Task[None], what: str) -> None:
    for _ in range(300):
        if task.done():
            task.result()
            raise AssertionError("the operator ended")
        if await asyncio.to_thread(found):
            return
        await asyncio.sleep(0.3)
    raise TimeoutError(what)


def reason(cluster: Cluster) -> Any:
    try:
        found = cluster.kubectl("get", "sps", "llama", "-n", "default")
    except ClusterError:
        return None
    return (found.get("status") or {}).get("lastDecision", {}).get("reason")


async def test_a_crd_that_goes_and_comes_back_is_watched_again(
    own_cluster: Cluster, operator: asyncio.Task[None], caplog: pytest.LogCaptureFixture
) -> None:
    def served() -> bool:
        return bool(reason(own_cluster) == "TargetNotFound")

    own_cluster.kubectl("apply", "-f", "-", input_object=SERVING)
    await until(served, operator, "the first status")

    await asyncio.to_thread(
        own_cluster.kubectl, "delete", "crd", "speculativeservings.ridgeline.dev"
    )
    await until(lambda: "start again" in caplog.text, operator, "the end of the streams")

    await asyncio.to_thread(install, own_cluster)
    own_cluster.kubectl("apply", "-f", "-", input_object=SERVING)
    await until(served, operator, "a status after the return")
