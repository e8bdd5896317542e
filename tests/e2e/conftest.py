"""Fixtures of the end-to-end tests: the cluster with our CRDs, and a room for each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.e2e.rooms import fresh_namespace, operator_of, small
from tests.scene.operator_process import OperatorProcess
from tests.scene.placed import Placed
from tests.scene.writes import AuditLog


@pytest.fixture(scope="session")
def prepared(cluster: Cluster) -> Cluster:
    """A full cluster that knows our resources."""
    cluster.kubectl("apply", "-f", str(REPO / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "-o", "name")
    return cluster


@pytest.fixture(scope="module")
def room(prepared: Cluster) -> Iterator[str]:
    """The namespace of a test file."""
    with fresh_namespace(prepared) as name:
        yield name


@pytest.fixture(scope="module")
def operator(prepared: Cluster, room: str) -> Iterator[OperatorProcess]:
    """An operator that looks after the room."""
    with operator_of(prepared, room) as process:
        process.wait_ready()
        yield process


@pytest.fixture
def audit(prepared: Cluster) -> AuditLog:
    """The writes on the cluster since the test began."""
    return AuditLog(prepared)


@pytest.fixture
def scene_of(prepared: Cluster, room: str, operator: OperatorProcess) -> Callable[..., Placed]:
    """Makes small scenes in the room, which the room's operator is to look after."""

    def make(name: str, **changes: Any) -> Placed:
        return Placed(prepared, small(room, name, **changes), operator)

    return make
