"""Installed by the chart, with the image that the Dockerfile makes, the operator does its job.

The tests of this file are one story and run in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.chart.rendering import CHART, Chart
from tests.cluster.control_plane import OPERATOR_NAMESPACE
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.e2e.installing import (
    PREVIOUS_VERSION,
    RELEASE,
    Installed,
    Right,
    granted,
    needs_own_cluster,
    used,
)
from tests.e2e.rooms import fresh_namespace, prometheus_of, small
from tests.scene.load import Load
from tests.scene.placed import Placed

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

_CLAIMS = "no target here claims devices (tests/component/cluster reads them on a real server)"
_GROUPS = "no target here belongs to a gang"
NOT_USED: dict[Right, str] = {
    (resource, verb): why
    for why, resources in (
        (
            _CLAIMS,
            (
                "resource.k8s.io/deviceclasses",
                "resource.k8s.io/resourceclaims",
                "resource.k8s.io/resourceclaimtemplates",
                "resource.k8s.io/resourceslices",
            ),
        ),
        (_GROUPS, ("scheduling.volcano.sh/podgroups", "scheduling.x-k8s.io/podgroups")),
    )
    for resource in resources
    for verb in ("list", "watch")
}
"""Rights that a normal day does not use, and why the operator has them all the same."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A release, and a scene that it looks after."""

    release: Installed
    scene: Placed
    values: Path

    def upgrade(self, chart: Path = CHART, **values: Any) -> None:
        """Give the release other values, or another chart."""
        self.values.write_text(yaml.safe_dump(self.release.values(**values)))
        self.release.put(str(self.values), chart)


@pytest.fixture(scope="module")
def story(
    cluster: Cluster,
    helm_binary: Path,
    operator_image: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    """The chart installed where the Restricted standard is enforced; a scene beside it."""
    needs_own_cluster(cluster)
    cluster.load_image(operator_image)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": OPERATOR_NAMESPACE, "labels": labels}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    cluster.kubectl("create", "-f", "-", input_object=body)
    release = Installed(cluster=cluster, chart=Chart(helm=helm_binary))
    try:
        with fresh_namespace(cluster) as room:
            scene = Placed(cluster, small(room, "installed", up_to=6, return_below=4))
            values = tmp_path_factory.mktemp("values") / "values.yaml"
            told = Story(release=release, scene=scene, values=values)
            told.upgrade(chart=release.previous_chart(values.parent))
            yield told
    finally:
        cluster.kubectl("delete", "namespace", OPERATOR_NAMESPACE)


def _wait(story: Story, profile: str) -> None:
    try:
        story.scene.wait_rolled(profile)
    except TimeoutError as error:
        raise TimeoutError(f"{error}\n{story.release.log()}") from error


def test_it_runs_where_the_restricted_standard_is_enforced(story: Story) -> None:
    (pod,) = story.release.pods()
    (status,) = pod["status"]["containerStatuses"]
    assert status["ready"]
    assert status["restartCount"] == 0
    wait_until(lambda: story.release.holder() == pod["metadata"]["name"], "the Lease")
    loose = {"containers": [{"name": "loose", "image": "ridgeline.dev/busybox:dev"}]}
    metadata = {"name": "loose", "namespace": OPERATOR_NAMESPACE}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": loose}
    with pytest.raises(ClusterError, match="restricted"):
        story.release.cluster.kubectl("create", "-f", "-", input_object=body)


def test_a_target_is_rolled_when_the_load_crosses_the_cutoff(story: Story) -> None:
    scene = story.scene
    scene.put()
    _wait(story, "eagle")
    address = scene.cluster.kubectl(
        "get", "service", scene.scene.name, "-n", scene.scene.namespace
    )["spec"]["clusterIP"]

    with Load(f"http://{address}", users=16):
        _wait(story, "none")

    (container,) = scene.target()["spec"]["template"]["spec"]["containers"]
    item = next(each for each in container["env"] if each["name"] == "SPECULATION_CONFIG")
    assert item.get("value", "") == ""
    why = {each["reason"] for each in scene.status()["switchHistory"]}
    assert why == {"BelowCutoff", "AboveCutoff"}
    assert len(scene.events("RollFinished")) == 2


def test_the_cutoff_comes_from_the_label_of_the_node(story: Story) -> None:
    scene = story.scene
    scene.edit_serving(cutoff={"strategy": "Ridge", "ranges": None})

    _wait(story, "eagle")

    status = scene.status()
    assert status["accelerator"]["name"] == "h100-sxm"
    assert status["accelerator"]["source"] == "nvidia.com/gpu.product"
    # 120 tokens of an H100's knee, five per request of a lookahead of four.
    assert [row.get("upToConcurrency") for row in status["cutoffTable"]] == [24, None]


def test_an_upgrade_from_the_previous_chart_keeps_servings_and_their_pods(story: Story) -> None:
    scene, cluster = story.scene, story.release.cluster
    before = (scene.serving(), scene.target()["spec"]["template"], _running(scene), _crds(cluster))

    story.upgrade(networkPolicy={"enabled": True})

    assert story.release.versions()[-2:] == [PREVIOUS_VERSION, _version()]
    (pod,) = story.release.pods()
    assert pod["metadata"]["labels"]["helm.sh/chart"] == f"ridgeline-{_version()}"
    wait_until(lambda: story.release.holder() == pod["metadata"]["name"], "the new one to lead")
    serving = scene.serving()
    assert serving["metadata"]["uid"] == before[0]["metadata"]["uid"]
    assert serving["spec"] == before[0]["spec"]
    for kept in ("activeProfile", "cutoffTable", "switchHistory", "accelerator"):
        assert serving["status"][kept] == before[0]["status"][kept], kept
    assert scene.target()["spec"]["template"] == before[1]
    assert _running(scene) == before[2]
    assert _crds(cluster) == before[3]


def test_the_network_policy_is_about_the_operator_and_its_test_alone(story: Story) -> None:
    cluster = story.release.cluster
    (policy,) = cluster.kubectl("get", "networkpolicies", "-n", OPERATOR_NAMESPACE)["items"]
    (chosen,) = policy["spec"]["podSelector"]["matchExpressions"]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    selector = ",".join(
        [
            *(f"{key}={value}" for key, value in labels.items()),
            f"{chosen['key']} in ({','.join(chosen['values'])})",
        ]
    )

    def chosen_alone() -> bool:
        found = cluster.kubectl("get", "pods", "-A", "-l", selector)["items"]
        return _names(found) == _names(story.release.pods())

    # The Pod of the release before may still be on its way out.
    wait_until(chosen_alone, "the policy to choose the operator's Pods and no other")
    # The address of Prometheus in the configuration, as the policy lets it through.
    ports = {each["port"] for rule in policy["spec"]["egress"] for each in rule["ports"]}
    assert urlsplit(prometheus_of(cluster)).port in ports


def test_helm_test_finds_everything_in_order(story: Story) -> None:
    told = story.release.helm("test", RELEASE, "--logs", "--timeout", "120s")
    assert "FAIL" not in told
    assert told.count("ok  ") >= 4, told
    assert f"Deployment {OPERATOR_NAMESPACE}/{RELEASE}" in told
    cluster = story.release.cluster
    # Nothing of it is left.
    found = cluster.kubectl(
        "get", "pods,roles,rolebindings", "-n", OPERATOR_NAMESPACE, "-o", "name"
    )
    assert [each for each in found.split() if each.endswith("-test")] == []


def test_it_asks_for_nothing_that_it_may_not_and_may_nothing_that_it_does_not_use(
    story: Story,
) -> None:
    asked = story.release.asked()
    assert [each for each in asked if each.code in (401, 403)] == []
    rights, uses = granted(story.release.chart.render()), used(asked)
    assert uses <= rights
    assert NOT_USED.keys() <= rights
    assert rights - uses - NOT_USED.keys() == set()


def test_with_roles_alone_it_looks_after_the_named_namespaces(story: Story) -> None:
    scene, cluster = story.scene, story.release.cluster
    (before,) = story.release.pods()
    story.upgrade(watchNamespaces=[scene.scene.namespace])
    chosen = ("-l", f"app.kubernetes.io/instance={RELEASE}", "-o", "name")
    assert cluster.kubectl("get", "clusterroles,clusterrolebindings", *chosen) == ""
    (after,) = story.release.pods()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]

    # Nodes are out of reach, and it says so.
    scene.wait(lambda: scene.reason() == "AcceleratorNotReadable", "the GPU to be unknown")
    table = replace(scene.scene, quiet_profile="none").ranges()
    scene.edit_serving(cutoff={"strategy": "Fixed", "ranges": table})
    _wait(story, "none")

    (status,) = story.release.pods()[0]["status"]["containerStatuses"]
    assert status["restartCount"] == 0


