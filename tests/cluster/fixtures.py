"""Pytest fixtures: clusters, a fresh namespace, binaries, the operator's image.

A test that uses `cluster`, `control_plane` or `namespace` is marked `cluster` by itself. Where no
cluster can be had such a test fails with the reason; `RIDGELINE_SKIP_CLUSTER=1` skips it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cluster import tools
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options
from tests.cluster.operator_image import build_operator_image
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.cluster.spec import Level
from tests.cluster.waiting import wait_until

_CLUSTER_FIXTURES = {"cluster", "control_plane", "namespace"}
_PROMETHEUS_FIXTURES = {"prometheus_binary", "promtool_binary"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use."""
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        if used & _CLUSTER_FIXTURES:
            item.add_marker("cluster")
        if used & _PROMETHEUS_FIXTURES:
            item.add_marker("prometheus")


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A full cluster: four nodes with two GPUs each, Prometheus every second, stand-in image."""
    yield from _provide(Options(level=Level.FULL, scrape_interval_s=1.0), pytestconfig)


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """An API server with its controllers and scheduler, without nodes."""
    yield from _provide(Options(level=Level.CONTROL_PLANE), pytestconfig)


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace on the cluster that the test uses (`control_plane` when it names none).

    Its default service account exists. It is deleted afterwards, without waiting.
    """
    name = "cluster" if "cluster" in request.fixturenames else "control_plane"
    where: Cluster = request.getfixturevalue(name)
    made = where.kubectl(
        "create",
        "-f",
        "-",
        input_object={
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"generateName": "test-"},
        },
    )["metadata"]["name"]
    wait_until(
        lambda: "default" in where.kubectl("get", "serviceaccounts", "-n", made, "-o", "name"),
        f"the default service account of namespace {made}",
    )
    yield made
    where.kubectl("delete", "namespace", made, "--wait=false")


@pytest.fixture(scope="session")
def prometheus_binary(pytestconfig: pytest.Config) -> Path:
    """The path of `prometheus` (see `prometheus.start_prometheus`)."""
    return _tools(tools.PROMETHEUS, pytestconfig) / "prometheus"


@pytest.fixture(scope="session")
def promtool_binary(pytestconfig: pytest.Config) -> Path:
    """The path of `promtool`, to check rules and configurations."""
    return _tools(tools.PROMETHEUS, pytestconfig) / "promtool"


@pytest.fixture(scope="session")
def helm_binary(pytestconfig: pytest.Config) -> Path:
    """The path of `helm`."""
    return _tools(tools.HELM, pytestconfig) / "helm"


@pytest.fixture(scope="session")
def helm3_binary(pytestconfig: pytest.Config) -> Path:
    """The path of a `helm` of version 3."""
    return _tools(tools.HELM3, pytestconfig) / "helm"


@pytest.fixture(scope="session")
def gitops_tools(pytestconfig: pytest.Config) -> Path:
    """The folder with `argolua` and `kstatus`."""
    return _tools(tools.GITOPS, pytestconfig)


@pytest.fixture(scope="session")
def kubectl_binary(pytestconfig: pytest.Config) -> Path:
    """The path of `kubectl`, for what needs no cluster."""
    return _tools(tools.KUBERNETES, pytestconfig) / "kubectl"


@pytest.fixture(scope="session")
def operator_image(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's image as an archive, built from the project's Dockerfile as it is now."""
    _skip_when_told()
    try:
        with _shown(pytestconfig):
            return build_operator_image(tmp_path_factory.mktemp("image"), Progress())
    except ClusterError as error:
        _fail(error)


def _provide(options: Options, config: pytest.Config) -> Iterator[Cluster]:
    _skip_when_told()
    with contextlib.ExitStack() as stack:
        try:
            with _shown(config):
                cluster = stack.enter_context(provided(options, Progress()))
        except ClusterError as error:
            _fail(error)
        yield cluster


def _tools(toolset: tools.Toolset, config: pytest.Config) -> Path:
    _skip_when_told()
    try:
        with _shown(config):
            return tools.ensure(toolset, Progress())
    except ClusterError as error:
        _fail(error)


def _skip_when_told() -> None:
    if os.environ.get("RIDGELINE_SKIP_CLUSTER") == "1":
        pytest.skip("RIDGELINE_SKIP_CLUSTER=1")


def _fail(error: ClusterError) -> NoReturn:
    way_out = "set RIDGELINE_SKIP_CLUSTER=1 to skip the tests that need it"
    pytest.fail(f"{error}\n{way_out}", pytrace=False)


@contextlib.contextmanager
def _shown(config: pytest.Config) -> Iterator[None]:
    """Let progress through to the terminal: minutes of silence look like a hang."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield
        return
    with capture.global_and_fixture_disabled():
        print(file=sys.stderr)
        yield
