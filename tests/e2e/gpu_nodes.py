"""Nodes of the cluster whose GPU labels are changed for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.cluster.handle import Cluster
from tests.scene.manifests import H100

PRODUCT = "nvidia.com/gpu.product"


class GpuNodes:
    """The nodes that are labelled as H100."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        items = cluster.kubectl("get", "nodes", "-l", f"{PRODUCT}={H100}")["items"]
        self.names: tuple[str, ...] = tuple(sorted(each["metadata"]["name"] for each in items))

    def call(self, product: str, *names: str) -> None:
        """Give nodes another GPU, by the label of NVIDIA's discovery."""
        self._cluster.kubectl(
            "label", "node", *names, f"{PRODUCT}={product}", "--overwrite", "-o=name"
        )


@contextlib.contextmanager
def gpu_nodes(cluster: Cluster) -> Iterator[GpuNodes]:
    """The GPU nodes; their labels are what they were when the block ends."""
    nodes = GpuNodes(cluster)
    try:
        yield nodes
    finally:
        nodes.call(H100, *nodes.names)