def test_uninstalling_leaves_targets_serving_and_servings_known(story: Story) -> None:
    scene, cluster = story.scene, story.release.cluster
    replicas = _running(scene)
    template = scene.target()["spec"]["template"]

    story.release.helm("uninstall", RELEASE, "--wait", "--timeout", "60s")

    assert scene.target()["spec"]["template"] == template
    assert _running(scene) == replicas
    assert scene.serving()["spec"]["profiles"]
    chosen = ("-l", f"app.kubernetes.io/instance={RELEASE}", "-A", "-o", "name")
    left = "deployments,configmaps,services,serviceaccounts,roles,rolebindings"
    assert cluster.kubectl("get", f"{left},clusterroles,clusterrolebindings", *chosen) == ""
    crds = cluster.kubectl("get", "crds", "-o", "name").split()
    assert "customresourcedefinition.apiextensions.k8s.io/speculativeservings.ridgeline.dev" in crds
    # Nothing waits for an operator that is gone.
    cluster.kubectl("delete", f"sps/{scene.scene.name}", "-n", scene.scene.namespace)


def _version() -> str:
    return str(yaml.safe_load((CHART / "Chart.yaml").read_text())["version"])


def _crds(cluster: Cluster) -> dict[str, str]:
    items = cluster.kubectl("get", "crds")["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in items}


def _names(objects: list[Any]) -> set[str]:
    return {each["metadata"]["name"] for each in objects}


def _running(scene: Placed) -> dict[str, int]:
    """Restarts of each Pod of the target by its uid, once every one of them serves."""
    wait_until(lambda: all(map(_is_ready, _pods(scene))), "every Pod of the target to serve")
    return {
        each["metadata"]["uid"]: each["status"]["containerStatuses"][0]["restartCount"]
        for each in _pods(scene)
    }


def _pods(scene: Placed) -> list[Any]:
    chosen = ("-n", scene.scene.namespace, "-l", f"app.kubernetes.io/name={scene.scene.name}")
    items: list[Any] = scene.cluster.kubectl("get", "pods", *chosen)["items"]
    return [each for each in items if "deletionTimestamp" not in each["metadata"]]


def _is_ready(pod: Any) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
