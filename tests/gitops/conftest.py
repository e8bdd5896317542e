"""Fixtures of the GitOps tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.handle import Cluster
from tests.cluster.paths import REPO
from tests.e2e.rooms import fresh_namespace
from tests.gitops.crds import install
from tests.gitops.pods import Pods
from tests.gitops.programs import Programs
from tests.gitops.stage import WINDOW_S, Stage, operator_config
from tests.scene.operator_process import OperatorProcess
from tests.scene.writes import AuditLog


@pytest.fixture(scope="session")
def programs(gitops_tools: Path) -> Programs:
    """What Argo CD and Flux run on our objects."""
    return Programs(folder=gitops_tools)


@pytest.fixture(scope="session")
def server(control_plane: Cluster) -> Cluster:
    """An API server that knows our resources."""
    install(control_plane, REPO / "crds")
    return control_plane


@pytest.fixture(scope="session")
def stage(
    server: Cluster,
    helm_binary: Path,
    helm3_binary: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    """A namespace whose Pods run, with the operator."""
    with (
        fresh_namespace(server) as namespace,
        Pods(server, namespace, WINDOW_S) as pods,
        OperatorProcess(server.kubeconfig, pods.url, **operator_config(namespace)) as operator,
    ):
        operator.wait_ready()
        yield Stage(
            cluster=server,
            namespace=namespace,
            operator=operator,
            audit=AuditLog(server),
            helm4=helm_binary,
            helm3=helm3_binary,
            folder=tmp_path_factory.mktemp("charts"),
        )
