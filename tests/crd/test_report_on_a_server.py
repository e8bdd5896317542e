"""`kubectl ridgeline report` on a real API server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ridgeline.cli.kubectl import app
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.history import History, LoadPoint
from tests.component.telemetry.past import NAMESPACE, past_prometheus
from tests.crd.kube import Kubectl
from tests.unit.render.test_serving_report import STATUS

SERVING: dict[str, Any] = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculativeServing",
    "metadata": {"name": "llama"},
    "spec": {
        "targetRef": {"name": "llama"},
        "accelerator": "h100-sxm",
        "model": {"name": "meta-llama/Llama-3.1-8B-Instruct"},
        "profiles": [
            {
                "name": "eagle",
                "method": "Eagle3",
                "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
                "numSpeculativeTokens": 3,
            },
            {"name": "none", "method": "Disabled"},
        ],
    },
}


def run(kubectl: Kubectl, *words: str) -> tuple[int, str]:
    where = ["--namespace", kubectl.namespace, "--kubeconfig", str(kubectl.cluster.kubeconfig)]
    result = CliRunner().invoke(app, ["report", *words, *where])
    return result.exit_code, result.output


def test_servings_are_reported_with_curves_and_history(kubectl: Kubectl, tmp_path: Path) -> None:
    assert kubectl.apply(SERVING).code == 0
    patch = json.dumps({"status": {**STATUS, "conditions": []}})
    kubectl.ok("patch", "sps", "llama", "--subresource=status", "--type=merge", "--patch", patch)
    file = tmp_path / "servings.html"
    code, said = run(kubectl, "--out", str(file))
    assert (code, said) == (0, f"{file}: 1 servings\n")
    page = file.read_text()
    assert f"<h1>Servings of namespace {kubectl.namespace}</h1>" in page
    assert "Speed-up by concurrency" in page
    assert "cut-off of eagle: 24" in page
    assert "acts at the end of eagle: 18" in page
    assert "Profile over time, hatched while it rolled" in page
    code, said = run(kubectl, "llama", "--out", str(file))
    assert code == 0
    code, said = run(kubectl, "other", "--out", str(file))
    assert code == 1
    assert said.startswith("kubectl ridgeline: ")


def test_wrong_usage_is_told(kubectl: Kubectl, tmp_path: Path) -> None:
    code, said = run(kubectl, "--out", "x.pdf")
    assert (code, "end its name in .html" in said) == (2, True)
    code, said = run(kubectl, "llama", "-A")
    assert (code, "not both" in said) == (2, True)
    code, said = run(kubectl, "--from", "24h")
    assert (code, "--from needs --prometheus" in said) == (2, True)
    for wrong in ("1m", "90d", "yesterday"):
        code, said = run(kubectl, "--prometheus", "http://127.0.0.1:9", "--from", wrong)
        assert (code, "--from" in said) == (2, True), said
    code, said = run(kubectl, "--out", str(tmp_path / "no" / "x.html"))
    assert (code, "cannot be written" in said) == (2, True)


def test_the_load_of_before_is_drawn_for_each_named_serving(
    kubectl: Kubectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def read(endpoint: Endpoint, now: float, **how: Any) -> History:
        asked.append(how["long_seconds"])
        points = tuple(
            LoadPoint(at=now - 300.0 * back, tokens_per_second=90.0, concurrency=8.0, engines=2)
            for back in range(12, 0, -1)
        )
        return History(read_at=now, long={(kubectl.namespace, "llama"): points})

    monkeypatch.setattr("ridgeline.cli.report.read_history", read)
    other = {**SERVING, "metadata": {"name": "other"}}
    other["spec"] = {**SERVING["spec"], "targetRef": {"name": "other"}}
    for each in (SERVING, other):
        assert kubectl.apply(each).code == 0
        patch = json.dumps({"status": {**STATUS, "conditions": []}})
        name = each["metadata"]["name"]
        kubectl.ok("patch", "sps", name, "--subresource=status", "--type=merge", "--patch", patch)
    file = tmp_path / "servings.html"
    where = ("--prometheus", "http://127.0.0.1:9", "--from", "24h", "--out", str(file))
    code, said = run(kubectl, "llama", "other", *where)
    assert (code, said) == (0, f"{file}: 2 servings\n")
    assert asked == [86_400]
    page = file.read_text()
    assert page.count("Concurrency over time, with the cut-off of now</figcaption>") == 1
    assert "no sample of the Pods of other in that time" in page
    assert "4 to 4" in page


@pytest.fixture
def inference(server: Kubectl) -> Kubectl:
    """The namespace of the Pods that the Prometheus with a past knows."""
    # The docs use it as well, on the same server.
    made = server.run("create", "namespace", NAMESPACE)
    assert made.code == 0 or "AlreadyExists" in made.err
    return Kubectl(server.cluster, NAMESPACE)


@pytest.mark.prometheus
def test_the_load_of_before_is_read_from_a_prometheus(
    inference: Kubectl, tmp_path: Path, prometheus_binary: Path
) -> None:
    """Two Pods of 4 and 8 requests, and after a roll two of 24 and 30."""
    assert inference.apply(SERVING).code == 0
    file = tmp_path / "servings.html"
    with past_prometheus(tmp_path, prometheus_binary) as past:
        where = ("--prometheus", past.url, "--out", str(file))
        code, said = run(inference, "llama", *where, "--from", "3h")
        assert (code, said) == (0, f"{file}: 1 servings\n")
        text = re.sub(r"<[^>]*>", " ", file.read_text())
        # The serving has the load of its own target alone: llama-70b has 2 and 3.
        assert "Concurrency over time, with the cut-off of now" in text, text
        found = re.search(r"Requests in decode per engine, (\S+) to (\S+);", text)
        assert found is not None, text
        assert (float(found[1]), float(found[2])) == pytest.approx((6, 27), rel=0.05)
