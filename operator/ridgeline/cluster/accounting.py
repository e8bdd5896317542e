"""Tells every call to the Kubernetes API, and every sign of life of a watch stream.

One middleware for both HTTP sessions, the client's and that of the watch streams: what is counted
is what went over the wire, whoever asked for it.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, cast

import aiohttp
from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse
from yarl import URL

NO_ANSWER: Final = "none"
"""Stands for the HTTP status where there was no answer: no connection, broken off, given up."""

WHOLE_CLUSTER: Final = "*"
"""Scope of a watch over all namespaces, or of a kind that has none."""

OTHER: Final = "other"
"""Stands for the resource where a path is none of a resource: discovery, say."""

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class ApiObserver(Protocol):
    """Is told of calls and watches."""

    def called(self, verb: str, resource: str, code: str) -> None:
        """A call has ended, or a watch has begun.

        Args:
            verb: As in a Role: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
            resource: Plural name, with its subresource: `speculativeservings/status`.
            code: HTTP status, or `NO_ANSWER`.
        """

    def heard(self, resource: str, scope: str) -> None:
        """A watch stream has brought something: an event, or a bookmark.

        Args:
            resource: Plural name.
            scope: The namespace, or `WHOLE_CLUSTER`.
        """


class Accounting:
    """Middleware of an aiohttp session that tells an observer what goes over it."""

    def __init__(self, observer: ApiObserver) -> None:
        self._observer = observer

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Make the call, and tell how it ended."""
        verb, resource, scope = call_of(request.method, request.url)
        code = NO_ANSWER
        try:
            response = await handler(request)
            code = str(response.status)
        finally:
            # A call that was given up (cancelled) has no answer either.
            self._observer.called(verb, resource, code)
        if verb == "watch" and response.status == 200:
            self._observer.heard(resource, scope)
            stream = _HeardStream(response.content, self._observer, resource, scope)
            response.content = cast("aiohttp.StreamReader", stream)
        return response


class _HeardStream:
    """A body that tells of each part of it that arrives."""

    def __init__(
        self, stream: aiohttp.StreamReader, observer: ApiObserver, resource: str, scope: str
    ) -> None:
        self._stream = stream
        self._observer = observer
        self._of = (resource, scope)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        async for data in self._stream.iter_chunked(size):
            self._observer.heard(*self._of)
            yield data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def call_of(method: str, url: URL) -> tuple[str, str, str]:
    """Return verb, resource and scope of a call by its method and address.

    Paths are those of the API's conventions: `/api/v1/…` or `/apis/GROUP/VERSION/…`, then
    `namespaces/NAMESPACE` for what lies in one, then `RESOURCE/NAME/SUBRESOURCE`. (Namespaces
    themselves are never asked for.) Names of objects are left aside.
    """
    parts = [each for each in url.path.split("/") if each]
    root = {"api": 2, "apis": 3}.get(parts[0] if parts else "", len(parts))
    rest, scope = parts[root:], WHOLE_CLUSTER
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        scope, rest = rest[1], rest[2:]
    if not rest:
        return _VERBS.get(method, "get"), OTHER, scope
    resource = "/".join((rest[0], *rest[2:3]))
    verb = _VERBS.get(method)
    if verb is None:
        watched = url.query.get("watch") in ("true", "1")
        verb = "watch" if watched else ("get" if len(rest) > 1 else "list")
    return verb, resource, scope


def watched_session(
    observer: ApiObserver | None,
    *,
    ssl: Any,
    headers: dict[str, str],
    around: ClientMiddlewareType | None = None,
) -> aiohttp.ClientSession:
    """Return a session for watch streams, whose calls and signs of life are told.

    Args:
        observer: Is told of them, where there is one.
        ssl: TLS context: whom to trust, and the client's own certificate.
        headers: Sent with every request; they hold the token.
        around: What else stands around each call, further out than what tells of it.
    """
    return aiohttp.ClientSession(
        # A stream for each kind and namespace: no limit on how many are open at once.
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl),
        headers=headers,
        middlewares=tuple(
            each
            for each in (around, None if observer is None else Accounting(observer))
            if each is not None
        ),
    )
