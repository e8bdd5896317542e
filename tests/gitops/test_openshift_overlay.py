"""The overlay for platforms that choose the user themselves."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart.rendering import NAMESPACE, Object, one, pod_of
from tests.chart.test_chart_minors import restricted
from tests.chart.test_kustomize_base import DEPLOY, build
from tests.cluster.handle import Cluster
from tests.crd.kube import Kubectl

IDS = ("runAsUser", "runAsGroup", "fsGroup")


@pytest.fixture(scope="module")
def built(kubectl_binary: Path) -> list[Object]:
    """The overlay, as kubectl builds it."""
    return build(kubectl_binary, DEPLOY / "overlays" / "openshift")


def test_only_the_ids_are_gone(kubectl_binary: Path, built: list[Object]) -> None:
    base = build(kubectl_binary, DEPLOY / "base")
    context = one(base, "Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert context.keys() >= set(IDS)
    for each in IDS:
        del context[each]
    assert built == base


def test_the_pod_is_still_restricted(built: list[Object]) -> None:
    assert restricted(pod_of(built)["spec"]) == []


@pytest.fixture
def enforcing(control_plane: Cluster) -> Iterator[Kubectl]:
    """A namespace that enforces the Restricted Pod Security Standard."""
    name = f"restricted-{uuid.uuid4().hex[:10]}"
    control_plane.kubectl("create", "namespace", name)
    label = "pod-security.kubernetes.io/enforce=restricted"
    control_plane.kubectl("label", "namespace", name, label)
    yield Kubectl(control_plane, name)
    control_plane.kubectl("delete", "namespace", name, "--wait=false")


def test_the_pod_is_admitted_where_restricted_is_enforced(
    enforcing: Kubectl, built: list[Object]
) -> None:
    template = pod_of(built)
    assert one(built, "Deployment")["metadata"]["namespace"] == NAMESPACE
    spec = {**template["spec"], "serviceAccountName": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator"}, "spec": spec}
    answer = enforcing.apply(pod, "--dry-run=server")
    assert (answer.code, answer.err) == (0, "")
