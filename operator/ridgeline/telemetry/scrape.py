"""Reads Pods directly, for clusters without Prometheus: the same snapshot as a Prometheus gives.

Each read fetches one page of every Pod that is to be scraped, a bounded number at once and all
under one deadline, and computes rates over a window that is kept in memory for each process. A Pod
that fails is asked ever more rarely and after the others, so that many black holes do not use up
the deadline of those that answer; whose turn did not come is asked first in the next read. A Pod's
failure holds its own servings; others go on.

A restart of the operator empties the windows: facts begin when the new ones are about half full.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry.backoff import Backoff
from ridgeline.telemetry.errors import TelemetryError, UnavailableError
from ridgeline.telemetry.scrape_client import PageFetcher
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint, ScrapeTarget, Targets
from ridgeline.telemetry.scrape_page import EngineTotals, read_page
from ridgeline.telemetry.scrape_window import EngineWindow
from ridgeline.telemetry.snapshot import PodKey, TelemetrySnapshot

_WAY_OUT: Final = (
    "check the endpoint's port, path and scheme; a NetworkPolicy must let the operator in, and a "
    "mesh that demands its own certificates must leave the metrics port out"
)


@dataclass(slots=True)
class _Pod:
    """What is remembered of one process."""

    target: ScrapeTarget
    backoff: Backoff
    windows: dict[str, EngineWindow] = field(default_factory=dict)
    error: str | None = None
    asked_at: float = -math.inf


class ScrapeReader:
    """Keeps what rates need from tick to tick: samples of a window, and who failed.

    Not for concurrent reads: one tick reads at a time.
    """

    def __init__(
        self,
        endpoint: PodsEndpoint,
        targets: Targets,
        *,
        window_seconds: float = 120.0,
        backoff: Backoff | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            endpoint: How Pods are asked.
            targets: Gives the Pods to scrape, asked anew at every read.
            window_seconds: Rate window; at least four reads long.
            backoff: Waits after failures of a Pod; the default begins at one tick of 15 s.

        Raises:
            ValueError: The window is shorter than a second or not finite.
        """
        if not 1 <= window_seconds < float("inf"):
            raise ValueError(f"window_seconds: {window_seconds!r} must be finite and at least 1")
        self.endpoint: Final = endpoint
        self.window_seconds: Final = window_seconds
        self._targets: Final = targets
        self._backoff: Final = backoff or Backoff()
        self._pods: dict[PodKey, _Pod] = {}
        self._answered_at: float | None = None

    async def close(self) -> None:
        """Nothing is held between reads; there to be exchangeable with the reader of Prometheus."""

    async def read(self, now: float) -> TelemetrySnapshot:
        """Scrape every Pod as of `now` (epoch seconds), and tell what the windows say.

        Never raises because of a Pod: what went wrong is in the snapshot.
        """
        started = asyncio.get_running_loop().time()
        self._follow(self._targets())
        due = sorted(
            (pod for pod in self._pods.values() if pod.backoff.allows(now)),
            key=lambda pod: (pod.backoff.failures, pod.asked_at, pod.target.pod),
        )
        try:
            await self._scrape(due, now, started)
        except TelemetryError as error:
            # Nobody was asked: a certificate of ours cannot be used.
            return self._snapshot(now, f"endpoint {self.endpoint.name!r}: {error}", {}, asked=False)
        if any(pod.error is None for pod in due) or not self._pods:
            self._answered_at = now
        seconds = asyncio.get_running_loop().time() - started
        return self._snapshot(now, self._error(), {"scrape": seconds}, asked=bool(due))

    def _follow(self, targets: Iterable[ScrapeTarget]) -> None:
        """Forget Pods that are gone, and begin anew with those whose process is another."""
        before, self._pods = self._pods, {}
        for target in targets:
            key = (target.namespace, target.pod)
            known = before.get(key)
            if known is None or known.target != target:
                known = _Pod(target=target, backoff=self._backoff.succeeded())
            self._pods[key] = known

    async def _scrape(self, pods: list[_Pod], now: float, started: float) -> None:
        if not pods:
            return
        deadline = started + self.endpoint.timeout_seconds
        gate = asyncio.Semaphore(self.endpoint.concurrency)
        async with PageFetcher(self.endpoint) as fetcher, asyncio.TaskGroup() as group:
            for pod in pods:
                group.create_task(self._scrape_one(pod, fetcher, gate, now, started, deadline))

    async def _scrape_one(
        self,
        pod: _Pod,
        fetcher: PageFetcher,
        gate: asyncio.Semaphore,
        now: float,
        started: float,
        deadline: float,
    ) -> None:
        loop = asyncio.get_running_loop()
        async with gate:
            due_at = loop.time() + self.endpoint.pod_timeout_seconds
            until = min(deadline, due_at)
            if until <= loop.time():
                pod.error = "its turn did not come before the deadline of all Pods"
                return
            try:
                body, began = await fetcher.fetch(pod.target, until)
                engines = read_page(body, max_series=self.endpoint.max_series)
                if not engines:
                    raise UnavailableError("the page holds none of vLLM's series")
            except TelemetryError as error:
                pod.error = str(error)
                # Who was cut short by the others has not failed by itself.
                if due_at <= deadline or loop.time() < deadline:
                    pod.backoff, pod.asked_at = pod.backoff.failed(now), now
            else:
                pod.error, pod.asked_at = None, now
                pod.backoff = pod.backoff.succeeded()
                self._keep(pod, engines, now + began - started)

    def _keep(self, pod: _Pod, engines: Mapping[str, EngineTotals], at: float) -> None:
        for label, totals in engines.items():
            window = pod.windows.get(label)
            if window is None:
                window = pod.windows[label] = EngineWindow(self.window_seconds)
            window.add(at, totals)

    def _error(self) -> str | None:
        """Why there is nothing at all: no Pod that should answer does."""
        failing = [pod for pod in self._pods.values() if pod.error is not None]
        if not failing or len(failing) < len(self._pods):
            return None
        return (
            f"endpoint {self.endpoint.name!r}: no Pod can be scraped, {_first(failing)}; {_WAY_OUT}"
        )

    def _snapshot(
        self, now: float, error: str | None, seconds: dict[str, float], *, asked: bool
    ) -> TelemetrySnapshot:
        engines = {} if error is not None else self._engines(now)
        waits = [pod.backoff.next_attempt_at for pod in self._pods.values()]
        return TelemetrySnapshot(
            endpoint=self.endpoint.name,
            taken_at=now,
            window_seconds=self.window_seconds,
            error=error,
            answered_at=self._answered_at,
            next_attempt_at=min((w for w in waits if w is not None), default=None)
            if error is not None
            else None,
            asked=asked,
            warnings=() if error is not None else self._remarks(now),
            engines=MappingProxyType(engines),
            query_seconds=seconds,
        )

    def _engines(self, now: float) -> dict[PodKey, tuple[EngineFacts, ...]]:
        found = {}
        for key in sorted(self._pods):
            pod = self._pods[key]
            windows = pod.windows = {n: w for n, w in pod.windows.items() if not w.empty(now)}
            # By number: shorter labels first, so that 10 comes after 2.
            labels = sorted(windows, key=lambda label: (len(label), label))
            facts = (windows[label].facts(label, now) for label in labels)
            known = tuple(each for each in facts if each is not None)
            if known:
                found[key] = known
        return found

    def _remarks(self, now: float) -> tuple[str, ...]:
        failing = [pod for pod in self._pods.values() if pod.error is not None]
        filling = [
            pod
            for pod in self._pods.values()
            if pod.error is None and not all(w.covered(now) for w in pod.windows.values())
        ]
        remarks = []
        if failing:
            remarks.append(f"some Pods cannot be scraped, {_first(failing)}; {_WAY_OUT}")
        if filling:
            remarks.append(
                "some Pods have been scraped for less than about half of the rate window of "
                f"{self.window_seconds:g} s, {_first(filling)}"
            )
        return tuple(remarks)


def _first(pods: list[_Pod]) -> str:
    """The first Pod by name, and what is wrong with it."""
    pod = min(pods, key=lambda each: (each.target.namespace, each.target.pod))
    name = f"the first is {pod.target.namespace}/{pod.target.pod}"
    return name if pod.error is None else f"{name}: {pod.error}"
