"""Every manifest for GitOps tools and every quick path is what its API takes, word for word."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.chart.rendering import Chart, of_kind
from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.crd.kube import Kubectl
from tests.gitops.crds import install
from tests.gitops.modules import ARGO_CD, PROMETHEUS_OPERATOR
from tests.gitops.programs import Programs
from tests.tools.argocd import KIND

Object = dict[str, Any]

DEPLOY: Final = REPO / "deploy"
QUICK_PATHS: Final = DEPLOY / "quick-paths"
PAGES: Final = [
    REPO / "docs" / "how-to" / f"{name}.md" for name in ("argocd", "flux", "helm", "quick-paths")
]
FLUX: Final = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")
OF_THE_SERVER: Final = sorted(
    [
        *(DEPLOY / "argocd").glob("*.yaml"),
        *QUICK_PATHS.glob("*/model.yaml"),
        *QUICK_PATHS.glob("*/default.yaml"),
        *QUICK_PATHS.glob("*/serving.yaml"),
        *QUICK_PATHS.glob("*/podmonitor.yaml"),
    ]
)
OF_NO_SERVER: Final = {"values.yaml", "cluster.yaml", "inferenceservice.yaml"}


def _documents(path: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def _shown() -> list[Object]:
    """The whole manifests that the pages show."""
    found = []
    for page in PAGES:
        for body in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL):
            found += [each for each in yaml.safe_load_all(body) if "apiVersion" in each]
    return found


def _group(body: Object) -> str:
    return str(body["apiVersion"]).partition("/")[0]


@pytest.fixture(scope="module")
def room(server: Cluster) -> Iterator[Kubectl]:
    """A namespace on an API server that knows Argo CD's and the Prometheus Operator's kinds."""
    crds = (
        ARGO_CD.file("manifests/crds/application-crd.yaml"),
        PROMETHEUS_OPERATOR.file(
            "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"
        ),
    )
    for each in crds:
        install(server, each)
    names = ("manifests", "argocd", "inference")
    for name in names:
        # Another module may have left it on the server that all share.
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        server.kubectl("apply", "--filename=-", input_object=namespace)
    yield Kubectl(server, "manifests")
    for name in names:
        server.kubectl("delete", "namespace", name, "--wait=false")


@pytest.mark.parametrize("file", OF_THE_SERVER, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_taken_without_a_warning(room: Kubectl, file: Path) -> None:
    own_namespace = [each for each in _documents(file) if "namespace" in each["metadata"]]
    where = Kubectl(room.cluster, "argocd") if own_namespace else room
    how = ("--server-side", "--validate=strict", "--dry-run=server")
    answer = where.run("apply", *how, f"--filename={file}")
    assert (answer.code, answer.err) == (0, "")


def test_no_file_is_left_out() -> None:
    there = {*(DEPLOY / "argocd").glob("*.yaml"), *QUICK_PATHS.rglob("*.yaml")}
    assert {each.name for each in there - set(OF_THE_SERVER)} == OF_NO_SERVER


@pytest.mark.parametrize(
    "body",
    [each for each in _shown() if _group(each) not in FLUX],
    ids=lambda body: f"{body['kind']}-{body['metadata']['name']}",
)
def test_what_a_page_shows_is_taken(room: Kubectl, body: Object) -> None:
    where = Kubectl(room.cluster, body["metadata"].get("namespace", room.namespace))
    answer = where.apply(body, "--dry-run=server", "--force-conflicts")
    assert (answer.code, answer.err) == (0, "")


def test_argo_cds_config_map_keeps_what_was_in_it(room: Kubectl) -> None:
    there = Kubectl(room.cluster, "argocd")
    there.run("delete", "configmap", "argocd-cm", "--ignore-not-found")
    there.ok("create", "configmap", "argocd-cm", "--from-literal=url=https://argocd.example")
    how = ("--server-side", "--field-manager=ridgeline-argocd")
    there.ok("apply", *how, f"--filename={DEPLOY / 'argocd' / 'argocd-cm.yaml'}")
    data = there.get("configmap", "argocd-cm")["data"]
    assert data["url"] == "https://argocd.example"
    assert len(data) == 3


def test_flux_knows_every_field(gitops_tools: Path) -> None:
    files = [each for path in (DEPLOY / "flux").glob("*.yaml") for each in _documents(path)]
    shown = [each for each in _shown() if _group(each) in FLUX]
    kinds = _flux(gitops_tools, [*files, *shown])
    assert kinds.count("Kustomization") == 3
    assert {"HelmRelease", "GitRepository", "Namespace"} <= set(kinds)


def test_flux_does_not_know_another_field(gitops_tools: Path) -> None:
    (body,) = (each for each in _shown() if each["kind"] == "Kustomization")
    with pytest.raises(subprocess.CalledProcessError):
        _flux(gitops_tools, [{**body, "spec": {**body["spec"], "healthCheckExpressions": []}}])


def _flux(tools: Path, documents: list[Object]) -> list[str]:
    text = "---\n".join(json.dumps(each) + "\n" for each in documents)
    command = [str(tools / "fluxtypes")]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_what_the_flux_page_shows_is_in_the_file() -> None:
    (shown,) = (each for each in _shown() if each["kind"] == "Kustomization")
    there = {
        each["metadata"]["name"]: each
        for each in _documents(DEPLOY / "flux" / "kustomization.yaml")
    }
    own = there["inference"]["spec"]
    assert shown["spec"].items() <= own.items()


def _values() -> dict[str, Object]:
    (operator,) = _documents(DEPLOY / "argocd" / "operator.yaml")
    release = next(
        each
        for each in _documents(DEPLOY / "flux" / "helmrelease.yaml")
        if each["kind"] == "HelmRelease"
    )
    return {
        "argocd": operator["spec"]["source"]["helm"]["valuesObject"],
        "flux": release["spec"]["values"],
        **{
            name: _documents(QUICK_PATHS / name / "values.yaml")[0]
            for name in ("kind", "prometheus-operator")
        },
    }


@pytest.mark.parametrize("name", ["argocd", "flux", "kind", "prometheus-operator"])
def test_the_chart_takes_the_values(helm_binary: Path, name: str) -> None:
    assert of_kind(Chart(helm=helm_binary).render(_values()[name]), "Deployment")


def test_an_action_is_one_change_of_a_live_serving(programs: Programs, room: Kubectl) -> None:
    """Argo CD sends what a script changed as a merge patch."""
    path = QUICK_PATHS / "kind" / "model.yaml"
    (serving,) = (each for each in _documents(path) if each["kind"] == "SpeculativeServing")
    serving["metadata"]["name"] = "acted-upon"
    room.ok("apply", "--server-side", "--filename=-", stdin=json.dumps(serving))
    live = room.get("sps", "acted-upon")

    script = (KIND / "actions" / "suspend" / "action.lua").read_text()
    patch = json.dumps(_merge_patch(live, programs.lua(script, live)))
    room.ok("patch", "sps", "acted-upon", "--type=merge", f"--patch={patch}")

    after = room.get("sps", "acted-upon")
    assert after["spec"] == {**live["spec"], "suspend": True}
    assert after["metadata"]["generation"] == live["metadata"]["generation"] + 1


def _merge_patch(before: Object, after: Object) -> Object:
    patch: Object = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := _merge_patch(old, value):
                patch[key] = inner
        elif value != old:
            patch[key] = value
    return patch
