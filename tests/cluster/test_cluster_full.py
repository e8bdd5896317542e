"""What a full cluster does: real Pods, Services, scheduling, logs, telemetry."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.images import BUSYBOX_IMAGE
from tests.cluster.prometheus import is_ready
from tests.cluster.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

_SERVE = (
    "mkdir -p /tmp/www && echo 'answered_total 7' > /tmp/www/page.txt && echo started && "
    "exec httpd -f -p 8000 -h /tmp/www"
)


def _deployment(name: str, *, replicas: int, gpus: int = 0) -> dict[str, Any]:
    container = {
        "name": "web",
        "image": BUSYBOX_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", _SERVE],
        "ports": [{"name": "http", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/page.txt", "port": "http"}, "periodSeconds": 1},
        "resources": {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {},
        "securityContext": {"runAsUser": 65532, "runAsNonRoot": True},
    }
    labels = {"app": name, "ridgeline.dev/profile": "eagle2"}
    scraped = {"prometheus.io/scrape": "true", "prometheus.io/path": "/page.txt"}
    template = {
        "metadata": {"labels": labels, "annotations": scraped},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


@pytest.fixture
def web(cluster: Cluster, namespace: str) -> Callable[..., list[dict[str, Any]]]:
    """Deploy a small web server and return its Ready Pods."""

    def deploy(*, replicas: int = 1, gpus: int = 0) -> list[dict[str, Any]]:
        body = _deployment("web", replicas=replicas, gpus=gpus)
        cluster.kubectl("apply", "-n", namespace, "-f", "-", input_object=body)
        cluster.kubectl(
            "rollout", "status", "-n", namespace, "deployment/web", "--timeout=90s", timeout_s=100
        )
        pods: list[dict[str, Any]] = cluster.kubectl("get", "pods", "-n", namespace)["items"]
        return pods

    return deploy


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def _query(cluster: Cluster, expression: str) -> list[dict[str, Any]]:
    words = urllib.parse.urlencode({"query": expression})
    answer = json.loads(_get(f"{cluster.prometheus_url}/api/v1/query?{words}"))
    result: list[dict[str, Any]] = answer["data"]["result"]
    return result


def test_nodes_have_gpu_labels_and_keep_their_gpus(cluster: Cluster) -> None:
    nodes = cluster.kubectl("get", "nodes")["items"]
    assert {node["metadata"]["name"] for node in nodes} == set(cluster.nodes)
    for node in nodes:
        labels = node["metadata"]["labels"]
        assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
        assert labels["nvidia.com/gpu.present"] == "true"
        assert labels["kubernetes.io/os"] == "linux"
        assert node["status"]["capacity"]["nvidia.com/gpu"] == "2"
    addresses = {
        address["address"]
        for node in nodes
        for address in node["status"]["addresses"]
        if address["type"] == "InternalIP"
    }
    assert len(addresses) == len(nodes)

    versions = {_name(node): _kubelet_version(node) for node in nodes}

    def reported() -> bool:
        found = cluster.kubectl("get", "nodes")["items"]
        return {_name(node): _kubelet_version(node) for node in found} == versions

    # A kubelet that has just started reports only what differs from what the API server has. Then
    # it reports all, which is when it would wipe the count.
    other = json.dumps({"status": {"nodeInfo": {"kubeletVersion": "v0.0.0"}}})
    for name in cluster.nodes:
        cluster.stop_component(f"kubelet-{name}")
        words = ("--subresource=status", "--type=merge", "--patch", other)
        cluster.kubectl("patch", "node", name, *words)
        cluster.start_component(f"kubelet-{name}")
    wait_until(reported, "a status report of every kubelet", timeout_s=150)
    for node in cluster.kubectl("get", "nodes")["items"]:
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "2"


def _name(node: dict[str, Any]) -> str:
    return str(node["metadata"]["name"])


def _kubelet_version(node: dict[str, Any]) -> str:
    return str(node["status"]["nodeInfo"]["kubeletVersion"])


def test_a_pod_runs_and_answers_at_its_own_address_and_through_a_service(
    cluster: Cluster, namespace: str, web: Callable[..., list[dict[str, Any]]]
) -> None:
    (pod,) = web()
    assert _get(f"http://{pod['status']['podIP']}:8000/page.txt") == "answered_total 7\n"

    cluster.kubectl("expose", "-n", namespace, "deployment/web", "--port=80", "--target-port=http")
    service = cluster.kubectl("get", "service", "-n", namespace, "web")
    url = f"http://{service['spec']['clusterIP']}/page.txt"

    def answers() -> bool:
        try:
            return _get(url) == "answered_total 7\n"
        except OSError:
            return False

    wait_until(answers, "the Service's address", timeout_s=20)
    name = pod["metadata"]["name"]
    inside = cluster.kubectl("exec", "-n", namespace, name, "--", "wget", "-qO-", url)
    assert inside == "answered_total 7\n"


def test_logs_and_exec_reach_the_container(
    cluster: Cluster, namespace: str, web: Callable[..., list[dict[str, Any]]]
) -> None:
    (pod,) = web()
    name = pod["metadata"]["name"]
    assert cluster.kubectl("logs", "-n", namespace, name) == "started\n"
    assert cluster.kubectl("exec", "-n", namespace, name, "--", "id", "-u") == "65532\n"
    with pytest.raises(ClusterError, match="exit code 3"):
        cluster.kubectl("exec", "-n", namespace, name, "--", "sh", "-c", "exit 3")


def test_pods_lie_on_several_nodes(
    cluster: Cluster, web: Callable[..., list[dict[str, Any]]]
) -> None:
    pods = web(replicas=4)
    assert len({pod["spec"]["nodeName"] for pod in pods}) > 1
    restarts = [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods]
    assert restarts == [0, 0, 0, 0]


def test_the_scheduler_counts_gpus(
    cluster: Cluster, namespace: str, web: Callable[..., list[dict[str, Any]]]
) -> None:
    web(replicas=4, gpus=2)
    cluster.kubectl("rollout", "restart", "-n", namespace, "deployment/web")

    def pending() -> list[dict[str, Any]]:
        pods = cluster.kubectl("get", "pods", "-n", namespace)["items"]
        return [pod for pod in pods if not pod["spec"].get("nodeName")]

    # Default strategy: one Pod of four may go (25 %), and one more may come, without a GPU for it.
    def refused() -> bool:
        conditions = [c for pod in pending() for c in pod["status"].get("conditions", [])]
        return any("Insufficient nvidia.com/gpu" in c.get("message", "") for c in conditions)

    wait_until(refused, "a surge Pod that finds no GPU", timeout_s=30, every_s=0.05)


def test_two_replicas_on_two_gpus_never_finish_a_default_rolling_update(
    cluster: Cluster, namespace: str
) -> None:
    body = _deployment("stuck", replicas=2, gpus=1)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": cluster.nodes[0]}
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input_object=body)
    cluster.kubectl("rollout", "status", "-n", namespace, "deployment/stuck", "--timeout=60s")
    cluster.kubectl("rollout", "restart", "-n", namespace, "deployment/stuck")
    with pytest.raises(ClusterError, match="timed out waiting"):
        cluster.kubectl("rollout", "status", "-n", namespace, "deployment/stuck", "--timeout=8s")
    pods = cluster.kubectl("get", "pods", "-n", namespace)["items"]
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Pending", "Running", "Running"]


def test_prometheus_discovers_pods_and_names_them(
    cluster: Cluster, namespace: str, web: Callable[..., list[dict[str, Any]]]
) -> None:
    pods = {pod["metadata"]["name"]: pod for pod in web(replicas=2)}
    expression = f'answered_total{{namespace="{namespace}"}}'
    wait_until(lambda: len(_query(cluster, expression)) == 2, "two series", timeout_s=30)
    for series in _query(cluster, expression):
        labels = series["metric"]
        assert labels["node"] == pods[labels["pod"]]["spec"]["nodeName"]
        assert labels["container"] == "web"
        assert labels["profile"] == "eagle2"
        assert series["value"][1] == "7"


def test_prometheus_can_be_stopped_and_started(cluster: Cluster) -> None:
    url = str(cluster.prometheus_url)
    cluster.stop_component("prometheus")
    assert not is_ready(url)
    cluster.start_component("prometheus")
    wait_until(lambda: is_ready(url), "Prometheus", timeout_s=30)


def test_the_stand_in_image_is_there_with_its_program(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl(
        "run", "look", "-n", namespace, "--image=ridgeline.dev/vllm-stand-in:v0.32.0",
        "--image-pull-policy=Never", "--restart=Never", "--command", "--",
        "python3", "-c", "import shutil, aiohttp, prometheus_client, ridgeline;"
        "print(shutil.which('vllm'))",
    )  # fmt: skip
    phase = ("get", "pod", "-n", namespace, "look", "-o", "jsonpath={.status.phase}")
    wait_until(lambda: cluster.kubectl(*phase) in {"Succeeded", "Failed"}, "the Pod's end")
    assert cluster.kubectl("logs", "-n", namespace, "look") == "/usr/local/bin/vllm\n"
