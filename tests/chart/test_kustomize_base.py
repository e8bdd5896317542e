"""The kustomize base: what the chart installs by default, without Helm."""

from __future__ import annotations

import copy
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ridgeline.settings.config import parse_config
from tests.chart.rendering import NAMESPACE, Object, config_of, container_of, of_kind, one
from tests.cluster.paths import REPO
from tests.tools import kustomize as tool

DEPLOY = REPO / "deploy" / "kustomize"


@pytest.fixture(scope="module")
def built(kubectl_binary: Path) -> list[Object]:
    """The base, as kubectl builds it."""
    return build(kubectl_binary, DEPLOY / "base")


def build(kubectl: Path, folder: Path) -> list[Object]:
    """The objects of a kustomization."""
    command = [str(kubectl), "kustomize", str(folder)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def _key(body: Object) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]


def _alike(body: Object, config_name: str) -> Object:
    """An object without what Helm alone writes, and with the ConfigMap under one name."""
    changed: Object = copy.deepcopy(tool.without_helm(body))
    if body["kind"] == "CustomResourceDefinition":
        changed["metadata"] = {"name": body["metadata"]["name"]}
    if body["kind"] == "ConfigMap":
        changed["metadata"]["name"] = "config"
        changed["data"] = {key: yaml.safe_load(text) for key, text in sorted(body["data"].items())}
    if body["kind"] == "Deployment":
        (volume,) = changed["spec"]["template"]["spec"]["volumes"]
        assert volume["configMap"]["name"] == config_name
        volume["configMap"]["name"] = "config"
    return changed


def test_it_is_what_the_chart_installs_by_default(
    defaults: list[Object], built: list[Object]
) -> None:
    def alike(objects: list[Object]) -> dict[tuple[str, str, str], Object]:
        name = one(objects, "ConfigMap")["metadata"]["name"]
        found = [_alike(each, name) for each in objects if each["kind"] != "Namespace"]
        return {_key(each): each for each in found}

    assert alike(built) == alike(defaults)


def test_it_brings_a_restricted_namespace(built: list[Object]) -> None:
    namespace = one(built, "Namespace")["metadata"]
    assert namespace["name"] == NAMESPACE
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_it_is_up_to_date(helm_binary: Path) -> None:
    assert tool.main(["--check"]) == 0


def test_drift_is_told_and_mended(
    helm_binary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = tmp_path / "base"
    shutil.copytree(DEPLOY / "base", base)
    monkeypatch.setattr(tool, "BASE", base)
    monkeypatch.setattr(tool, "REPO", tmp_path)
    shutil.copytree(REPO / "crds", tmp_path / "crds")
    operator = base / "operator.yaml"
    operator.write_text(operator.read_text().replace("readOnlyRootFilesystem: true", ""))
    (base / "surplus.yaml").write_text("")

    assert tool.main(["--check"]) == 1
    told = capsys.readouterr().err
    assert "operator.yaml" in told
    assert "surplus.yaml" in told
    assert "config.yaml" not in told

    assert tool.main([]) == 0
    assert operator.read_text() == (DEPLOY / "base" / "operator.yaml").read_text()
    assert not (base / "surplus.yaml").exists()


def test_an_overlay_changes_image_and_configuration(
    kubectl_binary: Path, built: list[Object]
) -> None:
    objects = build(kubectl_binary, DEPLOY / "overlays" / "example")
    assert container_of(objects)["image"] == "registry.example/platform/ridgeline:0.1.0"
    config = parse_config(config_of(objects))
    assert [each.name for each in config.telemetry] == ["default", "long-term"]
    assert config.lease.namespace == one(objects, "Deployment")["metadata"]["namespace"]
    lease = next(
        role
        for role in of_kind(objects, "Role")
        if role["metadata"]["namespace"] == config.lease.namespace
    )
    assert [config.lease.name] in [rule.get("resourceNames") for rule in lease["rules"]]
    # Another content, another name: the operator is rolled.
    before, after = (one(each, "ConfigMap")["metadata"]["name"] for each in (built, objects))
    assert before != after
