"""`kubectl ridgeline cutoff`: a serving in a cluster, read with a person's rights."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline.api.errors import InvalidServing
from ridgeline.cli.cutoff_live import live_report
from ridgeline.cli.kubectl import app
from ridgeline.cluster.errors import NotFoundError, RefusedError
from ridgeline.costmodel.table import CutoffTable
from ridgeline.render.cutoff_report import Predicted
from tests.unit.cli.test_cutoff_command import DEPLOYMENT, LEARNED, SERVING

NODE: dict[str, Any] = {
    "metadata": {
        "name": "node",
        "uid": "node",
        "resourceVersion": "1",
        "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
POD: dict[str, Any] = {
    "metadata": {
        "namespace": "inference",
        "name": "llama-1-x",
        "uid": "pod",
        "resourceVersion": "1",
        "labels": {"pod-template-hash": "1"},
        "ownerReferences": [{"controller": True, "kind": "ReplicaSet", "name": "llama-1"}],
    },
    "spec": {"nodeName": "node", "containers": []},
}


def stored(body: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**body, "metadata": {**metadata, **body["metadata"]}}


class Api:
    """An API server with a few objects; it only answers reads."""

    def __init__(self, serving: Mapping[str, Any], *, sees_nodes: bool = True) -> None:
        self._sees_nodes = sees_nodes
        self._serving = stored(serving)
        self._listed = {
            "speculativeservings": [self._serving],
            "deployments": [stored(DEPLOYMENT)],
            "pods": [POD],
            "nodes": [NODE],
        }

    async def request(self, method: str, path: str, **_: Any) -> dict[str, Any]:
        assert method == "GET"
        if not path.endswith("/llama"):
            raise NotFoundError(path)
        return self._serving

    async def pages(self, path: str, **_: Any) -> AsyncIterator[list[dict[str, Any]]]:
        kind = path.rpartition("/")[2]
        if kind == "nodes" and not self._sees_nodes:
            raise RefusedError("nodes is forbidden")
        yield self._listed.get(kind, [])


async def test_nodes_status_and_deployment_tell_what_the_controller_knows() -> None:
    api = Api({**SERVING, "status": {"learned": learned_on("a100-sxm-80gb")}})
    report = await live_report(api, "inference", "llama")  # type: ignore[arg-type]
    assert report.subject == "inference/llama"
    facts = dict(report.facts)
    assert facts["accelerator"].startswith("a100-sxm-80gb")
    assert facts["engine"] == "vLLM 0.24.0"
    assert isinstance(report.table, CutoffTable)
    assert isinstance(report.predicted, Predicted)
    assert report.predicted.workload.context_tokens == 480
    eagle = report.predicted.profiles[0]
    assert eagle.calibrated
    assert eagle.points[0].tpot_seconds is not None
    assert eagle.arm.acceptance is not None
    assert eagle.arm.acceptance.rates == (0.7, 0.45, 0.25)


def learned_on(gpu: str) -> dict[str, Any]:
    return {**LEARNED, "basis": str(LEARNED["basis"]).replace("h100-sxm", gpu)}


async def test_who_may_not_read_nodes_is_told_what_is_missing() -> None:
    api = Api(SERVING, sees_nodes=False)
    report = await live_report(api, "inference", "llama")  # type: ignore[arg-type]
    assert isinstance(report.table, str)
    assert "spec.accelerator" in report.table
    assert report.predicted == report.table


async def test_who_may_not_read_deployments_gets_no_prediction_that_leaves_them_out() -> None:
    class Hidden(Api):
        async def pages(self, path: str, **how: Any) -> AsyncIterator[list[dict[str, Any]]]:
            if path.endswith("/deployments"):
                raise RefusedError("deployments is forbidden")
            async for page in super().pages(path, **how):
                yield page

    with pytest.raises(RefusedError, match="your rights do not reach Deployments in inference"):
        await live_report(Hidden(SERVING), "inference", "llama")  # type: ignore[arg-type]


async def test_nodes_that_may_not_be_read_have_the_labels_that_the_operator_wrote_down() -> None:
    labels = ["nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB"]
    status = {"accelerator": {"name": "a100-sxm-80gb", "labels": labels}}
    api = Api({**SERVING, "status": status}, sees_nodes=False)
    report = await live_report(api, "inference", "llama")  # type: ignore[arg-type]
    assert dict(report.facts)["accelerator"].startswith("a100-sxm-80gb")
    assert isinstance(report.predicted, Predicted)


async def test_a_serving_that_is_not_there_or_not_readable_is_refused() -> None:
    with pytest.raises(NotFoundError):
        await live_report(Api(SERVING), "inference", "other")  # type: ignore[arg-type]
    wrong = {**SERVING, "spec": {**SERVING["spec"], "profiles": []}}
    with pytest.raises(InvalidServing, match=r"spec\.profiles"):
        await live_report(Api(wrong), "inference", "llama")  # type: ignore[arg-type]


def test_an_unreachable_api_server_is_told_in_one_line(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
        '{cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], '
        "users: [{name: u, user: {token: t}}]}"
    )
    result = CliRunner().invoke(app, ["cutoff", "llama", "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 1
    assert "did not answer" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    result = CliRunner().invoke(app, ["cutoff", "llama", "--plot", "x.pdf"])
    assert result.exit_code == 2
    assert "--plot x.pdf" in result.stderr
