"""A namespace on a real API server that has our CRDs."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.handle import Cluster
from tests.crd.kube import Kubectl

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def server(control_plane: Cluster) -> Kubectl:
    """The API server, once it serves our kinds."""
    kubectl = Kubectl(control_plane, "default")
    kubectl.ok("apply", "--server-side", "--validate=strict", f"--filename={ROOT / 'crds'}")
    kubectl.ok(
        "wait", "--for=condition=Established", "--timeout=30s", f"--filename={ROOT / 'crds'}"
    )
    return kubectl


@pytest.fixture
def kubectl(server: Kubectl) -> Iterator[Kubectl]:
    """A namespace of the test's own."""
    name = f"crd-{uuid.uuid4().hex[:10]}"
    server.ok("create", "namespace", name)
    yield Kubectl(server.cluster, name)
    server.ok("delete", "namespace", name, "--wait=false")
