"""Every object of every variant is valid in every minor, and every Pod is Restricted."""

from __future__ import annotations

import copy
from typing import Any

import kubernetes_validate
import pytest

from tests.chart.rendering import VALUES, Chart, Object, one, pod_of

MINORS = tuple(f"1.{minor}" for minor in range(30, 38))
FILES = (None, *sorted(path.stem for path in VALUES.glob("*.yaml")))
WITHOUT_SCHEMA = {"CustomResourceDefinition", "ServiceMonitor", "PodMonitor", "PrometheusRule"}
SAFE_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


@pytest.fixture(scope="module", params=FILES)
def objects(chart: Chart, request: pytest.FixtureRequest) -> list[Object]:
    """All that is rendered of one variant, with what is there for `helm test`."""
    return [*chart.render(file=request.param), *chart.hooks(file=request.param)]


@pytest.mark.parametrize("minor", MINORS)
def test_every_object_is_valid(objects: list[Object], minor: str) -> None:
    for each in objects:
        if each["kind"] not in WITHOUT_SCHEMA:
            kubernetes_validate.validate(each, minor, strict=True)


@pytest.mark.parametrize("minor", MINORS)
def test_what_is_wrong_is_found(defaults: list[Object], minor: str) -> None:
    broken = copy.deepcopy(one(defaults, "Deployment"))
    broken["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, minor, strict=True)


def test_the_oldest_minor_is_the_one_that_the_chart_admits(chart: Chart) -> None:
    chart.render(options=("--kube-version", f"{MINORS[0]}.0"))
    chart.render(options=("--kube-version", f"{MINORS[-1]}.0"))


def restricted(spec: Object) -> list[str]:
    """What the Restricted Pod Security Standard has against a Pod."""
    found = [key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    for volume in spec.get("volumes", ()):
        found += sorted(volume.keys() - SAFE_VOLUMES - {"name"})
    pod = spec.get("securityContext") or {}
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        found += _unrestricted(pod, container.get("securityContext") or {})
        found += ["hostPort" for port in container.get("ports", ()) if port.get("hostPort")]
    return found


def _unrestricted(pod: Object, own: Object) -> list[str]:
    both: dict[str, Any] = {**pod, **own}
    capabilities = own.get("capabilities") or {}
    seccomp = (both.get("seccompProfile") or {}).get("type")
    wrong = {
        "privileged": own.get("privileged", False),
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is not False,
        "runAsNonRoot": both.get("runAsNonRoot") is not True,
        "runAsUser": both.get("runAsUser") == 0,
        "seccompProfile": seccomp not in {"RuntimeDefault", "Localhost"},
        "drop": "ALL" not in capabilities.get("drop", ()),
        "add": bool(set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}),
    }
    return [name for name, each in wrong.items() if each]


@pytest.mark.parametrize("file", [each for each in FILES if each != "bare"])
def test_every_pod_is_restricted(chart: Chart, file: str | None) -> None:
    test = one(chart.hooks(file=file), "Pod")
    for spec in (pod_of(chart.render(file=file))["spec"], test["spec"]):
        assert restricted(spec) == []


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"securityContext": {"capabilities": {"drop": []}}}, ["drop"]),
        ({"securityContext": {"allowPrivilegeEscalation": True}}, ["allowPrivilegeEscalation"]),
        ({"podSecurityContext": {"runAsUser": 0}}, ["runAsUser"]),
        ({"podSecurityContext": {"seccompProfile": None}}, ["seccompProfile"]),
        ({"extraVolumes": [{"name": "host", "hostPath": {"path": "/"}}]}, ["hostPath"]),
    ],
)
def test_a_pod_that_is_not_restricted_is_found(
    chart: Chart, values: Object, wrong: list[str]
) -> None:
    assert restricted(pod_of(chart.render(values))["spec"]) == wrong
