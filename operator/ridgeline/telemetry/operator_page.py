"""Pages of the operator's own port at an address that a person named, such as a port-forward's."""

import json
from typing import Any, Final

import aiohttp

from ridgeline.telemetry.errors import MalformedError, UnavailableError

MOST_BYTES: Final = 1024 * 1024
TIMEOUT_SECONDS: Final = 10.0


async def operator_page(url: str, page: str) -> dict[str, Any]:
    """Read a page of an operator, which must be a JSON object.

    No redirect is followed, no proxy of the environment obeyed, and no credential sent.

    Args:
        url: Address of its port.
        page: The path, without its first slash.

    Raises:
        UnavailableError: It does not answer, or does not have the page.
        MalformedError: It answers with something else.
    """
    try:
        status, body = await _read(f"{url.rstrip('/')}/{page}")
    except TimeoutError:
        raise UnavailableError(f"no answer within {TIMEOUT_SECONDS:g} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise UnavailableError(f"it does not answer ({type(error).__name__})") from None
    answer = _object(body)
    if status == 200 and answer is not None:
        return answer
    told = str((answer or {}).get("message", ""))[:200]
    if status == 200 or not told:
        raise MalformedError(f"what answers there (HTTP {status}) is no operator of this version")
    raise UnavailableError(told)


async def _read(address: str) -> tuple[int, bytes]:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        aiohttp.ClientSession(
            timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
        ) as session,
        session.get(address, allow_redirects=False) as response,
    ):
        body = bytearray()
        async for chunk in response.content.iter_chunked(64 * 1024):
            body += chunk
            if len(body) > MOST_BYTES:
                raise MalformedError(f"what answers there sends more than {MOST_BYTES} bytes")
        return response.status, bytes(body)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None
