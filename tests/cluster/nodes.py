"""Nodes: a containerd and a kubelet each, joined by one bridge; kube-proxy for all.

A kubelet ends every container of its runtime that belongs to no Pod of its node, so nodes do not
share a containerd.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.component import Component
from tests.cluster.control_plane import user_config
from tests.cluster.gpus import gpu_labels
from tests.cluster.spec import Spec

PAUSE_IMAGE = "ridgeline.dev/pause:dev"
CNI_BINARIES = "/usr/lib/cni"

# Kernel settings a kubelet insists on writing. They belong to the whole machine, so it is given
# files to write to instead.
KERNEL_SETTINGS = {
    "/proc/sys/vm/overcommit_memory": "1",
    "/proc/sys/vm/panic_on_oom": "0",
    "/proc/sys/kernel/panic": "10",
    "/proc/sys/kernel/panic_on_oops": "1",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000",
    "/proc/sys/kernel/keys/root_maxbytes": "25000000",
}


def node_dir(state_dir: Path, node: str) -> Path:
    """Everything that belongs to one node."""
    return state_dir / node


def containerd_socket(state_dir: Path, node: str) -> Path:
    """Where the node's containerd listens."""
    return node_dir(state_dir, node) / "containerd" / "containerd.sock"


def containerd_config(root: Path, state: Path, socket: Path, *, cri: str = "") -> str:
    """A containerd that keeps to its own folders."""
    # The opt plugin makes /opt/containerd; the other snapshotters only warn on such a disk.
    unused = [
        "io.containerd.internal.v1.opt",
        "io.containerd.snapshotter.v1.aufs",
        "io.containerd.snapshotter.v1.btrfs",
        "io.containerd.snapshotter.v1.devmapper",
        "io.containerd.snapshotter.v1.zfs",
    ]
    if not cri:
        unused.append("io.containerd.grpc.v1.cri")
    return f"""version = 2
root = "{root}"
state = "{state}"
disabled_plugins = {json.dumps(unused)}
[grpc]
  address = "{socket}"
{cri}"""


def _cri_config(state_dir: Path) -> str:
    # Without restrict_oom_score_adj a sandbox dies at start where CAP_SYS_RESOURCE is missing.
    return f"""[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_BINARIES}"
  conf_dir = "{state_dir / "cni"}"
"""


def cni_config(spec: Spec) -> dict[str, object]:
    """One bridge for the Pods of all nodes; the addresses are counted in the state folder."""
    address_plan = {
        "type": "host-local",
        "ranges": [[{"subnet": str(spec.network.pods)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(spec.state_dir / "cni-addresses"),
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        # Addresses stay as they are: the machine has a route to them.
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": address_plan,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "ridgeline", "plugins": [bridge, ports]}


def kubelet_config(spec: Spec, index: int) -> dict[str, object]:
    """A kubelet that works in a container or a small virtual machine, next to others."""
    home = node_dir(spec.state_dir, spec.node_names[index])
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": spec.network.node_ip(index),
        "healthzPort": 0,
        "readOnlyPort": 0,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{containerd_socket(spec.state_dir, home.name)}",
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "maxPods": 200,
        "oomScoreAdj": 0,
        "podLogsDir": str(home / "logs"),
        "resolvConf": "",
        "serializeImagePulls": False,
        "volumePluginDir": str(home / "volume-plugins"),
    }


def proxy_config(spec: Spec) -> dict[str, object]:
    """kube-proxy for all nodes: they share one network namespace."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(user_config(spec, "kube-proxy"))},
        "clusterCIDR": str(spec.network.pods),
        # The connection table's size belongs to the whole machine.
        "conntrack": {"maxPerCore": 0, "min": 0},
        "hostnameOverride": spec.node_names[0],
        "iptables": {"minSyncPeriod": "100ms"},
        "mode": "iptables",
        "oomScoreAdj": 0,
    }


def write_node_files(spec: Spec) -> None:
    """All configuration files of the nodes."""
    cni = spec.state_dir / "cni"
    cni.mkdir()
    (cni / "10-ridgeline.conflist").write_text(json.dumps(cni_config(spec)))
    (spec.state_dir / "kube-proxy.json").write_text(json.dumps(proxy_config(spec)))
    for index, name in enumerate(spec.node_names):
        home = node_dir(spec.state_dir, name)
        (home / "containerd").mkdir(parents=True)
        config = containerd_config(
            home / "containerd" / "root",
            home / "containerd" / "state",
            containerd_socket(spec.state_dir, name),
            cri=_cri_config(spec.state_dir),
        )
        (home / "containerd.toml").write_text(config)
        (home / "kubelet.json").write_text(json.dumps(kubelet_config(spec, index)))


def containerd(spec: Spec, name: str) -> Component:
    """The container runtime of one node."""
    home = node_dir(spec.state_dir, name)
    config = str(home / "containerd.toml")
    return Component(
        name=f"containerd-{name}", argv=("containerd", "--config", config, "--log-level", "warn")
    )


def kubelet(spec: Spec, index: int) -> Component:
    """The agent of one node."""
    name = spec.node_names[index]
    home = node_dir(spec.state_dir, name)
    labels = ",".join(f"{key}={value}" for key, value in gpu_labels(spec.gpus).items())
    return Component(
        name=f"kubelet-{name}",
        argv=(
            spec.binary("kubelet"),
            f"--config={home / 'kubelet.json'}",
            f"--kubeconfig={user_config(spec, name)}",
            f"--root-dir={home / 'kubelet'}",
            f"--cert-dir={home / 'certificates'}",
            f"--hostname-override={name}",
            f"--node-ip={spec.network.node_ip(index)}",
            f"--node-labels={labels}",
        ),
    )


def kube_proxy(spec: Spec) -> Component:
    """Makes Service addresses reachable, from Pods and from the machine."""
    config = str(spec.state_dir / "kube-proxy.json")
    return Component(name="kube-proxy", argv=(spec.binary("kube-proxy"), f"--config={config}"))
