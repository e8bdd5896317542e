"""A gateway that holds one request in flight, or its answer, until it is told to let it go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from aiohttp import ClientSession, web

from tests.cluster.waiting import wait_until
from tests.faults.gateway import Gateway, Moment

_MOMENT_S = 0.3

Match = Callable[[web.Request, bytes], bool]


class Held:
    """A request that is held, once it has come.

    Attributes:
        code: HTTP status of the API server's answer; 0 before it.
    """

    def __init__(self, match: Match, moment: Moment) -> None:
        self.code = 0
        self.match, self.moment = match, moment
        self._came, self._free = threading.Event(), threading.Event()

    def wait(self, timeout_s: float = 60.0) -> None:
        """Wait until it has come.

        Raises:
            TimeoutError: It has not, in time.
        """
        if not self._came.wait(timeout_s):
            raise TimeoutError("the request that is to be held does not come")

    def release(self) -> None:
        """Let it go on its way."""
        self._free.set()

    def answered(self, timeout_s: float = 60.0) -> int:
        """Wait for the API server's answer to it, and return its status."""
        wait_until(lambda: self.code, "the answer to what was held", timeout_s=timeout_s)
        return self.code

    async def pause(self) -> None:
        """Be held."""
        self._came.set()
        while not self._free.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.02)


class HoldingGateway(Gateway):
    """Stands between one operator and the API server; use as a context manager."""

    _held: Held | None = None

    def __enter__(self) -> HoldingGateway:
        super().__enter__()
        return self

    def hold(self, match: Match, moment: Moment) -> Held:
        """Hold the next request that matches: it, or only the answer to it."""
        self._held = Held(match, moment)
        return self._held

    def _run(self) -> None:
        super()._run()
        # TLS connections need a moment to end.
        self._loop.run_until_complete(asyncio.sleep(_MOMENT_S))

    async def _pass_on(self, up: ClientSession, request: web.Request) -> web.StreamResponse:
        held, body = self._held, await request.read()
        if held is None or not held.match(request, body):
            return await super()._pass_on(up, request)
        self._held = None
        if held.moment is Moment.BEFORE:
            await held.pause()
        answer = await super()._pass_on(up, request)
        held.code = answer.status
        if held.moment is Moment.AFTER:
            await held.pause()
        return answer


def announcement_of(name: str) -> Match:
    """The status write that announces a roll of a serving."""

    def match(request: web.Request, body: bytes) -> bool:
        its = request.path.endswith(f"/speculativeservings/{name}/status")
        return its and request.method == "PATCH" and b'"state": "Intended"' in body

    return match


def write_of(name: str) -> Match:
    """The write of a Deployment, not a rehearsal of it."""

    def match(request: web.Request, _: bytes) -> bool:
        its = request.path.endswith(f"/deployments/{name}")
        return its and request.method == "PATCH" and "dryRun" not in request.query

    return match


def read_before_write_of(name: str) -> Match:
    """The read of a Deployment that comes between the announcement of a roll and its write."""
    announced, seen = announcement_of(name), False

    def match(request: web.Request, body: bytes) -> bool:
        nonlocal seen
        if not seen:
            seen = announced(request, body)
            return False
        return request.path.endswith(f"/deployments/{name}") and request.method == "GET"

    return match
