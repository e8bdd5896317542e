"""The same cluster on kind, where a Docker engine has kind's node image.

Written to the documented command lines of kind and Docker; it has not been tried on a machine
that has them. Prometheus runs inside the control-plane's container, where Pod addresses are
reachable, and is asked at that container's address, which only Linux routes to.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import images, tools
from tests.cluster.errors import ClusterError
from tests.cluster.gpus import GPU, gpu_labels, gpu_patch
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options
from tests.cluster.progress import Progress
from tests.cluster.prometheus import pod_discovery_config

_DEFAULT_IMAGE = "kindest/node:v1.34.0"
_PROMETHEUS_PORT = 9090


def node_image() -> str | None:
    """The node image to use, when everything for kind is on this machine."""
    if shutil.which("kind") is None or shutil.which("docker") is None:
        return None
    image = os.environ.get("RIDGELINE_KIND_IMAGE", _DEFAULT_IMAGE)
    try:
        server = _run("docker", "info", "--format", "{{.ServerVersion}}").strip()
        _run("docker", "image", "inspect", image)
    except ClusterError:
        return None
    return image if server else None


@contextlib.contextmanager
def cluster(image: str, options: Options, progress: Progress) -> Iterator[Cluster]:
    """Yield a kind cluster that ends with the block.

    Raises:
        ClusterError: kind or Docker refused; the message is theirs.
    """
    name = f"ridgeline-{secrets.token_hex(3)}"
    with tempfile.TemporaryDirectory(prefix="ridgeline-kind-") as folder:
        work = Path(folder)
        try:
            with progress.step("kind has made a cluster"):
                _create(name, image, options, work)
            yield _complete(name, options, work, progress)
        finally:
            subprocess.run(["kind", "delete", "cluster", "--name", name], check=False)


def _create(name: str, image: str, options: Options, work: Path) -> None:
    nodes = [{"role": "control-plane"}, *({"role": "worker"} for _ in range(options.nodes))]
    config = {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": nodes}
    (work / "kind.json").write_text(json.dumps(config))
    command = ["kind", "create", "cluster", "--name", name, "--image", image, "--wait", "120s"]
    _run(*command, "--config", str(work / "kind.json"), "--kubeconfig", str(work / "kubeconfig"))


def _complete(name: str, options: Options, work: Path, progress: Progress) -> Cluster:
    kubectl = tools.ensure(tools.KUBERNETES, progress) / "kubectl"
    made = Cluster(
        kubeconfig=work / "kubeconfig",
        api_server=_run(
            str(kubectl),
            "--kubeconfig",
            str(work / "kubeconfig"),
            "config",
            "view",
            "--minify",
            "-o",
            "jsonpath={.clusters[0].cluster.server}",
        ),
        kubectl_path=str(kubectl),
        prometheus_url=_start_prometheus(f"{name}-control-plane", options, work, progress),
        nodes=tuple(_run("kind", "get", "nodes", "--name", name).split()),
    )
    labels = [f"{key}={value}" for key, value in gpu_labels(options.gpus).items()]
    workers = [node for node in made.nodes if not node.endswith("-control-plane")]
    for node in workers:
        made.kubectl("label", "node", node, *labels)
        patch = json.dumps(gpu_patch(options.gpus.per_node))
        made.kubectl(
            "patch", "node", node, "--subresource=status", "--type=json", f"--patch={patch}"
        )
    for one in (*images.base_images(progress), images.stand_in_image(progress)):
        _run("kind", "load", "image-archive", str(images.archive(one)), "--name", name)
    progress.say(f"{len(workers)} nodes have {options.gpus.per_node} {GPU} each")
    return made


def _start_prometheus(node: str, options: Options, work: Path, progress: Progress) -> str:
    config = work / "prometheus.yml"
    in_node = Path("/etc/kubernetes/admin.conf")
    config.write_text(pod_discovery_config(in_node, scrape_interval_s=options.scrape_interval_s))
    binary = tools.ensure(tools.PROMETHEUS, progress) / "prometheus"
    for file in (binary, config):
        _run("docker", "cp", str(file), f"{node}:/kind/{file.name}")
    listen = f"--web.listen-address=0.0.0.0:{_PROMETHEUS_PORT}"
    arguments = ["--config.file=/kind/prometheus.yml", "--storage.tsdb.path=/kind/tsdb", listen]
    _run("docker", "exec", "--detach", node, "/kind/prometheus", *arguments)
    template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    address = _run("docker", "inspect", "--format", template, node).strip()
    return f"http://{address}:{_PROMETHEUS_PORT}"


def _run(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"`{' '.join(command[:4])} …` failed: {result.stderr.strip()}")
    return result.stdout
