"""The operator's own pages: metrics and probes, on every address family that there is."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from ridgeline.controller.endpoints import OwnEndpoints
from ridgeline.controller.metrics import OperatorMetrics

ADDRESSES = ["127.0.0.1", *(["::1"] if socket.has_dualstack_ipv6() else [])]


@pytest.fixture
def troubles() -> dict[str, str | None]:
    return {"alive": None, "ready": None}


@pytest.fixture
def port(troubles: dict[str, str | None]) -> Iterator[int]:
    endpoints = OwnEndpoints(
        OperatorMetrics().registry,
        port=0,
        alive=lambda: troubles["alive"],
        ready=lambda: troubles["ready"],
    )
    endpoints.start()
    yield endpoints.port
    endpoints.stop()


def _get(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("host", ADDRESSES)
def test_pages_are_served_on_every_address_family(port: int, host: str) -> None:
    assert _get(port, "/healthz", host) == (200, "ok\n")
    assert _get(port, "/readyz", host) == (200, "ok\n")
    status, page = _get(port, "/metrics", host)
    assert status == 200
    assert "ridgeline_info{" in page
    assert _get(port, "/", host)[0] == 404


def test_a_probe_says_why_not(port: int, troubles: dict[str, str | None]) -> None:
    troubles["ready"] = "the first listing is not in yet"
    assert _get(port, "/readyz") == (503, "the first listing is not in yet\n")
    assert _get(port, "/healthz?verbose")[0] == 200
    troubles["alive"] = "stuck"
    assert _get(port, "/healthz") == (503, "stuck\n")
