"""A way from an operator to the API server that a test can block, cut, spoil and listen to.

It ends the operator's connections itself, so that it knows which request is which: plain HTTP, or
TLS with a certificate of its own.
"""

from __future__ import annotations

import asyncio
import enum
import json
import re
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

from aiohttp import ClientError, ClientSession, ClientTimeout, StreamReader, TCPConnector, web

from tests.cluster.prometheus import free_ports
from tests.faults.errors import status_document
from tests.faults.loops import drained
from tests.faults.manner import USUAL, Manner

_HOP_BY_HOP = frozenset({"host", "connection", "transfer-encoding", "content-length"})
_DEPLOYMENT = re.compile(r"/apis/apps/v1/namespaces/[^/]+/deployments/(?P<name>[^/]+)$")
_OBJECT = re.compile(
    r"/apis/(apps|ridgeline\.dev)/[^/]+/namespaces/[^/]+/"
    r"(deployments|speculativeservings)/(?P<name>[^/]+)(/status)?$"
)


_LETS_NOTHING = "the test lets no write of this Deployment through"
_ERROR_EVENT = re.compile(rb'"type":"ERROR".*"code":(?P<code>\d+)')


class Silence(enum.Enum):
    """What is swallowed: neither an answer nor an end of the connection is seen."""

    NOTHING = "nothing"
    WATCHES = "watches"
    ALL = "all"


class Moment(enum.Enum):
    """Where in a write something happens."""

    BEFORE = "before"
    """It never reaches the API server."""
    AFTER = "after"
    """The API server has answered, and nobody hears it."""


Trap = tuple[Moment, Callable[[], object]]
"""When to act, and what to do."""


