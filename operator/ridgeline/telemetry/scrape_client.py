"""Fetches the metrics page of one Pod: one request, no retry, a bounded answer, no redirect."""

import asyncio
from typing import Final

import aiohttp

from ridgeline.telemetry.errors import TooLargeError, UnavailableError
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint, ScrapeTarget

_CHUNK: Final = 64 * 1024
_HEADERS: Final = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "gzip"}


class PageFetcher:
    """Fetches pages within one tick; use as an asynchronous context manager.

    Raises:
        CredentialsError: On entering: a certificate file cannot be used.
    """

    def __init__(self, endpoint: PodsEndpoint) -> None:
        self._endpoint: Final = endpoint
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "PageFetcher":
        # How many are asked at once is the caller's business: no second queue hides in here.
        connector = aiohttp.TCPConnector(ssl=self._endpoint.ssl_context(), limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            # The caller's deadline is the only one.
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, target: ScrapeTarget, deadline: float) -> tuple[bytes, float]:
        """The page of a Pod, and when its answer began, in seconds of the loop's clock.

        Args:
            target: The Pod.
            deadline: When to give up, in seconds of the running loop's clock.

        Raises:
            UnavailableError: No answer in time, or no page.
            TooLargeError: The page exceeds the endpoint's limit.
        """
        try:
            async with asyncio.timeout_at(deadline):
                return await self._get(target)
        except TimeoutError:
            raise UnavailableError("no answer in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnavailableError(f"{type(error).__name__}: {error}"[:200]) from None

    async def _get(self, target: ScrapeTarget) -> tuple[bytes, float]:
        if self._session is None:
            raise UnavailableError("the fetcher is not entered")
        host = f"[{target.host}]" if ":" in target.host else target.host
        async with self._session.get(
            f"{self._endpoint.scheme}://{host}:{target.port}{self._endpoint.path}",
            server_hostname=self._endpoint.server_name,
            allow_redirects=False,
        ) as response:
            began = asyncio.get_running_loop().time()
            if response.status != 200:
                raise UnavailableError(f"HTTP {response.status}", status=response.status)
            return await self._body(response), began

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        limit = self._endpoint.max_answer_bytes
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > limit:
                response.close()
                raise TooLargeError(f"the page exceeds max_answer_bytes {limit}")
        return bytes(body)
