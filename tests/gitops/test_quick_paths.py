"""Quick paths on the API server: who may be rolled, and who is only told what to do."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ridgeline.api.serving import parse_serving
from ridgeline.cluster.objects import trim_container
from ridgeline.engine.container import injection_point
from ridgeline.engine.speculative_config import render
from ridgeline.settings.resolve import profiles_of
from tests.cluster.paths import REPO
from tests.cluster.prometheus import free_ports
from tests.gitops.crds import install
from tests.gitops.repository import Repository, scene
from tests.gitops.stage import Application, Stage
from tests.gitops.writers import Applied

pytestmark = pytest.mark.timeout(600)

Object = dict[str, Any]

QUICK_PATHS: Final = REPO / "deploy" / "quick-paths"
EAGLE: Final = (
    '{"method":"eagle","model":"yuhuili/EAGLE-LLaMA3-Instruct-8B","num_speculative_tokens":4}'
)


def _load(*parts: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(QUICK_PATHS.joinpath(*parts).read_text()) if each]


def _of_production_stack() -> Object:
    """The container as the chart vllm-stack makes it of our values (its command has everything)."""
    (values,) = _load("production-stack", "values.yaml")
    engine = values["servingEngineSpec"]
    (model,) = engine["modelSpec"]
    command = ["vllm", "serve", model["modelURL"], "--host", "0.0.0.0", "--port", "8000"]
    assert "SPECULATION_CONFIG" in engine["configs"]
    return {
        "name": "vllm",
        "image": f"{model['repository']}:{model['tag']}",
        "command": [*command, *model["vllmConfig"]["extraArgs"]],
        "env": [{"name": "HF_HOME", "value": "/tmp"}],
        "envFrom": [{"configMapRef": {"name": "vllm-configs"}}],
    }


def _of_llm_d() -> Object:
    """The container as the chart llm-d-modelservice makes it of our values."""
    (values,) = _load("llm-d", "values.yaml")
    (container,) = values["decode"]["containers"]
    assert container["modelCommand"] == "vllmServe"
    return {
        "name": container["name"],
        "image": container["image"],
        "command": ["vllm", "serve"],
        "args": ["meta-llama/Meta-Llama-3-8B-Instruct", "--port", "8000", *container["args"]],
        **container["extraConfig"],
    }


def _of_kind() -> Object:
    (deployment,) = (each for each in _load("kind", "model.yaml") if each["kind"] == "Deployment")
    container: Object = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


@pytest.mark.parametrize("made", [_of_kind, _of_production_stack, _of_llm_d])
def test_a_profile_reaches_the_container(made: Any) -> None:
    container = made()
    point = injection_point(trim_container(container))
    assert (point.text, point.set_by_item) == ("", False)
    config = container["envFrom"][0]["configMapRef"]["name"]
    assert config in {"no-speculation", "vllm-configs"}


def test_the_page_shows_what_the_operator_would_write() -> None:
    (serving,) = _load("kserve", "serving.yaml")
    eagle = profiles_of(parse_serving(serving).spec)[0]
    assert render(eagle) == EAGLE
    assert f"\n{EAGLE}\n" in (REPO / "docs" / "how-to" / "quick-paths.md").read_text()


@pytest.mark.parametrize("config", ["", EAGLE], ids=["none", "eagle"])
def test_the_stand_in_of_the_kind_path_serves(tmp_path: Path, config: str) -> None:
    container, (port,) = _of_kind(), free_ports(1)
    words = [*container["command"], *container["args"]]
    words = [each.replace("$(SPECULATION_CONFIG)", config) for each in words]
    words = [each.replace("--port=8000", f"--port={port}") for each in words]
    assert words[0] == "python3"
    environment = {**os.environ, "STAND_IN_STARTUP_SECONDS": "0"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *words[1:]], stdout=log, stderr=log, env=environment
        )
    try:
        while not _healthy(port):
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


# KServe's schema is not at hand: any object takes the part of the owner.
_OWNER_CRD: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "inferenceservices.serving.kserve.io"},
    "spec": {
        "group": "serving.kserve.io",
        "scope": "Namespaced",
        "names": {
            "kind": "InferenceService",
            "listKind": "InferenceServiceList",
            "plural": "inferenceservices",
            "singular": "inferenceservice",
        },
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def test_a_deployment_that_kserve_owns_is_only_recommended_for(
    stage: Stage, tmp_path: Path
) -> None:
    where = ("-n", stage.namespace)
    crd = tmp_path / "crd.yaml"
    crd.write_text(yaml.safe_dump(_OWNER_CRD))
    install(stage.cluster, crd)
    (service,) = _load("kserve", "inferenceservice.yaml")
    owner = stage.cluster.kubectl("create", *where, "-f", "-", input_object=service)
    application = _predictor(stage, service, owner["metadata"]["uid"])

    application.sync()
    application.wait_reason("TargetOwnedByController")

    message = application.status()["lastDecision"]["message"]
    assert "InferenceService/llama" in message
    assert "SPECULATION_CONFIG" in message
    assert application.status()["recommendedProfile"] == "eagle"
    assert application.condition("Ready") == ("True", "Operating")
    assert stage.profile_writes(application) == []
    assert application.target()["metadata"]["generation"] == 1


def _predictor(stage: Stage, service: Object, uid: str) -> Application:
    """The Deployment that the controller makes, and the serving of the quick path, made to act."""
    repository = Repository(scene=scene(stage.namespace, "llama-predictor"))
    body = repository.deployment
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": service["apiVersion"],
            "kind": service["kind"],
            "name": service["metadata"]["name"],
            "uid": uid,
            "controller": True,
        }
    ]
    container = copy.deepcopy(service["spec"]["predictor"]["containers"][0])
    del container["resources"]
    body["spec"]["template"]["spec"]["containers"] = [container]
    (serving,) = _load("kserve", "serving.yaml")
    spec = repository.objects["SpeculativeServing", "llama-predictor"]["spec"]
    spec["targetRef"] = serving["spec"]["targetRef"]
    repository.want("eagle")
    writer = Applied(
        cluster=stage.cluster,
        repository=repository,
        field_manager="kserve-controller-manager",
        server_side=False,
    )
    return Application(stage.cluster, stage.operator, repository, writer)
