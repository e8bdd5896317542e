"""A real API server takes everything that is rendered, also where Restricted is enforced."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart.rendering import NAMESPACE, Chart, Object, of_kind, one, pod_of
from tests.chart.test_kustomize_base import DEPLOY, build
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until

USED = (NAMESPACE, "inference", "research")


@pytest.fixture(scope="module")
def restricted(control_plane: Cluster) -> Iterator[Cluster]:
    """An API server whose namespaces enforce the Restricted standard."""
    labels = {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")
    }
    for name in USED:
        metadata = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        control_plane.kubectl("create", "-f", "-", input_object=body)
        wait_until(
            lambda name=name: (  # type: ignore[misc]
                "default"
                in control_plane.kubectl("get", "serviceaccounts", "-n", name, "-o", "name")
            ),
            f"the default service account of {name}",
        )
    yield control_plane
    control_plane.kubectl("delete", "namespace", *USED)


def _rehearse(cluster: Cluster, objects: list[Object]) -> int:
    """Server-side apply everything without storing it; how many objects the server took."""
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    options = ("--server-side", "--dry-run=server", "--validate=strict", "-o", "name")
    said: str = cluster.kubectl("apply", *options, "-f", "-", input_object=items)
    return len(said.split())


def _pod(objects: list[Object]) -> Object:
    """The Pod that the Deployment controller would make, with an account that exists here."""
    template = copy.deepcopy(pod_of(objects))
    template["spec"]["serviceAccountName"] = "default"
    metadata = {**template["metadata"], "name": "operator", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("file", [None, "everything", "namespaced", "bare"])
def test_it_takes_every_object(restricted: Cluster, chart: Chart, file: str | None) -> None:
    objects = chart.render(file=file)
    assert _rehearse(restricted, objects) == len(objects)


def test_it_refuses_what_is_wrong(restricted: Cluster, defaults: list[Object]) -> None:
    broken = copy.deepcopy(one(defaults, "Deployment"))
    broken["spec"]["template"]["spec"]["containers"][0]["image"] = ""
    with pytest.raises(ClusterError, match="image"):
        _rehearse(restricted, [broken])
    unknown = copy.deepcopy(one(defaults, "Deployment"))
    unknown["spec"]["replica"] = 1
    with pytest.raises(ClusterError, match="replica"):
        _rehearse(restricted, [unknown])


@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_it_takes_the_kustomizations(
    restricted: Cluster, kubectl_binary: Path, folder: str
) -> None:
    objects = build(kubectl_binary, DEPLOY / folder)
    assert of_kind(objects, "Namespace")
    assert _rehearse(restricted, objects) == len(objects)


@pytest.mark.parametrize("file", [None, "everything"])
def test_the_pod_passes_the_restricted_standard(
    restricted: Cluster, chart: Chart, file: str | None
) -> None:
    pod = _pod(chart.render(file=file))
    options = ("-f", "-", "--dry-run=server")
    restricted.kubectl("create", *options, input_object=pod)

    loose = copy.deepcopy(pod)
    del loose["spec"]["containers"][0]["securityContext"]["capabilities"]
    with pytest.raises(ClusterError, match="restricted"):
        restricted.kubectl("create", *options, input_object=loose)
