"""A connection to a real API server, and a namespace for each file of tests."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ridgeline.cluster.api import KubernetesApi
from tests.cluster.handle import Cluster
from tests.component.cluster.parents import FULL_ISVC, TWO_LLM

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def room(control_plane: Cluster) -> Iterator[str]:
    """A namespace that the tests of one file share; names in it are the test's own."""
    name = f"component-{uuid.uuid4().hex[:8]}"
    control_plane.kubectl("create", "namespace", name)
    yield name
    control_plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def crds(control_plane: Cluster) -> None:
    """Our CRDs, served."""
    folder = str(ROOT / "crds")
    control_plane.kubectl("apply", "--server-side", "-f", folder)
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", folder)


@pytest.fixture(scope="module")
def kserve(control_plane: Cluster) -> Iterator[None]:
    """KServe's kinds, served."""
    documents = (FULL_ISVC, TWO_LLM)
    for each in documents:
        control_plane.kubectl("apply", "--server-side", "-f", "-", input_object=each)
        named = f"crd/{each['metadata']['name']}"
        control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", named)
    yield
    for each in documents:
        control_plane.kubectl("delete", "crd", each["metadata"]["name"], "--wait=false")


@pytest.fixture
async def api(control_plane: Cluster) -> AsyncIterator[KubernetesApi]:
    """A connection of the test's own."""
    connection = await KubernetesApi.connect(str(control_plane.kubeconfig), user_agent="test")
    yield connection
    await connection.close()
    await asyncio.sleep(0.05)  # TLS connections need a moment to end


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"t-{uuid.uuid4().hex[:8]}"
