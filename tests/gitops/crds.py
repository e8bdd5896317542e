"""CRDs on an API server, served before anything is asked of them."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until


def install(cluster: Cluster, path: Path) -> None:
    """Apply a file or a folder of CRDs, and wait until they are served."""
    cluster.kubectl("apply", "--server-side", "-f", str(path))
    wait_until(lambda: _established(cluster, path), f"the CRDs of {path.name}")


def _established(cluster: Cluster, path: Path) -> bool:
    # kubectl gives up, instead of waiting, on a CRD that has no conditions yet.
    how = ("--for=condition=Established", "--timeout=30s", "-o", "name")
    try:
        cluster.kubectl("wait", *how, "-f", str(path))
    except ClusterError as error:
        if ".status.conditions accessor error" not in str(error):
            raise
        return False
    return True
