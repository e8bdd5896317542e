"""Credentials that are replaced under a running process, read anew when they are refused.

Kubernetes replaces a Pod's token every hour and its authority's certificates every few years, in
the files that the Pod has; plugins of a kubeconfig give tokens for a quarter of an hour. The client
reads most of it once, when it connects.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from kubernetes.aio.client import Configuration

from ridgeline.cluster.errors import ClusterError

log = logging.getLogger(__name__)

LEAST_SECONDS: Final = 5.0
"""They are read no more often than this: a plugin may start a process for each time."""

_UNAUTHORIZED: Final = 401
_KEY: Final = "BearerToken"
"""Under this name the client keeps a token."""

Read = Callable[[], Awaitable[Configuration]]
"""Reads credentials from where they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What credentials say. Never logged."""

    token: str = field(repr=False)
    files: tuple[bytes, ...] = field(repr=False)


class Renewal:
    """Middleware of an aiohttp session that renews its credentials, and then asks once more.

    A request that was refused with 401, or never sent because the server's certificate is not
    trusted, has done nothing, so that asking again is safe for writes too. Authorities are added:
    one that was trusted once is so until the process ends, as it is for its open connections.

    Args:
        read: Reads credentials anew; may fail with `ClusterError`.
        in_use: The credentials that are in use; without, a refused token is left to who made the
            session, and only what a certificate is checked by is renewed.
        now: Monotonic seconds.
    """

    def __init__(
        self,
        read: Read,
        in_use: Configuration | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context: ssl.SSLContext | None = None
        self._read = read
        self._in_use = in_use
        self._now = now
        self._told: _Told | None = None
        self._read_at = -LEAST_SECONDS
        self._changed_at = -LEAST_SECONDS
        self._reading = asyncio.Lock()

    def guard(self, context: ssl.SSLContext | None) -> None:
        """Keep what a TLS context trusts up to date; call it with the credentials just read."""
        self._context = context
        self._told = None if self._in_use is None else _told(self._in_use)

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Make the call; make it once more with credentials that have changed meanwhile."""
        begun = self._now()
        try:
            response = await handler(request)
        except aiohttp.ClientConnectorCertificateError:
            if not await self._renewed(begun):
                raise
        else:
            refused = self._in_use is not None and response.status == _UNAUTHORIZED
            if not refused or not await self._renewed(begun):
                return response
            response.release()
        if self._in_use is not None:
            token = await self._in_use.get_api_key_with_prefix(_KEY)
            if token:
                request.headers["Authorization"] = token
        return await handler(request)

    async def _renewed(self, begun: float) -> bool:
        """Read credentials; return whether they differ from those that a call was begun with."""
        async with self._reading:
            if self._changed_at >= begun:
                return True
            if self._now() - self._read_at < LEAST_SECONDS:
                return False
            self._read_at = self._now()
            try:
                found = await self._read()
                told = await asyncio.to_thread(_told, found)
                if told == self._told:
                    return False
                self._take(found)
            except (ClusterError, OSError, ssl.SSLError) as error:
                # Perhaps half of it is written: the next refusal looks again.
                log.warning("credentials could not be read anew: %s", error)
                return False
            self._told, self._changed_at = told, self._now()
            log.info("credentials have changed, and are read anew")
            return True

    def _take(self, found: Configuration) -> None:
        if self._context is not None and found.ssl_ca_cert:
            self._context.load_verify_locations(cafile=found.ssl_ca_cert)
        if self._context is not None and found.cert_file:
            self._context.load_cert_chain(found.cert_file, keyfile=found.key_file)
        if self._in_use is None:
            return
        self._in_use.api_key.update(found.api_key)
        self._in_use.refresh_api_key_hook = found.refresh_api_key_hook


def _told(configuration: Configuration) -> _Told:
    paths = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return _Told(
        token=str(configuration.api_key.get(_KEY) or ""),
        files=tuple(Path(each).read_bytes() if each else b"" for each in paths),
    )
