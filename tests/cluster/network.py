"""The addresses of a full cluster, which lives in a network namespace of its own.

A pair of virtual devices joins that namespace to the machine; Pods and Services are reached by
routes over it, so nothing in the machine's firewall changes and several clusters live side by
side. When the namespace ends, the devices and the routes end with it.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
from dataclasses import dataclass

from tests.cluster.errors import ClusterError

SLOTS = 16
INNER_DEVICE = "eth0"


@dataclass(frozen=True, kw_only=True)
class Network:
    """The address plan of one cluster: slot 0 to 15."""

    slot: int

    @property
    def device(self) -> str:
        """The machine's end of the link."""
        return f"ridgeline{self.slot}"

    @property
    def link(self) -> ipaddress.IPv4Network:
        """Machine, API server and nodes."""
        return ipaddress.IPv4Network(f"10.87.{self.slot}.0/24")

    @property
    def pods(self) -> ipaddress.IPv4Network:
        """Pod addresses: 4,000 of them."""
        return ipaddress.IPv4Network(f"10.88.{self.slot * 16}.0/20")

    @property
    def services(self) -> ipaddress.IPv4Network:
        """Service addresses."""
        return ipaddress.IPv4Network(f"10.96.{self.slot * 16}.0/20")

    @property
    def machine_ip(self) -> str:
        """The machine as the cluster sees it."""
        return str(self.link[1])

    @property
    def api_ip(self) -> str:
        """Where the API server and Prometheus listen."""
        return str(self.link[2])

    def node_ip(self, index: int) -> str:
        """The InternalIP of a node."""
        return str(self.link[11 + index])


def attach(namespace_pid: int) -> Network:
    """Join the network namespace of that process to this machine, on the first free slot.

    Raises:
        ClusterError: every slot is taken, or the kernel refused the devices.
    """
    routes = json.loads(_ip("-j", "route", "show"))
    taken = [ipaddress.IPv4Network(r["dst"]) for r in routes if r["dst"] != "default"]
    for slot in range(SLOTS):
        network = Network(slot=slot)
        ours = (network.link, network.pods, network.services)
        if any(mine.overlaps(other) for mine in ours for other in taken):
            continue
        # Making the device is the claim: the kernel refuses a second one of that name.
        claim = ["link", "add", network.device, "type", "veth"]
        peer = ["peer", "name", INNER_DEVICE, "netns", str(namespace_pid)]
        if _try_ip(*claim, *peer) is not None:
            continue
        _ip("addr", "add", f"{network.machine_ip}/{network.link.prefixlen}", "dev", network.device)
        _ip("link", "set", network.device, "up")
        for reached in (network.pods, network.services):
            _ip("route", "add", str(reached), "via", network.api_ip, "dev", network.device)
        return network
    raise ClusterError(
        "no free addresses for another cluster: each of the 16 ranges in 10.87.0.0/16, "
        "10.88.0.0/16 and 10.96.0.0/16 overlaps a route or is in use; see "
        "`python -m tests.cluster status` and `ip route`"
    )


def detach(network: Network) -> None:
    """Remove the link and its routes; nothing happens when they have gone with the namespace."""
    _try_ip("link", "del", network.device)


def device_exists(network: Network) -> bool:
    """Whether the machine's end of the link is there."""
    return _try_ip("link", "show", network.device) is None


def configure_inside(network: Network, *, nodes: int) -> None:
    """Inside the namespace: loopback, the link's other end, a node address each, the way out."""
    _ip("link", "set", "lo", "up")
    prefix = network.link.prefixlen
    addresses = [network.api_ip, *(network.node_ip(index) for index in range(nodes))]
    for address in addresses:
        _ip("addr", "add", f"{address}/{prefix}", "dev", INNER_DEVICE)
    _ip("link", "set", INNER_DEVICE, "up")
    _ip("route", "add", "default", "via", network.machine_ip)


def _ip(*args: str) -> str:
    result = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"`ip {' '.join(args)}` failed: {result.stderr.strip()}")
    return result.stdout


def _try_ip(*args: str) -> str | None:
    """None when it worked, else what `ip` said."""
    result = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else result.stderr.strip() or "failed"
