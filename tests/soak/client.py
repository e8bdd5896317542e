"""The way from one operator process to the API server, below the operator's own API layer.

It stands in for the Kubernetes client's HTTP side alone: what the operator makes of statuses,
bodies, time-outs and broken connections is its own code.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import aiohttp

from ridgeline.sim.session import ProcessLostError
from tests.soak.api_server import ApiServer, Request
from tests.soak.trouble import HTTP, LATE_SECONDS, SLOW_SECONDS, Harm, Strike, Trouble


class Surroundings(Protocol):
    """What the way leads through."""

    server: ApiServer

    def asked(self, request: Request) -> None:
        """Take note of a request that is sent."""

    def later(self, seconds: float, act: Any) -> None:
        """Do something after a time."""

    def advance(self, seconds: float) -> None:
        """Let time pass."""

    def lose_lease(self, who: str) -> None:
        """Take the Lease away from a process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    data: bytes
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        """Return the body."""
        return self.data


class SimulatedClient:
    """Implements what `KubernetesApi` calls of the Kubernetes client.

    Attributes:
        trouble: What goes wrong on the way.
        calls: How many requests were made.
    """

    def __init__(self, around: Surroundings, who: str) -> None:
        self.configuration = SimpleNamespace(host="http://simulated")
        self.trouble = Trouble()
        self.calls = 0
        self._around = around
        self._who = who
        self._lost: ProcessLostError | None = None

    async def param_serialize(
        self,
        method: str,
        path: str,
        *,
        query_params: Sequence[tuple[str, str]],
        header_params: Mapping[str, str],
        body: Any,
        auth_settings: Sequence[str],
    ) -> tuple[Request]:
        """Put a request together."""
        del header_params, auth_settings
        if isinstance(body, bytes):
            body = json.loads(body)
        request = Request(
            who=self._who,
            method=method,
            path=path,
            query=dict(query_params),
            # What is sent is what it was in that moment.
            body=json.loads(json.dumps(body or {})),
        )
        return (request,)

    async def call_api(self, request: Request, *, _request_timeout: float) -> Answer:
        """Make a request.

        Raises:
            aiohttp.ClientError: The connection broke.
            TimeoutError: No answer came.
            ProcessLostError: The process is gone.
        """
        if self._lost is None:
            # When it is sent counts, not when it is carried out.
            self._around.asked(request)
        await asyncio.sleep(0)  # other passes go on meanwhile
        if self._lost is not None:
            raise self._lost
        self.calls += 1
        strike = self.trouble.of(request.kind)
        if strike is None:
            return _told(*self._around.server.answer(request))
        return self._struck(request, strike)

    def _struck(self, request: Request, strike: Strike) -> Answer:
        """Do a strike's harm to a request, before or after it has its effect."""
        if strike.harm is Harm.KILLED:
            self._lost = ProcessLostError()
        if strike.after:
            answer = _told(*self._around.server.answer(request))
            return self._harmed(request, strike) or answer
        return self._harmed(request, strike) or _told(*self._around.server.answer(request))

    def _harmed(self, request: Request, strike: Strike) -> Answer | None:
        """Do a strike's harm; return the answer that comes instead, `None` for the usual one."""
        match strike.harm:
            case Harm.TOO_MANY | Harm.BROKEN:
                message = {"kind": "Status", "message": strike.harm.value}
                return _told(HTTP[strike.harm], message)
            case Harm.GARBAGE:
                return Answer(200, b"<html>welcome</html>", {})
            case Harm.RESET:
                raise aiohttp.ServerDisconnectedError
            case Harm.TIMEOUT | Harm.LATE:
                self._land_later(request, strike)
                raise TimeoutError
            case Harm.KILLED:
                raise self._lost or ProcessLostError
        self._meanwhile(strike)
        return None

    def _land_later(self, request: Request, strike: Strike) -> None:
        if strike.harm is Harm.LATE and not strike.after:
            self._around.later(LATE_SECONDS, lambda: self._around.server.answer(request))

    def _meanwhile(self, strike: Strike) -> None:
        """Let happen what happens while the request is on its way."""
        if strike.harm is Harm.LEASE_LOST:
            self._around.lose_lease(self._who)
        elif strike.harm is Harm.INTERRUPTED:
            strike.meanwhile()
        elif strike.harm is Harm.SLOW:
            self._around.advance(SLOW_SECONDS)


def _told(status: int, body: Mapping[str, Any]) -> Answer:
    headers = {"Retry-After": "1"} if status == 429 else {}
    return Answer(status, json.dumps(body).encode(), headers)
