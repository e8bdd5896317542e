"""A thin asynchronous client of Prometheus's HTTP API: one instant query, one request, no retry.

It keeps what the endpoint remarked, bounds what it reads, follows no redirect, obeys no proxy of
the environment, and says what failed in one line that holds no secret. An answer from a clock that
differs is remarked on, and refused where the difference would mislead.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp

from ridgeline.telemetry.backoff import LONGEST_ASKED_SECONDS
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.errors import (
    BadQueryError,
    MalformedError,
    TelemetryError,
    TooLargeError,
    UnavailableError,
)
from ridgeline.telemetry.parse import Answer, parse_answer, parse_document

REMARKED_SKEW_SECONDS: Final = 5.0
"""Difference between the endpoint's clock and ours that is remarked on: above the one-second steps
of the Date header and what synchronised clocks differ by."""

REFUSED_SKEW_SECONDS: Final = 20.0
"""Difference at which an answer is refused. Where the endpoint is ahead, its numbers are older than
they look by as much; where it is behind, the rate window reaches into its future and every rate
reads too low, at the default window of two minutes by a sixth."""

_SKEWED: Final = (
    "the endpoint's clock and the operator's differ by more than {:g} s, so ages and rates are "
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
    """Asks one endpoint. Use as an asynchronous context manager, or close it yourself.

    Attributes:
        retry_after_seconds: Longest wait that an answer asked for (`Retry-After`) since
            `credentials` was last called, that is in this tick; `None` when none did.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint: Final = endpoint
        self.retry_after_seconds: float | None = None
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
        self.retry_after_seconds = None
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
            UnavailableError: No answer in time, another status, or a clock that differs too much.
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
        return answer if date is None else self._checked_clock(answer, date, time, deadline)

    def _checked_clock(self, answer: Answer, date: float, time: float, deadline: float) -> Answer:
        """The answer, with a remark if its clock differs from ours.

        Raises:
            UnavailableError: It differs too much.
        """
        # The tick began at `time`, one timeout before its deadline; it may be long under way.
        started = deadline - self.endpoint.timeout_seconds
        elapsed = max(0.0, asyncio.get_running_loop().time() - started)
        ahead = date - time
        skew = max(0.0, -ahead, ahead - elapsed)
        if skew > REFUSED_SKEW_SECONDS:
            raise UnavailableError(_SKEWED.format(REFUSED_SKEW_SECONDS))
        if skew > REMARKED_SKEW_SECONDS:
            remark = _SKEWED.format(REMARKED_SKEW_SECONDS)
            return replace(answer, warnings=(*answer.warnings, remark))
        return answer

    async def _post(
        self, promql: str, time: float, deadline: float, credentials: Credentials
    ) -> tuple[bytes, float | None]:
        left = max(0.001, deadline - asyncio.get_running_loop().time())
        form = dict(self.endpoint.parameters)
        form |= {"query": promql, "time": f"{time:.3f}", "timeout": f"{round(left * 1000)}ms"}
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
        wait = retry_after(response.headers.get("Retry-After"), response.headers.get("Date"))
        if wait is not None:
            self.retry_after_seconds = max(wait, self.retry_after_seconds or 0.0)
        way_out = _WAYS_OUT.get(status, "look at the endpoint's own log")
        return UnavailableError(
            f"HTTP {status}: {reason}; {way_out}", status=status, retry_after_seconds=wait
        )


def _date(text: str | None) -> float | None:
    """Epoch seconds of a `Date` header; `None` when there is none that can be read."""
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def retry_after(text: str | None, date: str | None) -> float | None:
    """Seconds that a `Retry-After` header asks for; `None` when there is none that can be read.

    Args:
        text: The header: whole seconds, or a moment.
        date: The answer's `Date` header, from which a moment counts: the same clock wrote both.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        # Bounded here: a number of very many digits would be infinite.
        return min(float(text), LONGEST_ASKED_SECONDS)
    until, since = _date(text), _date(date)
    return None if until is None or since is None else max(0.0, until - since)


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
