"""Drives one engine in real time: plan, wait for the step's duration, complete."""

import asyncio
from collections.abc import Callable

from ridgeline.sim.stand_in.scheduler import Engine, Generation


class EngineLoop:
    """One engine and the task that steps it.

    ``clock`` gives seconds on any monotonic scale.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self.engine = engine
        self._clock = clock
        self._wake = asyncio.Event()
        self._hung = False

    def submit(self, generation: Generation) -> None:
        """Queues a request and wakes an idle engine."""
        self.engine.submit(generation)
        self._wake.set()

    def abort(self, generation: Generation) -> None:
        """Takes a request out."""
        self.engine.abort(generation)

    def abort_all(self) -> None:
        """Takes every request out."""
        for generation in [*self.engine.waiting, *self.engine.running]:
            self.engine.abort(generation)

    def hang(self) -> None:
        """Lets no further step complete."""
        self._hung = True

    async def run(self) -> None:
        """Steps until cancelled."""
        while True:
            self._wake.clear()
            started = self._clock()
            plan = self.engine.plan(started)
            if plan is None or self._hung:
                await self._wake.wait()
                continue
            await asyncio.sleep(started + plan.duration_s - self._clock())
            if not self._hung:
                self.engine.complete(plan, self._clock())
