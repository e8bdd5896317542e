"""Why a server was not reached, in words for a person instead of a client's objects."""

import os
from urllib.parse import urlsplit

import aiohttp


def address_of(url: str) -> str:
    """Return scheme, host and port of an address, and nothing else that stands in it."""
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        return "an address without http:// or https://"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def why_unreachable(error: Exception, timeout_seconds: float) -> str:
    """Return why there was no answer.

    Args:
        error: What the HTTP client raised.
        timeout_seconds: How long it waited.
    """
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection can be made"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_seconds:g} s"
    if isinstance(error, aiohttp.InvalidURL):
        return "the address is none that can be asked"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection"
    if isinstance(error, OSError):
        known = error.errno is not None and error.errno > 0
        text = os.strerror(error.errno) if known and error.errno else error.strerror
        return (text or "no connection can be made").lower()
    return "the answer broke off, or is no HTTP"
