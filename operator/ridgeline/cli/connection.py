"""What every command that asks a cluster needs."""

import os
from pathlib import Path

from ridgeline.cluster.errors import ClusterError


def usual_kubeconfig() -> str | None:
    """Return kubectl's usual file, `None` when it is not there."""
    usual = Path(os.path.expanduser("~/.kube/config"))
    return str(usual) if usual.exists() else None


def no_serving(namespace: str, name: str) -> ClusterError:
    """Return the error of a serving that does not exist, with the way out."""
    return ClusterError(
        f"there is no SpeculativeServing {name!r} in namespace {namespace!r}; "
        "see kubectl get sps --all-namespaces"
    )
