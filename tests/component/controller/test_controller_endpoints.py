"""The operator's own pages: metrics and probes, on every address family that there is."""

import http.client
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from ridgeline.controller import endpoints as endpoints_module
from ridgeline.controller.endpoints import OwnEndpoints
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.profiler import Profiler, ProfileUnderWayError
from ridgeline.controller.run import Operator
from ridgeline.settings.config import parse_config

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


def test_a_connection_that_asks_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints_module, "SILENCE_SECONDS", 0.2)
    endpoints = OwnEndpoints(
        OperatorMetrics().registry, port=0, alive=lambda: None, ready=lambda: None
    )
    endpoints.start()
    try:
        with socket.create_connection(("127.0.0.1", endpoints.port), timeout=30) as silent:
            assert silent.recv(1) == b""
    finally:
        endpoints.stop()


@pytest.mark.parametrize("on", [True, False])
def test_explanations_can_be_switched_off(on: bool) -> None:
    config = parse_config({"explain": on, "telemetry": [{"url": "http://127.0.0.1:9"}]})
    assert (Operator(config, None)._passes_of(None) is not None) is on


def test_without_explanations_there_is_no_such_page(port: int) -> None:
    assert _get(port, "/explain/default/llama")[0] == 404


@pytest.fixture
def profiled() -> Iterator[int]:
    """The port of an operator whose profiles are of a thread that does one thing."""
    over, secret = threading.Event(), "hunter2"

    def busy(password: str) -> None:
        while not over.wait(0.001):
            assert password == secret

    thread = threading.Thread(target=busy, args=(secret,), name="busy")
    thread.start()
    endpoints = OwnEndpoints(
        OperatorMetrics().registry,
        port=0,
        alive=lambda: None,
        ready=lambda: None,
        profiler=Profiler(thread.ident),
    )
    endpoints.start()
    yield endpoints.port
    over.set()
    thread.join()
    endpoints.stop()


def test_a_profile_shows_where_the_operator_is_and_no_value(profiled: int) -> None:
    status, text = _get(profiled, "/debug/profile?seconds=1")
    assert status == 200
    assert re.search(
        r";test_controller_endpoints.py:profiled.<locals>.busy:\d+;.* \d+$", text, re.MULTILINE
    )
    assert "hunter2" not in text
    assert all(re.fullmatch(r"\S+( \S+)*? \d+", line) for line in text.splitlines())


@pytest.mark.parametrize("query", ["seconds=0", "seconds=61", "seconds=x", "seconds=1.5"])
def test_a_profile_is_short(profiled: int, query: str) -> None:
    assert _get(profiled, f"/debug/profile?{query}") == (
        400,
        "seconds must be a whole number from 1 to 60\n",
    )


def test_profiles_are_off_by_default(port: int) -> None:
    assert _get(port, "/debug/profile?seconds=1")[0] == 404


def test_one_profile_is_taken_at_a_time() -> None:
    profiler = Profiler()
    first = threading.Thread(target=profiler.sample, args=(1.0,))
    first.start()
    while not profiler._one.locked():
        pass
    with pytest.raises(ProfileUnderWayError):
        profiler.sample(1)
    first.join()
    assert profiler.sample(0.05)
