"""`kubectl ridgeline explain` on a real API server, by accounts that may not read everything."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.cli.kubectl import app
from tests.crd.kube import Kubectl

PRODUCT = "NVIDIA-H100-80GB-HBM3"
SERVING: dict[str, Any] = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "SpeculativeServing",
    "metadata": {"name": "llama"},
    "spec": {
        "targetRef": {"name": "llama"},
        "profiles": [
            {
                "name": "eagle",
                "method": "Eagle",
                "model": "yuhuili/EAGLE-LLaMA3-Instruct-8B",
                "numSpeculativeTokens": 4,
            },
            {"name": "none", "method": "Disabled"},
        ],
    },
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llama"},
    "spec": {
        "selector": {"matchLabels": {"app": "llama"}},
        "template": {
            "metadata": {"labels": {"app": "llama"}},
            "spec": {
                "nodeName": "far-away",
                "containers": [
                    {
                        "name": "vllm",
                        "image": "vllm/vllm-openai:v0.32.0",
                        "command": ["vllm", "serve"],
                        "args": [
                            "meta-llama/Meta-Llama-3-8B-Instruct",
                            "--speculative-config=$(SPECULATION_CONFIG)",
                        ],
                        "env": [{"name": "SPECULATION_CONFIG", "value": ""}],
                    }
                ],
            },
        },
    },
}
STATUS = {
    "activeProfile": "none",
    "accelerator": {
        "name": "h100-sxm",
        "source": "nvidia.com/gpu.product",
        "labels": [f"nvidia.com/gpu.product={PRODUCT}"],
    },
    "cutoffTable": [
        {"profile": "eagle", "upToConcurrency": 24, "returnBelowConcurrency": 20},
        {"profile": "none"},
    ],
    "lastDecision": {
        "time": "2026-01-01T00:00:00Z",
        "reason": "CutoffUndecided",
        "message": "the operator's own words",
    },
}
SERVINGS = ("speculativeservings.ridgeline.dev",)
TARGETS = (*SERVINGS, "deployments.apps", "pods", "events.events.k8s.io")


@pytest.fixture
def served(kubectl: Kubectl) -> Kubectl:
    """A namespace with a serving that has a status, and its target with a Pod on a node."""
    assert kubectl.apply(DEPLOYMENT).code == 0
    assert kubectl.apply(SERVING).code == 0
    generation = kubectl.get("sps", "llama")["metadata"]["generation"]
    patch = json.dumps({"status": {**STATUS, "observedGeneration": generation}})
    kubectl.ok("patch", "sps", "llama", "--subresource=status", "--type=merge", "--patch", patch)
    return kubectl


@contextmanager
def account(kubectl: Kubectl, name: str, *resources: str) -> Iterator[Path]:
    """Give the kubeconfig of an account that may read these in the namespace, and no more."""
    kubectl.ok("create", "serviceaccount", name)
    words = [f"--resource={each}" for each in resources]
    kubectl.ok("create", "role", name, "--verb=get,list", *words)
    who = f"--serviceaccount={kubectl.namespace}:{name}"
    kubectl.ok("create", "rolebinding", name, f"--role={name}", who)
    token = kubectl.ok("create", "token", name).strip()
    config = yaml.safe_load(kubectl.cluster.kubeconfig.read_text())
    config["users"] = [{"name": name, "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = name
    config["current-context"] = config["contexts"][0]["name"]
    file = kubectl.cluster.kubeconfig.parent / f"{name}-{kubectl.namespace}.yaml"
    file.write_text(yaml.safe_dump(config))
    try:
        yield file
    finally:
        file.unlink()


def explain(kubectl: Kubectl, kubeconfig: Path, *words: str) -> Result:
    where = ["--namespace", kubectl.namespace, "--kubeconfig", str(kubeconfig)]
    return CliRunner().invoke(app, ["explain", "llama", *words, *where])


def document(kubectl: Kubectl, kubeconfig: Path) -> dict[str, Any]:
    answer = explain(kubectl, kubeconfig, "-o", "json")
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def facts(found: dict[str, Any]) -> dict[str, str]:
    return {each["what"]: each["value"] for each in found["facts"]}


def test_who_may_read_servings_alone_gets_the_operators_word_and_no_wrong_cause(
    served: Kubectl,
) -> None:
    with account(served, "looker", *SERVINGS) as kubeconfig:
        found = document(served, kubeconfig)
        page = explain(served, kubeconfig)
    assert found["cause"] == {
        "reason": "CutoffUndecided",
        "message": "the operator's own words",
        "knownBy": "the operator",
    }
    assert found["notDecided"] == ["not known: your rights do not reach deployments and pods here"]
    for kind in ("deployments", "pods", "nodes", "events"):
        assert "your rights do not reach" in facts(found)[kind]
    assert "your rights do not reach" in facts(found)["target"]
    assert found["basis"] == []
    assert "TargetNotFound" not in json.dumps(found)
    assert page.exit_code == 0, page.output
    assert "Where it stands" in page.output
    assert "does not exist" not in page.output


def test_a_viewer_sees_the_target_and_the_gpu_that_the_operator_found(served: Kubectl) -> None:
    with account(served, "viewer", *TARGETS) as kubeconfig:
        found = document(served, kubeconfig)
        assert "your rights do not reach" in facts(found)["nodes"]
        assert "deployments" not in facts(found)
        assert "its template runs none" in facts(found)["target"]
        served.ok("wait", "--for=create", "pod", "--selector=app=llama", "--timeout=30s")
        basis = {each["what"]: each["value"] for each in document(served, kubeconfig)["basis"]}
    assert basis["engine version"] == "vLLM 0.32.0 (from the image's tag)"
    assert basis["accelerator"] == f"h100-sxm (from nvidia.com/gpu.product={PRODUCT})"


def test_json_and_yaml_tell_the_same(served: Kubectl) -> None:
    kubeconfig = served.cluster.kubeconfig
    as_json = document(served, kubeconfig)
    as_yaml = explain(served, kubeconfig, "-o", "yaml")
    assert as_yaml.exit_code == 0, as_yaml.output
    told = yaml.safe_load(as_yaml.stdout)
    assert told.keys() == as_json.keys()
    for key in ("settings", "cutoffTable", "basis", "namespace", "serving"):
        assert told[key] == as_json[key]


def test_a_serving_that_may_not_be_read_is_refused_in_one_line(served: Kubectl) -> None:
    with account(served, "stranger", "configmaps") as kubeconfig:
        answer = explain(served, kubeconfig)
    assert answer.exit_code == 1
    assert "cannot get" in answer.output
    assert len(answer.output.strip().splitlines()) == 1