class Gateway:
    """Stands between one operator and the API server; use as a context manager.

    Everything may be called from any thread.

    Attributes:
        kubeconfig: The way through it, as a file.
        port: Where it listens.
        codes: How often each HTTP status was answered, since somebody last cleared it. A watch
            counts when it begins; an error within a watch counts by its own code.
    """

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        *,
        listen: str = "127.0.0.1",
        named: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare a gateway.

        Args:
            kubeconfig: The way to the API server.
            folder: Where its own kubeconfig is written.
            listen: Address on which it listens.
            named: By which name it is asked; by default the address.
            tls: How it proves who it is; without, it speaks plain HTTP.
        """
        self._config = json.loads(kubeconfig.read_text())
        self._server = self._config["clusters"][0]["cluster"]["server"]
        self.port = free_ports(1)[0]
        self._listen, self._tls = listen, tls
        self._address = f"{'http' if tls is None else 'https'}://{named or listen}:{self.port}"
        self.kubeconfig = folder / "gateway.kubeconfig"
        self.codes: Counter[int] = Counter()
        self._manner = USUAL
        self._refused_tokens: set[str] = set()
        self._transports: set[asyncio.BaseTransport] = set()
        self._refused: set[str] = set()
        self._silence = Silence.NOTHING
        self._traps: dict[str, Trap] = {}
        self._springing = 0
        self._watches: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Gateway:
        self._config["clusters"][0]["cluster"] = {"server": self._address}
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(self._config))
        self._thread.start()
        if not self._ready.wait(timeout=20):
            raise TimeoutError("the gateway does not listen")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(timeout=20)
        if self._thread.is_alive():
            raise TimeoutError("the gateway does not end")
        self._loop.close()

    def refuse(self, name: str) -> None:
        """Answer 503 to writes of that Deployment, from now on."""
        self._refused.add(name)

    def admit(self, *names: str) -> None:
        """Refuse nothing any more of these Deployments; of none at all where none is named."""
        self._refused -= set(names or self._refused)

    def silence(self, what: Silence) -> None:
        """Swallow these from now on; what was held back comes late when nothing is any more."""
        self._silence = what

    def cut_watches(self) -> None:
        """Break every watch stream that is open."""
        self._loop.call_soon_threadsafe(lambda: [each.cancel() for each in tuple(self._watches)])

    def behave(self, manner: Manner) -> None:
        """Spoil every request in this manner from now on."""
        self._manner = manner

    def refuse_token(self, token: str) -> None:
        """Answer 401 to whoever shows this token, from now on."""
        self._refused_tokens.add(token)

    def hang_up(self) -> None:
        """End every connection, idle ones too."""
        self._loop.call_soon_threadsafe(self._hang_up)

    def _hang_up(self) -> None:
        for each in self._transports:
            if isinstance(each, asyncio.Transport):
                each.abort()

    def trap(self, name: str, moment: Moment, act: Callable[[], object]) -> None:
        """Act once at the next write of a Deployment or serving of that name, and drop the write.

        `act` runs in the gateway's own thread.
        """
        self._traps[name] = (moment, act)

    def all_sprung(self, *, but: Collection[str] = ()) -> bool:
        """Whether every trap has been sprung, or all but some."""
        return self._traps.keys() <= set(but) and self._springing == 0

    def forget_traps(self) -> list[str]:
        """Take the traps away; return the names of those that were not sprung."""
        left = sorted(self._traps)
        self._traps.clear()
        return left

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(drained())

    async def _serve(self) -> None:
        # The certificate is the cluster's own, and what is tested is not who it belongs to.
        connector = TCPConnector(ssl=False, limit=0)
        timeout = ClientTimeout(total=None, sock_connect=5)
        async with ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as up:
            app = web.Application(client_max_size=2**26)

            async def pass_on(request: web.Request) -> web.StreamResponse:
                self._remember(request)
                answer = await self._pass_on(up, request)
                self.codes[answer.status] += 1
                return answer

            app.router.add_route("*", "/{path:.*}", pass_on)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, self._listen, self.port, ssl_context=self._tls)
            await site.start()
            self._ready.set()
            await self._over.wait()
            self._silence = Silence.NOTHING
            for each in tuple(self._watches):
                each.cancel()
            await runner.cleanup()

    async def _pass_on(self, up: ClientSession, request: web.Request) -> web.StreamResponse:
        watching = request.query.get("watch") in ("true", "1")
        body = await request.read()
        await self._heard(watching=watching)
        if self._manner.down:
            return _dropped(request)
        spoilt = await self._manner.answer()
        if spoilt is not None:
            return spoilt
        if request.headers.get("Authorization", "")[len("Bearer ") :] in self._refused_tokens:
            return web.json_response(status_document(401, "the token was replaced"), status=401)
        if _refusable(request) in self._refused:
            return web.json_response(status_document(503, _LETS_NOTHING), status=503)
        trap = self._trap_of(request)
        if trap is not None and trap[0] is Moment.BEFORE:
            return self._sprung(request, trap[1])
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP}
        try:
            answer = await up.request(
                request.method, self._server + request.raw_path, headers=headers, data=body or None
            )
        except (ClientError, TimeoutError):
            return self._lost(request, trap)
        async with answer:
            given = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP_BY_HOP}
            if watching:
                told = web.StreamResponse(status=answer.status, headers=given)
                return await self._relay(request, answer.content, told)
            try:
                content = await answer.read()
            except (ClientError, TimeoutError):
                return self._lost(request, trap)
        if trap is not None:
            return self._sprung(request, trap[1])
        await self._heard(watching=False)
        return web.Response(status=answer.status, headers=given, body=content)

    def _remember(self, request: web.Request) -> None:
        """Know every connection, for `hang_up`."""
        self._transports = {each for each in self._transports if not each.is_closing()}
        if request.transport is not None:
            self._transports.add(request.transport)

    async def _relay(
        self, request: web.Request, source: StreamReader, told: web.StreamResponse
    ) -> web.StreamResponse:
        async def pump() -> None:
            await told.prepare(request)
            async for part in source.iter_any():
                await self._heard(watching=True)
                await asyncio.sleep(self._manner.lag_s)
                self.codes.update(_codes_of_errors(part))
                await told.write(part)

        pumping = asyncio.ensure_future(pump())
        self._watches.add(pumping)
        try:
            await pumping
        except (ClientError, TimeoutError, ConnectionError, asyncio.CancelledError):
            _drop(request)
        finally:
            self._watches.discard(pumping)
        return told

    async def _heard(self, *, watching: bool) -> None:
        swallowing = {Silence.ALL, Silence.WATCHES} if watching else {Silence.ALL}
        while self._silence in swallowing:  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.1)

    def _trap_of(self, request: web.Request) -> Trap | None:
        found = _OBJECT.search(request.path)
        if found is None or request.method != "PATCH" or "dryRun" in request.query:
            return None
        if found["name"] in self._traps:
            self._springing += 1
        return self._traps.pop(found["name"], None)

    def _sprung(self, request: web.Request, act: Callable[[], object]) -> web.Response:
        act()
        self._springing -= 1
        return _dropped(request)

    def _lost(self, request: web.Request, trap: Trap | None) -> web.Response:
        return _dropped(request) if trap is None else self._sprung(request, trap[1])


def _codes_of_errors(part: bytes) -> list[int]:
    return [int(each["code"]) for each in _ERROR_EVENT.finditer(part)]


def _refusable(request: web.Request) -> str | None:
    found = _DEPLOYMENT.search(request.path)
    if found is None or request.method != "PATCH" or "dryRun" in request.query:
        return None
    return found["name"]


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _dropped(request: web.Request) -> web.Response:
    _drop(request)
    return web.Response(status=502)
