"""One real Prometheus scraping many scripted replicas, for all tests of this folder."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.cluster.prometheus import start_prometheus
from tests.component.telemetry.exporter import Exporter
from tests.component.telemetry.looking import read
from tests.component.telemetry.scene import READY_AT, REPLICAS, Scene, scrape_config


@pytest.fixture(scope="session")
def scene(prometheus_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Ready when every lasting replica has been scraped for more than a window."""
    with Exporter(REPLICAS) as exporter:
        prometheus = start_prometheus(
            json.dumps(scrape_config(exporter.address)),
            tmp_path_factory.mktemp("prometheus"),
            binary=prometheus_binary,
        )
        try:
            exporter.wait_until(READY_AT)
            endpoint = Endpoint(name="real", url=prometheus.url)
            snapshot = asyncio.run(read(endpoint, time.time()))
            yield Scene(url=prometheus.url, exporter=exporter, snapshot=snapshot)
        finally:
            prometheus.stop()


@pytest.fixture
def snapshot(scene: Scene) -> TelemetrySnapshot:
    """What the reader made of the scene, at the same moment for every test."""
    assert scene.snapshot.error is None
    return scene.snapshot
