"""A thin asynchronous client of Prometheus's HTTP API: one instant query, one request, no retry.

It keeps what the endpoint remarked, bounds what it reads, follows no redirect, obeys no proxy of
the environment, and says what failed in one line that holds no secret.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import (
    BadQueryError,
    MalformedError,
    TelemetryError,
    TooLargeError,
    UnavailableError,
)
from ridgeline.telemetry.parse import Answer, parse_answer, parse_document

SKEW_SECONDS: Final = 30.0
"""Difference between the endpoint's clock and the evaluation time that is remarked on: well above
a slow answer and the one-second steps of the Date header, well below a rate window of minutes."""

_SKEWED: Final = (
    f"the endpoint's clock and the operator's differ by more than {SKEW_SECONDS:g} s, so ages are "
    "wrong by as much; synchronise the clocks"
)
_ERROR_BYTES: Final = 4096
_MESSAGE_LENGTH: Final = 200
_CHUNK: Final = 64 * 1024
_WAYS_OUT: Final = {
    401: "check the endpoint's credentials",
    403: "check the rights of the endpoint's credentials",
    404: "check the endpoint's url: /api/v1/query is not there",
    405: "check the endpoint's url: it does not take POST",
    429: "the endpoint limits requests; raise its limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Headers of the requests of one tick, and the texts in them that no message may repeat."""

    headers: Mapping[str, str]
    secrets: tuple[str, ...]


class PrometheusClient:
    """Asks one endpoint. Use as an asynchronous context manager, or close it yourself."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint: Final = endpoint
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back; a later query opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def credentials(self) -> Credentials:
        """Read the credentials from their files, once for a tick.

        Raises:
            CredentialsError: They cannot be read.
        """
        headers = self.endpoint.request_headers()
        return Credentials(headers=headers, secrets=self.endpoint.secrets(headers))

    async def query(
        self, promql: str, *, time: float, deadline: float, credentials: Credentials
    ) -> Answer:
        """Evaluate an instant query.

        Args:
            promql: The query.
            time: Evaluation time, epoch seconds.
            deadline: When to give up, in seconds of the running loop's clock.
            credentials: As `credentials()` gave them.

        Raises:
            UnavailableError: No answer in time, or a status that is not about the query.
            BadQueryError: The endpoint refuses the query.
            TooLargeError: The answer exceeds the endpoint's limits.
            MalformedError: The answer is not what the API promises.
        """
        try:
            async with asyncio.timeout_at(deadline):
                body, date = await self._post(promql, time, deadline, credentials)
        except TimeoutError:
            raise UnavailableError(
                f"no answer within {self.endpoint.timeout_seconds:g} s; the endpoint is slow or "
                "unreachable: look at its load, or raise timeoutSeconds"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            message = _redact(f"{type(error).__name__}: {error}", credentials.secrets)
            raise UnavailableError(
                f"{message}; check the endpoint's url, its certificate and the network"
            ) from None
        try:
            answer = parse_answer(body, max_series=self.endpoint.max_series)
        except MalformedError as error:
            message = _redact(str(error), credentials.secrets)
            raise MalformedError(
                f"malformed answer: {message}; is a Prometheus at the endpoint's url?"
            ) from None
        except TooLargeError as error:
            raise TooLargeError(f"{error}; narrow the endpoint's matchers or raise it") from None
        skewed = date is not None and abs(date - time) > SKEW_SECONDS
        return replace(answer, warnings=(*answer.warnings, _SKEWED)) if skewed else answer

    async def _post(
        self, promql: str, time: float, deadline: float, credentials: Credentials
    ) -> tuple[bytes, float | None]:
        left = max(0.001, deadline - asyncio.get_running_loop().time())
        form = {"query": promql, "time": f"{time:.3f}", "timeout": f"{round(left * 1000)}ms"}
        async with self._open().post(
            f"{self.endpoint.url}/api/v1/query",
            data=form,
            headers=credentials.headers,
            allow_redirects=False,
        ) as response:
            if response.status != 200:
                raise await self._refusal(response, credentials.secrets)
            return await self._body(response), _date(response.headers.get("Date"))

    def _open(self) -> aiohttp.ClientSession:
        """The session; made at first use, since it belongs to the running loop."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self.endpoint.ssl_context()),
                # The deadline of the tick is the only one.
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        limit = self.endpoint.max_answer_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_chunked(_CHUNK):
            size += len(chunk)
            if size > limit:
                # Not read to its end, so the connection cannot be used again.
                response.close()
                raise TooLargeError(
                    f"the answer exceeds max_answer_bytes {limit}; narrow the endpoint's matchers "
                    "or raise it"
                )
            chunks.append(chunk)
        return b"".join(chunks)

    async def _refusal(
        self, response: aiohttp.ClientResponse, secrets: tuple[str, ...]
    ) -> TelemetryError:
        status = response.status
        if 300 <= status < 400:
            host = urlsplit(response.headers.get("Location", "")).hostname or "another path"
            return UnavailableError(
                f"HTTP {status}, a redirect to {host}, which is not followed; put the final "
                "address into the endpoint's url",
                status=status,
            )
        body = await response.content.read(_ERROR_BYTES)
        response.close()
        reason = _redact(_reason(body), secrets)
        if status in (400, 422):
            return BadQueryError(f"HTTP {status}, query refused: {reason}", status=status)
        way_out = _WAYS_OUT.get(status, "look at the endpoint's own log")
        return UnavailableError(f"HTTP {status}: {reason}; {way_out}", status=status)


def _date(text: str | None) -> float | None:
    """Epoch seconds of a `Date` header; `None` when there is none that can be read."""
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _reason(body: bytes) -> str:
    """What an error answer says: the API's `error` text, else its first line."""
    try:
        error = parse_document(body).get("error")
    except MalformedError:
        error = None
    text = error if isinstance(error, str) else body.decode("utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "empty body"


def _redact(text: str, secrets: tuple[str, ...]) -> str:
    """One short line of `text` without any of the secrets."""
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= _MESSAGE_LENGTH else f"{line[: _MESSAGE_LENGTH - 1]}…"
