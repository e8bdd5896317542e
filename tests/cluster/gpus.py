"""Fake GPUs: labels as the real ones have, and a count that the scheduler respects."""

from __future__ import annotations

from tests.cluster.spec import Gpus

GPU = "nvidia.com/gpu"


def gpu_labels(gpus: Gpus) -> dict[str, str]:
    """As NVIDIA's GPU feature discovery labels such a node."""
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": gpus.product,
        "nvidia.com/gpu.memory": str(gpus.memory_mib),
        "nvidia.com/gpu.count": str(gpus.per_node),
    }


def gpu_patch(count: int) -> list[dict[str, str]]:
    """The JSON patch of a node's status that gives it that many GPUs."""
    # A kubelet copies unknown resources from capacity to allocatable at its next report and
    # otherwise leaves them alone; writing both saves the wait.
    return [
        {"op": "add", "path": f"/status/{place}/{GPU.replace('/', '~1')}", "value": str(count)}
        for place in ("capacity", "allocatable")
    ]
