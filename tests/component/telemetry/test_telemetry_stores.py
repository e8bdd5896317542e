"""Over real HTTP: what Thanos, Mimir and VictoriaMetrics say that a plain Prometheus does not."""

import json
import logging
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path

import pytest

from ridgeline.telemetry.endpoint import BasicAuth
from ridgeline.telemetry.queries import FAST, SLOW
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.tls import ClientCertificate
from tests.component.telemetry.certificates import client_side, server_side
from tests.component.telemetry.fake_prometheus import (
    NOW,
    WINDOW_SECONDS,
    FakePrometheus,
    Reply,
    error_of,
    fake_prometheus,
    read,
    series,
    success,
)

POD = ("prod", "llm-0")
TICK = 15.0


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with fake_prometheus() as running:
        yield running


STORE_IS_DOWN = "receive series from Addr: 10.0.0.1:10901: context deadline exceeded"


@pytest.mark.parametrize("name", ["decode_concurrency", "waiting"])
async def test_a_warning_of_thanos_makes_the_data_partial(fake: FakePrometheus, name: str) -> None:
    """Whichever query: what it lacks may be of any Pod."""
    fake.replies[name] = Reply(body=success(series("12"), warnings=[STORE_IS_DOWN]))
    snapshot = await read(fake.endpoint())
    assert snapshot.error is None
    assert snapshot.partial == (STORE_IS_DOWN,)
    assert STORE_IS_DOWN in snapshot.warnings
    assert snapshot.engines[POD][0].generated_tokens_per_second == 900


async def test_victoriametrics_marks_a_partial_answer(fake: FakePrometheus) -> None:
    fake.replies["request_steps"] = Reply(body=success(series("400"), isPartial=True))
    snapshot = await read(fake.endpoint())
    (remark,) = snapshot.partial
    assert "answered only in part (isPartial)" in remark
    assert remark in snapshot.warnings
    fake.replies["request_steps"] = Reply(body=success(series("400"), isPartial=False))
    assert (await read(fake.endpoint())).partial == ()


@pytest.mark.parametrize("where", ["infos", "warnings"])
async def test_informational_annotations_leave_the_data_whole(
    fake: FakePrometheus, where: str
) -> None:
    """Thanos hands those of the query engine on as warnings."""
    info = "PromQL info: metric might not be a counter, name does not end in _total"
    fake.replies["decode_concurrency"] = Reply(body=success(series("12"), **{where: [info]}))
    snapshot = await read(fake.endpoint())
    assert snapshot.partial == ()
    assert snapshot.warnings == (info,)


async def test_parameters_go_with_every_query_and_replace_none(fake: FakePrometheus) -> None:
    await read(fake.endpoint(parameters={"partial_response": "true", "dedup": "true"}))
    assert {request.name for request in fake.requests} == {*FAST, *SLOW}
    for request in fake.requests:
        assert (request.form["partial_response"], request.form["dedup"]) == ("true", "true")
        assert float(request.form["time"]) == NOW


async def test_a_limit_of_mimir_is_told_in_its_own_words(fake: FakePrometheus) -> None:
    error = (
        "the query exceeded the maximum number of series (limit: 10 series) "
        "(err-mimir-max-series-per-query)"
    )
    body = json.dumps({"status": "error", "errorType": "execution", "error": error}).encode()
    fake.replies["*"] = Reply(body=body, status=422)
    message = error_of(await read(fake.endpoint(headers={"X-Scope-OrgID": "inference"})))
    assert f"HTTP 422, query refused: {error}" in message
    assert {r.headers["X-Scope-OrgID"] for r in fake.requests} == {"inference"}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        ("90", 90.0),
        (" 90 ", 90.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        ("999999", 600.0),
        # Shorter than our own first wait, in the past, or no time at all.
        ("1", TICK),
        (formatdate(NOW - 90, usegmt=True), TICK),
        ("soon", TICK),
        ("-90", TICK),
        ("9" * 400, 600.0),
    ],
)
async def test_a_wait_that_is_asked_for_is_kept(
    fake: FakePrometheus, status: int, asked: str, wait: float
) -> None:
    fake.replies["first_tokens"] = Reply(
        body=b"slow down", status=status, headers={"Retry-After": asked}
    )
    snapshot = await read(fake.endpoint())
    assert "slow down" in error_of(snapshot)
    assert snapshot.next_attempt_at == NOW + wait


