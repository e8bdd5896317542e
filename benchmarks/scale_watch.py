"""Watches one operator process of benchmarks/scale.py: its start, its coming to rest, its ticks."""

from __future__ import annotations

import os
import re
import statistics
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import orjson

from benchmarks.scale_answers import Answers, Asked
from benchmarks.scale_process import Journal, Usage, first_statuses, usage_of
from ridgeline.policy.law.peak import SLOT_SECONDS
from ridgeline.terms.names import SERVING_PLURAL
from tests.cluster.errors import ClusterError
from tests.cluster.progress import Progress
from tests.scene.operator_process import OperatorProcess

DECODERS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "orjson": orjson.loads,
    "msgspec": msgspec.json.decode,
}
_ROUNDS: Final = 3
_LOOK_SECONDS: Final = 0.05
_PAGE_SECONDS: Final = 300.0
_PHASE_LINE: Final = re.compile(
    r'^ridgeline_tick_seconds_(sum|count){phase="(\w+)"} (\S+)$', re.MULTILINE
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is measured, and how.

    Attributes:
        sizes: Servings, ascending.
        replicas: Of each serving.
        tick_seconds: Of the operator.
        window_seconds: Of the operator's rates.
        scrape_seconds: Of Prometheus.
        ticks: How many are looked at; a multiple of five, so that slow queries count as often as
            they are asked.
        quiet_ticks: Without a write, after which the operator is at rest.
        patience_seconds: For each start, and for each coming to rest.
        live: Whether Prometheus answers the operator itself.
        scraped: Servings that Prometheus scrapes; others are answered for as if they were
            namesakes of these.
    """

    sizes: tuple[int, ...]
    replicas: int
    tick_seconds: float = 15.0
    window_seconds: int = 120
    scrape_seconds: float = 15.0
    ticks: int = 10
    quiet_ticks: int = 6
    patience_seconds: float = 1800.0
    live: bool = False
    scraped: int

    @property
    def shelves(self) -> tuple[int, ...]:
        """Sizes of the fleet that Prometheus itself can answer for."""
        return tuple(sorted({min(size, self.scraped) for size in self.sizes}))


@dataclass(frozen=True, kw_only=True)
class Start:
    """How a start went.

    Attributes:
        seconds: From the start of the process to the last first status.
        cpu_seconds: Of the process in that time.
    """

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Ticks:
    """Whole ticks at rest, each from the end of the queries of the one before to that of its own.

    Attributes:
        number: How many.
        began: Epoch seconds.
        ended: Epoch seconds.
        cpu_seconds: Of the operator, in all of them together.
        phase_seconds: Of one tick by its phases, as the operator tells it.
        asked: What it asked Prometheus for.
        usage: Of the operator at the end.
    """

    number: int
    began: float
    ended: float
    cpu_seconds: float
    phase_seconds: Mapping[str, float]
    asked: Asked
    usage: Usage


class Watcher:
    """Watches one operator from outside: nothing is asked of it while its ticks are measured."""

    def __init__(
        self,
        operator: OperatorProcess,
        answers: Answers,
        journal: Journal,
        *,
        tick_query: str,
        tick_seconds: float,
    ) -> None:
        self._operator = operator
        self._answers = answers
        self._journal = journal
        self._tick_query = tick_query
        self._tick_seconds = tick_seconds
        self._began = self._all_told = time.time()

    def see_start(self, servings: int, patience_seconds: float, progress: Progress) -> Start:
        """Wait until every serving has a status.

        Raises:
            ClusterError: That takes too long, or the operator ended.
        """
        with progress.step(f"first statuses of {servings} servings"):
            end = self._began + patience_seconds
            while len(found := first_statuses(self._journal.calls(), SERVING_PLURAL)) < servings:
                self._check(end, f"{len(found)} of {servings} servings have a status")
                time.sleep(1.0)
        self._all_told = max(found.values())
        return Start(seconds=self._all_told - self._began, cpu_seconds=self._usage().cpu_seconds)

    def see_rest(
        self, quiet_ticks: int, window_seconds: float, patience_seconds: float, progress: Progress
    ) -> None:
        """Wait until the first lessons are written, and nothing more for a number of ticks.

        Raises:
            ClusterError: That takes too long, or the operator ended.
        """
        end = time.time() + patience_seconds
        settled = settled_at(self._all_told, window_seconds, self._tick_seconds)
        written = self._writes()
        since = self._answers.times_asked(self._tick_query)
        with progress.step("at rest"):
            while (
                time.time() < settled
                or self._answers.times_asked(self._tick_query) < since + quiet_ticks
            ):
                self._check(end, f"it has written {written} times and does not come to rest")
                time.sleep(1.0)
                if self._writes() != written:
                    written = self._writes()
                    since = self._answers.times_asked(self._tick_query)

    def see_ticks(self, number: int, patience_seconds: float) -> Ticks:
        """Measure whole ticks.

        Raises:
            ClusterError: They take too long, or the operator ended.
        """
        before = self._spent()
        end = time.time() + patience_seconds
        self._wait_for_ticks(1, end)
        self._answers.count_anew()
        began, used = time.time(), self._usage()
        self._wait_for_ticks(number, end)
        ended, usage = time.time(), self._usage()
        asked = self._answers.count_anew()
        after = self._spent()
        return Ticks(
            number=number,
            began=began,
            ended=ended,
            cpu_seconds=usage.cpu_seconds - used.cpu_seconds,
            phase_seconds={
                phase: (seconds - before[0][phase]) / max(1.0, after[1] - before[1])
                for phase, seconds in after[0].items()
            },
            asked=asked,
            usage=usage,
        )

    def _wait_for_ticks(self, number: int, end: float) -> None:
        """Wait until that many ticks more have begun, and the last has read all that it reads."""
        goal = self._answers.times_asked(self._tick_query) + number
        while self._answers.times_asked(self._tick_query) < goal:
            self._check(end, f"{number} ticks have not ended")
            time.sleep(_LOOK_SECONDS)
        asked, since = self._answers.all_asked, time.monotonic()
        while time.monotonic() < since + self._tick_seconds / 4:
            time.sleep(_LOOK_SECONDS)
            if self._answers.all_asked != asked:
                asked, since = self._answers.all_asked, time.monotonic()

    def _spent(self) -> tuple[dict[str, float], float]:
        """Seconds of all ticks by phase, and how many ticks there were, as the operator tells."""
        url = f"http://127.0.0.1:{self._operator.port}/metrics"
        with urllib.request.urlopen(url, timeout=_PAGE_SECONDS) as page:
            return spent_in(page.read().decode())

    def _writes(self) -> int:
        return sum(1 for each in self._journal.calls() if each.writes and not each.on_lease)

    def _usage(self) -> Usage:
        return usage_of(self._operator.pid)

    def _check(self, end: float, what: str) -> None:
        if not self._operator.running:
            raise ClusterError(f"the operator ended: {self._operator.log_tail()}")
        if time.time() > end:
            raise ClusterError(f"{what}: {self._operator.log_tail()}")


def settled_at(told: float, window_seconds: float, tick_seconds: float) -> float:
    """Epoch seconds from which a start has nothing more to teach, the last serving included.

    The first rate window teaches what the profile does here, and the first five-minute slot that
    ends teaches the day's peak. Both are written into the statuses.

    Args:
        told: Epoch seconds of the last first status.
        window_seconds: The operator's rate window.
        tick_seconds: The operator's tick.
    """
    slot_ends = (told // SLOT_SECONDS + 1) * SLOT_SECONDS
    return max(told + 2 * window_seconds, slot_ends + 2 * tick_seconds)


def spent_in(page: str) -> tuple[dict[str, float], float]:
    """Seconds of all ticks by phase, and how many ticks there were, out of a metrics page."""
    found = {(part, phase): float(number) for part, phase, number in _PHASE_LINE.findall(page)}
    seconds = {phase: number for (part, phase), number in found.items() if part == "sum"}
    return seconds, found["count", "read"]


def bare_decoding(
    bodies: Mapping[str, bytes], asked: Asked, clock: Callable[[], float] = time.thread_time
) -> tuple[str, float]:
    """The fastest decoder, and its CPU seconds for all answers, as often as they were given.

    Args:
        bodies: Answer by PromQL.
        asked: How often each was asked for.
        clock: CPU seconds of this thread.
    """

    def whole(decode: Callable[[bytes], object]) -> float:
        seconds = 0.0
        for promql, times in asked.queries.items():
            began = clock()
            decode(bodies[promql])
            seconds += times * (clock() - began)
        return seconds

    taken = {
        name: statistics.median(whole(decode) for _ in range(_ROUNDS))
        for name, decode in DECODERS.items()
    }
    best = min(taken, key=lambda name: taken[name])
    return best, taken[best]


def load_average() -> float:
    """Processes that wanted to run, mean of the last quarter of an hour."""
    return os.getloadavg()[2]
