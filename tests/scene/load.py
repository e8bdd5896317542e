"""Closed-loop load on a scene, from a thread of its own, changed while it runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from ridgeline.sim.load.generator import LoadGenerator
from ridgeline.sim.load.results import RequestResult, Summary
from ridgeline.sim.load.settings import ClosedLoop, LoadSettings


class Load:
    """Users against one URL until `stop`; use as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        users: int = 0,
        max_tokens: int = 48,
        longest_s: float = 900.0,
        on_result: Callable[[RequestResult], None] | None = None,
    ) -> None:
        self.users = users
        self._generator = LoadGenerator(
            LoadSettings(
                targets=(url,),
                mode=ClosedLoop(users=users),
                duration_s=longest_s,
                max_tokens=max_tokens,
                spread=0.5,
                stream=False,
                new_connections=True,
                grace_s=0.0,
            ),
            on_result=on_result,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._generator.stop)
        self._thread.join(timeout=60.0)
        if self._thread.is_alive():
            raise TimeoutError("the load does not end")
        self._loop.close()

    def set_users(self, users: int) -> None:
        """Change the number of users."""
        self.users = users
        self._loop.call_soon_threadsafe(self._generator.set_users, users)

    def summary(self) -> Summary:
        """What happened so far."""

        async def read() -> Summary:
            return self._generator.summary()

        return asyncio.run_coroutine_threadsafe(read(), self._loop).result(timeout=10.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._generator.run())