async def test_a_wait_is_kept_once_and_then_forgotten(fake: FakePrometheus) -> None:
    reader = TelemetryReader(fake.endpoint(), window_seconds=WINDOW_SECONDS)
    fake.replies["*"] = Reply(body=b"", status=429, headers={"Retry-After": "100"})
    await reader.read(NOW)
    fake.asked()
    assert not (await reader.read(NOW + 99)).asked
    assert fake.asked() == []
    fake.replies["*"] = Reply(body=b"", status=500)
    # The second failure in a row: our own wait of 30 s.
    assert (await reader.read(NOW + 100)).next_attempt_at == NOW + 130
    await reader.close()


async def test_a_password_that_a_server_echoes_stays_out_of_messages(
    fake: FakePrometheus, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("p4ssword")
    auth = BasicAuth(username="joe", password_file=tmp_path / "password")
    fake.replies["*"] = Reply(body=b"wrong: joe p4ssword am9lOnA0c3N3b3Jk", status=401)
    message = error_of(await read(fake.endpoint(auth=auth)))
    assert "wrong: joe [redacted] [redacted]" in message
    assert "p4ssword" not in message


@pytest.mark.parametrize("status", [200, 302, 401, 422, 503])
async def test_secrets_reach_no_log(
    fake: FakePrometheus, tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """Not even the logs of the libraries, at their most talkative."""
    caplog.set_level(logging.DEBUG)
    (tmp_path / "password").write_text("p4ssword")
    auth = BasicAuth(username="joe", password_file=tmp_path / "password")
    endpoint = fake.endpoint(auth=auth, headers={"X-Key": "k3y-of-tenant"})
    echo = b"p4ssword am9lOnA0c3N3b3Jk k3y-of-tenant"
    fake.replies["*"] = Reply(body=echo, status=status, headers={"Location": "http://x/p4ssword"})
    told = [error_of(await read(endpoint)), repr(endpoint)]
    told += [record.getMessage() for record in caplog.records]
    told += [str(record.exc_info) for record in caplog.records]
    assert fake.requests
    for secret in ("p4ssword", "am9lOnA0c3N3b3Jk", "k3y-of-tenant"):
        assert not [text for text in told if secret in text]


async def test_a_server_that_asks_who_comes_is_shown_a_certificate(tmp_path: Path) -> None:
    client = client_side(tmp_path)
    server = server_side(tmp_path, address="127.0.0.1", trusted=client.ca)
    async with fake_prometheus(server.context) as fake:
        known = await read(fake.endpoint(ca_file=server.ca, client_certificate=client.pair))
        assert known.error is None
        assert known.engines
        fake.asked()
        assert "query sample_age failed" in error_of(await read(fake.endpoint(ca_file=server.ca)))
        assert fake.asked() == []


async def test_a_certificate_is_shown_also_to_a_server_that_is_not_checked(
    tmp_path: Path,
) -> None:
    client = client_side(tmp_path)
    server = server_side(tmp_path, address="127.0.0.1", trusted=client.ca)
    async with fake_prometheus(server.context) as fake:
        snapshot = await read(fake.endpoint(verify=False, client_certificate=client.pair))
        assert snapshot.error is None
        # Without a CA of its own the system's are believed, and this server's is none of them.
        message = error_of(await read(fake.endpoint(client_certificate=client.pair)))
    assert "certificate verify failed" in message


@pytest.mark.parametrize("broken", ["missing", "not a certificate", "another key"])
async def test_a_client_certificate_that_cannot_be_used_is_told(
    fake: FakePrometheus, tmp_path: Path, broken: str
) -> None:
    pair = client_side(tmp_path).pair
    if broken == "missing":
        pair.key_file.unlink()
    elif broken == "not a certificate":
        pair.certificate_file.write_text("hello")
    else:
        pair = ClientCertificate(
            certificate_file=pair.certificate_file,
            key_file=server_side(tmp_path, address="127.0.0.1").ca.with_suffix(".key"),
        )
    message = error_of(await read(fake.endpoint(client_certificate=pair)))
    assert "client certificate" in message
    assert "without a pass phrase" in message
    assert fake.requests == []
