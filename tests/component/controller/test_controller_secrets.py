"""Whatever an endpoint answers, no secret of the operator gets into a log, an Event or a status.

The real reader, over real HTTP, under the real controller; the endpoint sends back every secret
that it was sent, in each place where an answer has words.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from ridgeline.cluster.api import Credentials
from ridgeline.controller import handlers
from ridgeline.telemetry.endpoint import Auth, BasicAuth, BearerToken, Endpoint
from ridgeline.telemetry.reader import TelemetryReader
from tests.component.controller.simulated_prometheus import (
    Misbehaviour,
    SimulatedPrometheus,
    simulated_prometheus,
)
from tests.component.controller.world import HIGH, WINDOW, World, spec

TOKEN, PASSWORD, KEY = "t0ken-of-the-operator", "passw0rd-of-the-operator", "k3y-of-the-tenant"
BASIC = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
SECRETS = (TOKEN, PASSWORD, KEY, BASIC)
ECHO = f"you said {TOKEN} and {PASSWORD} ({BASIC}) and {KEY}"
ECHOES = {
    "refused": Misbehaviour(status=403, spoil=lambda _: ECHO.encode()),
    "query refused": Misbehaviour(
        status=422, spoil=lambda _: json.dumps({"status": "error", "error": ECHO}).encode()
    ),
    "redirected": Misbehaviour(status=307, headers={"Location": f"http://x.example/?{KEY}{TOKEN}"}),
    "warned": Misbehaviour(warnings=(ECHO,)),
    "as a value": Misbehaviour(value=ECHO),
    "no JSON": Misbehaviour(spoil=lambda _: ECHO.encode()),
    "as an endpoint that waits": Misbehaviour(status=429, headers={"Retry-After": TOKEN}),
}


@pytest.fixture
async def prometheus() -> AsyncIterator[tuple[World, SimulatedPrometheus]]:
    world = World()
    world.deploy(users=HIGH)
    async with simulated_prometheus(world.telemetry, WINDOW) as running:
        yield world, running


def _auths(folder: Path) -> list[Auth]:
    (folder / "token").write_text(TOKEN)
    (folder / "password").write_text(PASSWORD)
    return [
        BearerToken(token_file=folder / "token"),
        BasicAuth(username="reader", password_file=folder / "password"),
    ]


@pytest.mark.parametrize("way", [0, 1], ids=["token", "password"])
@pytest.mark.parametrize("echo", ECHOES)
async def test_a_secret_that_comes_back_goes_nowhere(
    prometheus: tuple[World, SimulatedPrometheus],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    echo: str,
    way: int,
) -> None:
    caplog.set_level(logging.DEBUG)
    world, server = prometheus
    auth = _auths(tmp_path)[way]
    # Only what was sent can be told apart from any other word.
    sent = (TOKEN, KEY) if way == 0 else (PASSWORD, BASIC, KEY)
    endpoint = Endpoint(name="default", url=server.url, auth=auth, headers={"X-Scope": KEY})
    reader = TelemetryReader(endpoint, window_seconds=WINDOW)
    world.sources["default"] = reader
    world.cluster.create_serving("llama", spec())
    process = world.start()
    server.misbehaviour = ECHOES[echo]
    await world.run(60)
    await reader.close()
    assert server.requests > 0
    told = {
        "the status": json.dumps(dict(world.status())),
        "Events": str(world.cluster.events),
        "the log": caplog.text + str([vars(each) for each in caplog.records]),
        "metrics": generate_latest(process.metrics.registry).decode(),
    }
    for place, text in told.items():
        assert [each for each in sent if each in text] == [], place
    assert world.status()["conditions"]


def _credentials(token: str) -> Credentials:
    return Credentials(
        server="https://h",
        ca_path=None,
        verify=True,
        token=token,
        certificate_path=None,
        private_key_path=None,
    )


def test_the_token_of_the_operator_is_in_no_text_of_the_watch_session() -> None:
    assert TOKEN not in repr(handlers._session(_credentials(TOKEN), None))
    assert TOKEN not in repr(_credentials(TOKEN))


def test_credentials_that_were_refused_are_known_again() -> None:
    """Else the streams would ask with them for ever: each login would look like a new one."""
    before = handlers._session(_credentials("old"), None)
    assert before == handlers._session(_credentials("old"), None)
    assert before != handlers._session(_credentials("new"), None)


async def test_credentials_outlive_the_session_that_was_closed() -> None:
    told = handlers._session(_credentials(TOKEN), None)
    first = told.aiohttp_session
    await first.close()
    second = told.aiohttp_session
    assert not second.closed
    assert second.headers["Authorization"] == f"Bearer {TOKEN}"
    await second.close()
