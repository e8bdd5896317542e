"""The examples of the page about endpoints are run: each asks as the page says it does."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.settings.config import parse_config
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from tests.component.telemetry.certificates import client_side, server_side
from tests.component.telemetry.fake_pods import FakePod, fake_pods, load
from tests.component.telemetry.fake_prometheus import (
    NOW,
    WINDOW_SECONDS,
    FakePrometheus,
    fake_prometheus,
)

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "telemetry-endpoints.md"
MOUNT = "/etc/ridgeline/telemetry/"


def examples() -> dict[str, list[dict[str, Any]]]:
    """The configurations of the page by the heading that they stand under."""
    found: dict[str, list[dict[str, Any]]] = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found[heading] = [yaml.safe_load(block) for block in blocks]
    return found


def configured(content: dict[str, Any], folder: Path, url: str = "") -> Endpoint | PodsEndpoint:
    """The endpoint of an example, with its files in a folder and its address replaced."""
    (section,) = content["telemetry"]
    for name, value in section.items():
        if isinstance(value, str) and value.startswith(MOUNT):
            section[name] = str(folder / value.removeprefix(MOUNT))
    if "url" in section:
        section["url"] = url
    return parse_config(content).telemetry[0].endpoint()


async def read(endpoint: Endpoint | PodsEndpoint) -> TelemetrySnapshot:
    assert isinstance(endpoint, Endpoint)
    reader = TelemetryReader(endpoint, window_seconds=WINDOW_SECONDS)
    try:
        return await reader.read(NOW)
    finally:
        await reader.close()


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with fake_prometheus() as running:
        yield running


async def test_prometheus(fake: FakePrometheus, tmp_path: Path) -> None:
    snapshot = await read(configured(examples()["Prometheus"][0], tmp_path, fake.url))
    assert snapshot.error is None
    assert snapshot.engines


async def test_prometheus_with_token_and_certificates(tmp_path: Path) -> None:
    client = client_side(tmp_path)
    server = server_side(tmp_path, address="127.0.0.1", trusted=client.ca)
    (tmp_path / "token").write_text("t0ken\n")
    (tmp_path / "ca.crt").write_text(server.ca.read_text())
    (tmp_path / "tls.crt").write_text(client.pair.certificate_file.read_text())
    (tmp_path / "tls.key").write_text(client.pair.key_file.read_text())
    async with fake_prometheus(server.context) as fake:
        snapshot = await read(configured(examples()["Prometheus"][1], tmp_path, fake.url))
        assert snapshot.error is None
        assert {r.headers["Authorization"] for r in fake.requests} == {"Bearer t0ken"}
        assert all('cluster="eu-1"' in request.form["query"] for request in fake.requests)


async def test_thanos(fake: FakePrometheus, tmp_path: Path) -> None:
    await read(configured(examples()["Thanos"][0], tmp_path, fake.url))
    assert {r.form["partial_response"] for r in fake.requests} == {"true"}
    assert {r.form["dedup"] for r in fake.requests} == {"true"}


async def test_mimir(fake: FakePrometheus, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pass")
    await read(configured(examples()["Mimir"][0], tmp_path, fake.url))
    assert {r.headers["X-Scope-OrgID"] for r in fake.requests} == {"inference"}
    assert {r.headers["Authorization"] for r in fake.requests} == {"Basic aW5mZXJlbmNlOnBhc3M="}


async def test_no_prometheus(tmp_path: Path) -> None:
    content, policy = examples()["No Prometheus"]
    endpoint = configured(content, tmp_path)
    assert isinstance(endpoint, PodsEndpoint)
    pod = FakePod(name="llm-0", page=lambda: load(0))
    async with fake_pods(pod):
        reader = ScrapeReader(endpoint, lambda: [pod.target()])
        assert (await reader.read(NOW)).error is None
    # The policy opens the port that the example scrapes.
    (rule,) = policy["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [content["telemetry"][0]["pods"]["port"]]
    assert policy["kind"] == "NetworkPolicy"
