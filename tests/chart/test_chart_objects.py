"""What the chart renders: valid objects, a safe Pod, a configuration that the operator takes."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from ridgeline import __version__
from ridgeline.settings.config import parse_config
from tests.chart.rendering import (
    CHART,
    CLUSTER_SCOPED,
    NAMESPACE,
    Chart,
    HelmRefusesError,
    Object,
    config_of,
    container_of,
    of_kind,
    one,
    pod_of,
)
from tests.cluster.paths import REPO

FILES = (None, "everything", "namespaced", "bare")
FREE_FORM = "CustomResourceDefinition"
"""What kubernetes-validate has no schema of; the API server itself looks at it elsewhere."""


def test_lint_finds_nothing(chart: Chart) -> None:
    found = chart.run("lint", "--strict", str(CHART))
    assert "[WARNING]" not in found
    assert "[ERROR]" not in found


@pytest.mark.parametrize("file", FILES)
def test_every_object_is_valid(chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    for each in objects:
        if each["kind"] != FREE_FORM:
            kubernetes_validate.validate(each, "1.34", strict=True)
    broken = copy.deepcopy(one(objects, "Deployment"))
    broken["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.34", strict=True)


@pytest.mark.parametrize("file", FILES)
def test_every_object_has_its_place_and_labels(chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    own = [each for each in objects if not each["metadata"]["name"].endswith(("-extra", "-text"))]
    for each in own:
        metadata = each["metadata"]
        assert metadata["labels"]["app.kubernetes.io/instance"] == "ridgeline"
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert ("namespace" in metadata) == (each["kind"] not in CLUSTER_SCOPED), each
        if file == "everything":
            assert metadata["labels"]["team"] == "inference"
            assert metadata["labels"]["app.kubernetes.io/name"] == "speculation"


@pytest.mark.parametrize("file", FILES)
def test_the_operator_takes_its_configuration(chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    config = parse_config(config_of(objects))
    assert config.port == container_of(objects)["ports"][0]["containerPort"]
    assert config.lease.enabled
    assert config.lease.namespace == NAMESPACE
    assert config.lease.name == one(objects, "Deployment")["metadata"]["name"]
    (path,) = (
        each.removeprefix("--config=")
        for each in container_of(objects)["args"]
        if each.startswith("--config=")
    )
    mount = next(m for m in container_of(objects)["volumeMounts"] if m["name"] == "config")
    assert path == f"{mount['mountPath']}/config.yaml"


def test_every_field_of_the_configuration_arrives(chart: Chart) -> None:
    config = parse_config(config_of(chart.render(file="everything")))
    assert config.tick_seconds == 30
    assert config.rate_window_seconds == 300
    assert config.relist_seconds == 86400
    assert config.max_concurrent_rolls == 1000
    assert config.freeze
    assert config.lease.duration_seconds == 30
    fast, tenant = config.telemetry
    assert fast.name == "fast"
    assert str(fast.bearer_token_file) == "/etc/ridgeline/telemetry/token"
    assert [each.label for each in fast.matchers] == ["cluster"]
    assert tenant.headers == {"X-Scope-OrgID": "inference"}


def test_namespaces_arrive(chart: Chart) -> None:
    config = parse_config(config_of(chart.render(file="namespaced")))
    assert config.namespaces == ("inference", "research")


def test_a_changed_configuration_rolls_the_operator_and_nothing_else_does(chart: Chart) -> None:
    def checksum(values: Object) -> str:
        found: str = pod_of(chart.render(values))["metadata"]["annotations"]["checksum/config"]
        return found

    before = checksum({})
    assert checksum({"service": {"enabled": False}}) == before
    assert checksum({"config": {"tickSeconds": 30}}) != before
    assert checksum({"watchNamespaces": ["one"]}) != before
    assert checksum({"telemetry": {"endpoints": [{"url": "http://other"}]}}) != before


def test_the_freeze_switch_reaches_the_running_operator(chart: Chart) -> None:
    before, after = chart.render(), chart.render({"config": {"freeze": True}})
    assert config_of(after)["freeze"] is True
    assert pod_of(before) == pod_of(after)
    # A single file mounted by subPath would never change.
    (mount,) = (m for m in container_of(after)["volumeMounts"] if m["name"] == "config")
    assert "subPath" not in mount


def test_the_pod_may_do_nothing_that_it_need_not(defaults: list[Object]) -> None:
    pod, container = pod_of(defaults)["spec"], container_of(defaults)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}
    assert one(defaults, "ServiceAccount")["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is True
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        assert key not in pod


def test_probes_ask_the_operators_own_pages(defaults: list[Object]) -> None:
    container = container_of(defaults)
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    selector = one(defaults, "Service")["spec"]["selector"]
    assert selector.items() <= pod_of(defaults)["metadata"]["labels"].items()


def test_the_holder_of_the_lease_is_told_by_the_pods_name(defaults: list[Object]) -> None:
    (item,) = (each for each in container_of(defaults)["env"] if each["name"] == "POD_NAME")
    assert item["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, f"ridgeline.dev/ridgeline:{__version__}"),
        ({"tag": "1.2.3"}, "ridgeline.dev/ridgeline:1.2.3"),
        ({"registry": ""}, f"ridgeline:{__version__}"),
        (
            {"tag": "1.2.3", "digest": f"sha256:{'0' * 64}"},
            f"ridgeline.dev/ridgeline@sha256:{'0' * 64}",
        ),
    ],
)
def test_the_image_is_named_by_tag_or_digest(
    chart: Chart, image: dict[str, str], expected: str
) -> None:
    assert container_of(chart.render({"image": image}))["image"] == expected


def test_chart_and_operator_have_one_version() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["appVersion"] == about["version"] == __version__


def test_everything_that_can_be_chosen_arrives(chart: Chart) -> None:
    objects = chart.render(file="everything")
    pod, container = pod_of(objects), container_of(objects)
    spec = pod["spec"]
    assert one(objects, "Deployment")["spec"]["replicas"] == 2
    assert spec["serviceAccountName"] == one(objects, "ServiceAccount")["metadata"]["name"]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["priorityClassName"] == "system-cluster-critical"
    assert spec["terminationGracePeriodSeconds"] == 45
    assert spec["nodeSelector"] == {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    assert spec["tolerations"][0]["key"] == "control"
    assert "podAntiAffinity" in spec["affinity"]
    assert spec["topologySpreadConstraints"][0]["maxSkew"] == 1
    assert pod["metadata"]["annotations"]["example.com/note"] == "yes"
    assert pod["metadata"]["labels"]["example.com/tier"] == "control"
    assert {"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"} in container["env"]
    assert {each["mountPath"] for each in container["volumeMounts"]} == {
        "/etc/ridgeline/config",
        "/etc/ridgeline/telemetry",
        "/etc/trust",
    }
    secret = next(each for each in spec["volumes"] if each["name"] == "telemetry")
    assert secret["secret"]["secretName"] == "prometheus-access"
    assert container["args"][-2:] == ["--log-level=debug", "--log-format=plain"]
    extra = {each["metadata"]["name"] for each in of_kind(objects, "ConfigMap")}
    assert {"ridgeline-extra", "speculation-operator-text"} <= extra


def test_what_is_left_out_is_left_out(chart: Chart) -> None:
    objects = chart.render(file="bare")
    assert sorted(each["kind"] for each in objects) == ["ConfigMap", "Deployment"]
    assert pod_of(objects)["spec"]["serviceAccountName"] == "default"


def test_the_crds_are_those_of_the_project(chart: Chart) -> None:
    wanted = {
        crd["metadata"]["name"]: crd
        for crd in (yaml.safe_load(each.read_text()) for each in (REPO / "crds").glob("*.yaml"))
    }
    for keep in (True, False):
        rendered = of_kind(chart.render({"crds": {"keep": keep}}), "CustomResourceDefinition")
        assert {each["metadata"]["name"] for each in rendered} == wanted.keys()
        for each in rendered:
            name = each["metadata"]["name"]
            annotations = each["metadata"].pop("annotations", {})
            del each["metadata"]["labels"]
            assert (annotations.get("helm.sh/resource-policy") == "keep") == keep
            assert json.dumps(each, sort_keys=True) == json.dumps(wanted[name], sort_keys=True)
    assert not of_kind(chart.render({"crds": {"enabled": False}}), "CustomResourceDefinition")


def test_names_fit_however_long_the_release_is_called(chart: Chart) -> None:
    objects = chart.render(release="a" * 53, values={"crds": {"enabled": False}})
    for each in objects:
        # Cluster-scoped objects have the namespace before their own name.
        assert len(re.split("[.:]", each["metadata"]["name"])[-1]) <= 63
        for value in each["metadata"]["labels"].values():
            assert len(value) <= 63


def test_two_releases_do_not_meet(chart: Chart) -> None:
    def names(**options: Any) -> set[tuple[str, str, str]]:
        objects = chart.render({"crds": {"enabled": False}}, **options)
        return {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"])
            for each in objects
        }

    assert not names() & names(release="ridgeline-two")
    assert not names() & names(namespace="elsewhere")


def test_an_older_cluster_than_the_oldest_tested_is_refused(chart: Chart) -> None:
    chart.render(options=("--kube-version", "1.30.0"))
    chart.render(options=("--kube-version", "1.31.4-gke.1200"))
    with pytest.raises(HelmRefusesError, match=r"1\.30\.0"):
        chart.render(options=("--kube-version", "1.29.9"))
