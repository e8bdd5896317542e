"""The order in which a cluster comes up. Runs inside the supervisor."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cluster import control_plane, nodes
from tests.cluster.api import Api, load_api
from tests.cluster.children import Children
from tests.cluster.component import Component
from tests.cluster.errors import ClusterError
from tests.cluster.gpus import GPU, gpu_patch
from tests.cluster.network import configure_inside
from tests.cluster.paths import HIDDEN_FOLDERS
from tests.cluster.prometheus import is_ready, pod_discovery_config, prometheus_component
from tests.cluster.spec import Level, Spec

Start = Callable[[Component], None]

# Generous: a shared two-core machine under load took a third of it.
_PATIENCE_S = 120.0


def steps(spec: Spec, children: Children, start: Start) -> Iterator[str]:
    """Bring the cluster up; yields what has just been reached.

    Raises:
        ClusterError: a component ended, or did not become ready in time.
    """
    full = spec.level is Level.FULL
    if full:
        _prepare_namespaces(spec)
        configure_inside(spec.network, nodes=spec.nodes)
        nodes.write_node_files(spec)
        yield "network and mounts are the cluster's own"
    tokens = control_plane.write_secrets(spec)
    start(control_plane.etcd(spec))
    start(control_plane.apiserver(spec))
    if full:
        yield from _start_containerds(spec, children, start)
    certificate = control_plane.certificate(spec)
    children.wait_until(certificate.exists, "the API server's certificate", timeout_s=_PATIENCE_S)
    control_plane.write_kubeconfigs(spec, tokens)
    api = load_api(spec.state_dir / "kubeconfig")
    children.wait_until(api.ready, "the API server", timeout_s=_PATIENCE_S)
    yield "API server is ready"
    start(control_plane.controller_manager(spec))
    start(control_plane.scheduler(spec))
    if full:
        yield from _start_nodes(spec, children, start, api)
    children.wait_until(
        lambda: _path_exists(api, "/api/v1/namespaces/default/serviceaccounts/default"),
        "the controller-manager",
        timeout_s=_PATIENCE_S,
    )
    yield "controllers are at work"


def _path_exists(api: Api, path: str) -> bool:
    return api.call("GET", path) is not None


def _prepare_namespaces(spec: Spec) -> None:
    for folder in HIDDEN_FOLDERS:
        _run("mount", "-t", "tmpfs", "tmpfs", folder)
    for number, (setting, value) in enumerate(nodes.KERNEL_SETTINGS.items()):
        if Path(setting).exists():
            stand_in = spec.state_dir / f"kernel-setting-{number}"
            stand_in.write_text(value + "\n")
            _run("mount", "--bind", str(stand_in), setting)


def _start_containerds(spec: Spec, children: Children, start: Start) -> Iterator[str]:
    if spec.containerd_template is None:
        raise ValueError("containerd_template: a full cluster needs one")
    for name in spec.node_names:
        root = nodes.node_dir(spec.state_dir, name) / "containerd" / "root"
        clone_template(spec.containerd_template, root)
        start(nodes.containerd(spec, name))
    sockets = [nodes.containerd_socket(spec.state_dir, name) for name in spec.node_names]
    children.wait_until(
        lambda: all(socket.exists() for socket in sockets), "containerd", timeout_s=_PATIENCE_S
    )
    imports = [
        Component(name=f"import-{node}-{number}", argv=ctr(spec.state_dir, node, archive))
        for node in spec.node_names
        for number, archive in enumerate(spec.archives)
    ]
    for component in imports:
        children.start(component)
    names = [component.name for component in imports]
    children.wait_for_ends(names, "importing images", timeout_s=_PATIENCE_S)
    yield f"{spec.nodes} containerds are up, images are in"


def ctr(state_dir: Path, node: str, archive: Path) -> tuple[str, ...]:
    """The command that imports an image archive into a node's containerd."""
    address = str(nodes.containerd_socket(state_dir, node))
    return ("ctr", "-a", address, "-n", "k8s.io", "images", "import", str(archive))


def clone_template(template: Path, root: Path) -> None:
    """Give a containerd the template's images in no time.

    Image contents never change and are hard-linked (copied where links are impossible), the two
    databases are copied. Unpacked layers, thousands of files, are mounted read-only: nothing is
    to be removed but the mounts, and those go with their namespace.
    """
    unpacked = Path("io.containerd.snapshotter.v1.overlayfs/snapshots")
    for source in sorted(template.glob("*/*")):
        target = root / source.relative_to(template)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".db":
            _run("cp", str(source), str(target))
        elif source.relative_to(template) == unpacked:
            target.mkdir()
        else:
            _link_or_copy(source, target)
    for layer in (template / unpacked).iterdir():
        target = root / unpacked / layer.name
        target.mkdir()
        _run("mount", "--bind", str(layer), str(target))
        _run("mount", "-o", "remount,bind,ro", str(target))


def _link_or_copy(source: Path, target: Path) -> None:
    command = ["cp", "-a", "--link", str(source), str(target)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        _run("rm", "-rf", str(target))
        _run("cp", "-a", str(source), str(target))


def _start_nodes(spec: Spec, children: Children, start: Start, api: Api) -> Iterator[str]:
    for index in range(spec.nodes):
        start(nodes.kubelet(spec, index))
    start(nodes.kube_proxy(spec))
    _start_prometheus(spec, start)
    for name in spec.node_names:
        path = f"/api/v1/nodes/{name}"
        children.wait_until(
            lambda path=path: _path_exists(api, path),  # type: ignore[misc]
            f"the registration of {name}",
            timeout_s=_PATIENCE_S,
        )
        set_gpus(api, name, spec.gpus.per_node)
    children.wait_until(lambda: _all_ready(api, spec), "the nodes", timeout_s=_PATIENCE_S)
    yield f"{spec.nodes} nodes are Ready with {spec.gpus.per_node} GPUs each"
    url = f"http://{spec.host}:{spec.ports.prometheus}"
    children.wait_until(lambda: is_ready(url), "Prometheus", timeout_s=_PATIENCE_S)
    yield "Prometheus is ready"


def _start_prometheus(spec: Spec, start: Start) -> None:
    if spec.prometheus_dir is None:
        raise ValueError("prometheus_dir: a full cluster needs one")
    config = spec.state_dir / "prometheus.yml"
    kubeconfig = control_plane.user_config(spec, "prometheus")
    config.write_text(pod_discovery_config(kubeconfig, scrape_interval_s=spec.scrape_interval_s))
    listen = f"{spec.host}:{spec.ports.prometheus}"
    binary = spec.prometheus_dir / "prometheus"
    start(prometheus_component(binary, config, spec.state_dir / "prometheus", listen))


def set_gpus(api: Api, node: str, count: int) -> None:
    """Give the node that many GPUs, in capacity and allocatable."""
    path = f"/api/v1/nodes/{node}/status"
    if api.call("PATCH", path, gpu_patch(count), content="json-patch+json") is None:
        raise ClusterError(f"node {node} disappeared while it was being set up")


def _all_ready(api: Api, spec: Spec) -> bool:
    answer = api.call("GET", "/api/v1/nodes")
    ready = [
        node["metadata"]["name"]
        for node in answer["items"]
        if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        and not node["spec"].get("taints")
        and GPU in node["status"]["allocatable"]
    ]
    return set(ready) == set(spec.node_names)


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"`{' '.join(command)}` failed: {result.stderr.strip()}")
