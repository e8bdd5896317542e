"""What one cluster is made of: the values that `up` hands to its supervisor."""

from __future__ import annotations

import dataclasses
import enum
import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.network import Network


class Level(enum.StrEnum):
    """How much of a cluster."""

    CONTROL_PLANE = "control-plane"
    """API server, etcd, controller-manager, scheduler: enough for CRDs and API behaviour."""
    FULL = "full"
    """Also nodes that run Pods, Services, and Prometheus."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Listening ports of the control plane."""

    etcd: int = 2379
    etcd_peer: int = 2380
    api: int = 6443
    prometheus: int = 9090


@dataclass(frozen=True, kw_only=True)
class Gpus:
    """The fake GPUs of every node."""

    per_node: int = 2
    product: str = "NVIDIA-H100-80GB-HBM3"
    memory_mib: int = 81559
    """As NVIDIA's GPU feature discovery labels an H100 SXM with 80 GB."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One cluster. Everything in it can be written as JSON and read back."""

    level: Level
    state_dir: Path
    kubernetes_dir: Path
    prometheus_dir: Path | None = None
    nodes: int = 0
    gpus: Gpus = field(default_factory=Gpus)
    ports: Ports = field(default_factory=Ports)
    slot: int | None = None
    scrape_interval_s: float = 5.0
    containerd_template: Path | None = None
    archives: tuple[Path, ...] = ()

    @property
    def network(self) -> Network:
        """The address plan (full clusters only)."""
        if self.slot is None:
            raise ValueError("slot: this cluster has no network of its own")
        return Network(slot=self.slot)

    @property
    def host(self) -> str:
        """Where the control plane listens."""
        return "127.0.0.1" if self.slot is None else self.network.api_ip

    @property
    def service_range(self) -> str:
        """Service addresses in CIDR form."""
        return "10.96.0.0/16" if self.slot is None else str(self.network.services)

    @property
    def node_names(self) -> tuple[str, ...]:
        """node-0, node-1, …"""
        return tuple(f"node-{index}" for index in range(self.nodes))

    def binary(self, name: str) -> str:
        """The path of a Kubernetes binary."""
        return str(self.kubernetes_dir / name)

    def dump(self) -> str:
        """The JSON form."""
        return json.dumps(dataclasses.asdict(self), default=str)


def load_spec(text: str) -> Spec:
    """The spec from its JSON form."""
    data = json.loads(text)
    for key in ("state_dir", "kubernetes_dir", "prometheus_dir", "containerd_template"):
        data[key] = Path(data[key]) if data[key] is not None else None
    data["level"] = Level(data["level"])
    data["gpus"] = Gpus(**data["gpus"])
    data["ports"] = Ports(**data["ports"])
    data["archives"] = tuple(Path(path) for path in data["archives"])
    return Spec(**data)
