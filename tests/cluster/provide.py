"""A cluster for as long as a block lasts, from wherever it can be had.

`RIDGELINE_KUBECONFIG` names one that is there already: it is used and left alone. Else kind makes
one where a Docker engine has kind's node image, and else it is built from packages.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import kind
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster, load_cluster
from tests.cluster.launch import Options, launch
from tests.cluster.progress import Progress
from tests.cluster.spec import Level


@contextlib.contextmanager
def provided(options: Options, progress: Progress) -> Iterator[Cluster]:
    """Yield a cluster; one that was started for this block ends with it.

    Raises:
        ClusterError: none can be had; the message says what is missing and the ways out.
    """
    if given := os.environ.get("RIDGELINE_KUBECONFIG"):
        yield external(Path(given), os.environ.get("RIDGELINE_PROMETHEUS_URL"))
    elif options.level is Level.FULL and (image := kind.node_image()) is not None:
        with kind.cluster(image, options, progress) as cluster:
            yield cluster
    else:
        launched = launch(options, progress)
        try:
            yield launched.cluster
        finally:
            launched.end()


def external(kubeconfig: Path, prometheus_url: str | None) -> Cluster:
    """A cluster that somebody else started.

    One that `up` started is known whole, by the `cluster.json` beside its kubeconfig.

    Raises:
        ClusterError: there is no such file, no kubectl, or the kubeconfig cannot be used.
    """
    if not kubeconfig.is_file():
        raise ClusterError(f"RIDGELINE_KUBECONFIG={kubeconfig}: there is no such file")
    own = kubeconfig.parent / "cluster.json"
    if own.is_file():
        return load_cluster(own)
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise ClusterError("RIDGELINE_KUBECONFIG is set and kubectl is not on the PATH; add it")
    command = [kubectl, "--kubeconfig", str(kubeconfig), "config", "view", "--minify", "-o", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"RIDGELINE_KUBECONFIG={kubeconfig}: {result.stderr.strip()}")
    server = json.loads(result.stdout)["clusters"][0]["cluster"]["server"]
    return Cluster(
        kubeconfig=kubeconfig,
        api_server=server,
        kubectl_path=kubectl,
        prometheus_url=prometheus_url,
    )
