"""How a gateway spoils what goes through it: refusals, slowness, late events."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web

from tests.faults.errors import status_document


@dataclass(frozen=True, kw_only=True)
class Manner:
    """What happens to every request.

    Attributes:
        down: Whether connections end without an answer.
        delay_s: Seconds by which each answer is late.
        status: HTTP status that is answered instead of asking the API server.
        retry_after_s: What such an answer says of when to come again.
        every: Only each so manyth request is answered with `status`.
        lag_s: Seconds by which the events of a watch are late.
    """

    down: bool = False
    delay_s: float = 0.0
    status: int | None = None
    retry_after_s: int | None = None
    every: int = 1
    lag_s: float = 0.0
    _turn: Iterator[int] = field(default_factory=itertools.count)

    async def answer(self) -> web.Response | None:
        """Wait as long as it is late, and return what is answered in the API server's place."""
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.status is None or next(self._turn) % self.every:
            return None
        told = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        document = status_document(self.status, "the test answers in the API server's place")
        return web.json_response(document, status=self.status, headers=told)


USUAL = Manner()
"""Nothing is spoilt."""
