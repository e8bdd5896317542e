"""Drives load in one event loop and adds up what became of it."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any

import aiohttp

from ridgeline.sim.load.client import Attempt, AttemptError, request_body, send
from ridgeline.sim.load.results import Aggregate, RequestResult, Summary
from ridgeline.sim.load.settings import (
    ClosedLoop,
    InvalidLoadError,
    LoadSettings,
    OpenLoop,
    Replay,
    check_rate,
    check_users,
)


class LoadGenerator:
    """One run of load. ``run`` may be awaited once.

    Args:
        settings: What to drive, at what, and where it ends.
        on_result: Called with every request that came to its end.
    """

    def __init__(
        self,
        settings: LoadSettings,
        *,
        on_result: Callable[[RequestResult], None] | None = None,
    ) -> None:
        self._settings = settings
        self._on_result = on_result
        self._random = Random(settings.seed)
        self._turn = count()
        self._aggregate = Aggregate()
        mode = settings.mode
        self._users = mode.users if isinstance(mode, ClosedLoop) else 0
        self._rate = mode.rate_per_s if isinstance(mode, OpenLoop) else 0.0
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._user_tasks: dict[int, asyncio.Task[None]] = {}
        self._started_s: float | None = None
        self._finished_s: float | None = None
        self._fault: BaseException | None = None

    @property
    def in_flight(self) -> int:
        """Requests that wait for the end of their answer."""
        a = self._aggregate
        return a.begun - a.answered - a.failed - a.unfinished

    def set_users(self, users: int) -> None:
        """Changes the number of users of a closed loop; who is too many leaves after the answer.

        Raises:
            InvalidLoadError: ``users`` is negative, or the run is not a closed loop.
        """
        if not isinstance(self._settings.mode, ClosedLoop):
            raise InvalidLoadError("users can be set only in a closed loop; use set_rate")
        self._users = check_users(users)
        self._changed.set()

    def set_rate(self, rate_per_s: float) -> None:
        """Changes the rate of an open loop.

        Raises:
            InvalidLoadError: It is not a rate, or the run is not an open loop.
        """
        if not isinstance(self._settings.mode, OpenLoop):
            raise InvalidLoadError("the rate can be set only in an open loop; use set_users")
        self._rate = check_rate(rate_per_s)
        self._changed.set()

    def stop(self) -> None:
        """Begins no further request; ``run`` returns once the running ones are over."""
        self._ended.set()

    def summary(self) -> Summary:
        """What happened so far."""
        if self._started_s is None:
            return self._aggregate.summary(0.0)
        end = self._finished_s if self._finished_s is not None else _now()
        return self._aggregate.summary(end - self._started_s)

    async def run(self) -> Summary:
        """Drives the load to its end and returns what became of it."""
        if self._started_s is not None:
            raise InvalidLoadError("this generator has run; make a new one")
        self._started_s = _now()
        settings = self._settings
        connector = aiohttp.TCPConnector(limit=0, force_close=settings.new_connections)
        timeout = aiohttp.ClientTimeout(total=settings.request_timeout_s)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            drive = asyncio.create_task(self._drive(session))
            ended = asyncio.create_task(self._ended.wait())
            try:
                await asyncio.wait(
                    {drive, ended},
                    timeout=settings.duration_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if drive.done():
                    drive.result()
            finally:
                self._ended.set()
                await self._wind_up(drive, ended)
        if self._fault is not None:
            raise self._fault
        return self.summary()

    async def _wind_up(self, *drivers: asyncio.Task[object]) -> None:
        for task in drivers:
            task.cancel()
        await asyncio.gather(*drivers, return_exceptions=True)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._settings.grace_s)
        self._finished_s = _now()
        late = set(self._tasks)
        self._aggregate.unfinished = self.in_flight
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _drive(self, session: aiohttp.ClientSession) -> None:
        match self._settings.mode:
            case ClosedLoop() as mode:
                await self._drive_users(session, mode)
            case OpenLoop():
                await self._drive_arrivals(session)
            case Replay() as mode:
                await self._drive_trace(session, mode)
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _drive_users(self, session: aiohttp.ClientSession, mode: ClosedLoop) -> None:
        while not self._full():
            self._changed.clear()
            for number in range(self._users):
                if number not in self._user_tasks:
                    task = self._spawn(self._user(session, number, mode.think_s))
                    self._user_tasks[number] = task
            await self._changed.wait()

    async def _user(self, session: aiohttp.ClientSession, number: int, think_s: float) -> None:
        try:
            while number < self._users and not self._full():
                prompt, answer = self._sizes()
                self._aggregate.begun += 1
                result = await self._request(session, prompt, answer)
                if result.error is not None:
                    await self._pause(self._settings.retry_pause_s)
                elif think_s:
                    await self._pause(think_s)
        finally:
            del self._user_tasks[number]
            self._changed.set()

    async def _drive_arrivals(self, session: aiohttp.ClientSession) -> None:
        while not self._full():
            self._changed.clear()
            gap = self._random.expovariate(self._rate) if self._rate > 0 else None
            try:
                await asyncio.wait_for(self._changed.wait(), gap)
            except TimeoutError:
                self._arrive(session, *self._sizes())

    async def _drive_trace(self, session: aiohttp.ClientSession, mode: Replay) -> None:
        started = _now()
        for arrival in mode.arrivals:
            await asyncio.sleep(started + arrival.at_s / mode.speed - _now())
            if self._full():
                return
            self._arrive(session, arrival.prompt_tokens, arrival.output_tokens)

    def _arrive(self, session: aiohttp.ClientSession, prompt: int, answer: int) -> None:
        if self.in_flight >= self._settings.max_in_flight:
            self._aggregate.dropped += 1
            return
        self._aggregate.begun += 1
        self._spawn(self._one(session, prompt, answer))

    async def _one(self, session: aiohttp.ClientSession, prompt: int, answer: int) -> None:
        await self._request(session, prompt, answer)

    async def _request(
        self, session: aiohttp.ClientSession, prompt: int, answer: int
    ) -> RequestResult:
        settings = self._settings
        body = request_body(
            prompt_tokens=prompt,
            max_tokens=answer,
            chat=settings.chat,
            stream=settings.stream,
            model=settings.model,
        )
        result = await self._attempts(session, body)
        self._aggregate.add(result)
        if self._on_result is not None:
            self._on_result(result)
        return result

    async def _attempts(self, session: aiohttp.ClientSession, body: bytes) -> RequestResult:
        settings, started, kind = self._settings, _now(), ""
        route = "/v1/chat/completions" if settings.chat else "/v1/completions"
        for left in range(settings.retries, -1, -1):
            target = settings.targets[next(self._turn) % len(settings.targets)]
            try:
                attempt = await send(
                    session,
                    target.rstrip("/") + route,
                    body,
                    stream=settings.stream,
                    clock=_now,
                )
            except AttemptError as error:
                kind = error.kind
                self._aggregate.errors[kind] += 1
                if not error.retryable or not left or self._ended.is_set():
                    break
                self._aggregate.retried += 1
                await self._pause(settings.retry_pause_s)
            else:
                return _result(target, started, attempt)
        return RequestResult(
            target=target, started_s=started, latency_s=_now() - started, error=kind
        )

    async def _pause(self, seconds: float) -> None:
        """Waits, but not beyond the end of the run."""
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return

    def _sizes(self) -> tuple[int, int]:
        settings = self._settings
        low, high = 1.0 - settings.spread, 1.0 + settings.spread
        return (
            max(1, round(settings.prompt_tokens * self._random.uniform(low, high))),
            max(1, round(settings.max_tokens * self._random.uniform(low, high))),
        )

    def _full(self) -> bool:
        """Whether no further request may begin."""
        most = self._settings.max_requests
        return self._ended.is_set() or (most is not None and self._aggregate.begun >= most)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended_task)
        return task

    def _ended_task(self, task: asyncio.Task[None]) -> None:
        """A request that raised is a fault of this program: it ends the run and is raised there."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fault = self._fault or error
            self._ended.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _result(target: str, started: float, attempt: Attempt) -> RequestResult:
    first, tokens = attempt.first_token_s, attempt.tokens
    return RequestResult(
        target=target,
        started_s=started,
        latency_s=attempt.finished_s - started,
        ttft_s=None if first is None else first - attempt.started_s,
        tpot_s=None if first is None or tokens < 2 else (attempt.finished_s - first) / (tokens - 1),
        tokens=tokens,
    )
