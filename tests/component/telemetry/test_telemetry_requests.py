"""Over real HTTP: what is sent, what is refused, and which secrets stay where they are."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ridgeline.telemetry.endpoint import BasicAuth, BearerToken
from ridgeline.telemetry.reader import TelemetryReader
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


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with fake_prometheus() as running:
        yield running


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "HTTP 400, query refused: parse error"),
        (422, "HTTP 422, query refused: parse error"),
        (401, "check the endpoint's credentials"),
        (404, "check the endpoint's url"),
        (429, "limits requests"),
        (500, "HTTP 500: parse error"),
    ],
)
async def test_refusals_say_what_to_do(fake: FakePrometheus, status: int, expected: str) -> None:
    body = json.dumps({"status": "error", "errorType": "bad_data", "error": "parse error\nmore"})
    fake.replies["*"] = Reply(body=body.encode(), status=status)
    message = error_of(await read(fake.endpoint()))
    assert expected in message
    assert "more" not in message


async def test_redirects_are_not_followed(fake: FakePrometheus) -> None:
    async with fake_prometheus() as other:
        location = f"{other.url}/api/v1/query?token=secret"
        fake.replies["*"] = Reply(body=b"", status=307, headers={"Location": location})
        message = error_of(await read(fake.endpoint()))
        assert other.requests == []
    assert "HTTP 307, a redirect to 127.0.0.1" in message
    assert "secret" not in message


async def test_answers_with_too_many_bytes_are_refused(fake: FakePrometheus) -> None:
    body = success(*(series("1", pod=f"llm-{n}") for n in range(1000)))
    fake.replies["generated_tokens"] = Reply(body=body)
    message = error_of(await read(fake.endpoint(max_answer_bytes=50_000)))
    assert "query generated_tokens failed: the answer exceeds max_answer_bytes 50000" in message


async def test_the_limit_of_bytes_holds_after_decompression(fake: FakePrometheus) -> None:
    bomb = gzip.compress(b" " * 5_000_000)
    fake.replies["generated_tokens"] = Reply(body=bomb, headers={"Content-Encoding": "gzip"})
    assert "max_answer_bytes" in error_of(await read(fake.endpoint(max_answer_bytes=50_000)))


async def test_answers_with_too_many_series_are_refused(fake: FakePrometheus) -> None:
    body = success(*(series("1", pod=f"llm-{n}") for n in range(11)))
    fake.replies["generated_tokens"] = Reply(body=body)
    assert "11 series, more than max_series 10" in error_of(
        await read(fake.endpoint(max_series=10))
    )


async def test_compressed_answers_are_read(fake: FakePrometheus) -> None:
    body = gzip.compress(success(series("12")))
    fake.replies["decode_concurrency"] = Reply(body=body, headers={"Content-Encoding": "gzip"})
    assert (await read(fake.endpoint())).engines[POD][0].decode_concurrency == 12


async def test_tokens_are_read_anew_for_every_tick(fake: FakePrometheus, tmp_path: Path) -> None:
    token = tmp_path / "token"
    endpoint = fake.endpoint(auth=BearerToken(token_file=token), headers={"X-Scope-OrgID": "blue"})
    reader = TelemetryReader(endpoint, window_seconds=WINDOW_SECONDS)
    for text in ("first-token\n", "second-token\n"):
        token.write_text(text)
        assert (await reader.read(NOW)).error is None
        sent = {request.headers["Authorization"] for request in fake.requests}
        assert sent == {f"Bearer {text.strip()}"}
        assert {request.headers["X-Scope-OrgID"] for request in fake.requests} == {"blue"}
        fake.asked()
    await reader.close()


async def test_basic_auth(fake: FakePrometheus, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pass")
    auth = BasicAuth(username="user", password_file=tmp_path / "password")
    await read(fake.endpoint(auth=auth))
    assert {r.headers["Authorization"] for r in fake.requests} == {"Basic dXNlcjpwYXNz"}


async def test_secrets_that_a_server_echoes_stay_out_of_messages(
    fake: FakePrometheus, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("s3cr3t-token")
    endpoint = fake.endpoint(
        auth=BearerToken(token_file=tmp_path / "token"), headers={"X-Key": "k3y-of-tenant"}
    )
    fake.replies["*"] = Reply(body=b"bad s3cr3t-token and k3y-of-tenant", status=403)
    message = error_of(await read(endpoint))
    assert "bad [redacted] and [redacted]" in message
    fake.replies["*"] = Reply(body=b"s3cr3t-token k3y-of-tenant")
    message = error_of(await read(endpoint))
    assert "s3cr3t" not in message
    assert "k3y" not in message
    assert "k3y" not in repr(endpoint)


async def test_a_missing_token_is_an_error_and_nothing_is_sent(
    fake: FakePrometheus, tmp_path: Path
) -> None:
    endpoint = fake.endpoint(auth=BearerToken(token_file=tmp_path / "nowhere"))
    message = error_of(await read(endpoint))
    assert "nowhere cannot be read: No such file or directory; mount the secret" in message
    assert fake.requests == []


async def test_a_missing_ca_file_is_an_error(fake: FakePrometheus, tmp_path: Path) -> None:
    message = error_of(await read(fake.endpoint(ca_file=tmp_path / "nowhere.pem")))
    assert "ca_file" in message
    assert fake.requests == []
