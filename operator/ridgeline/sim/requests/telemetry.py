"""The fleet as the operator's telemetry tells it: scraped, noisy, sometimes missing."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ridgeline.sim.requests import kernel
from ridgeline.sim.requests.arrays import Floats
from ridgeline.sim.requests.controller import EngineObservation
from ridgeline.sim.requests.engines import Engines
from ridgeline.sim.requests.fleet import Fleet, Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """How well the fleet is seen.

    Attributes:
        window_seconds: Rate window.
        stale_after_seconds: A replica whose newest scrape is older has no numbers.
        noise: Relative standard deviation of each rate at each reading.
        loss: Probability that a scrape is lost.
    """

    window_seconds: float = 120.0
    stale_after_seconds: float = 60.0
    noise: float = 0.02
    loss: float = 0.02


@dataclass(slots=True)
class _Series:
    """Scrapes of one life of one replica."""

    number: int
    born: float
    scrapes: deque[tuple[float, Floats, tuple[int, int, int], bool]] = field(default_factory=deque)


class Telemetry:
    """Scrapes the replicas in service, and answers with means over the window."""

    def __init__(
        self,
        engines: Engines,
        settings: TelemetrySettings,
        names: tuple[str, ...],
        rng: np.random.Generator,
    ) -> None:
        """Begin without a scrape; `names` are the profiles'."""
        self._engines = engines
        self._settings = settings
        self._names = names
        self._rng = rng
        self._series: dict[int, _Series] = {}
        self._born = 0

    def scrape(self, fleet: Fleet, now: float) -> None:
        """Scrape every replica in service; series of others end."""
        serving = {pod.place for pod in fleet.serving}
        for place in [each for each in self._series if each not in serving]:
            del self._series[place]
        lost = self._rng.random(len(serving)) < self._settings.loss
        for place, gone in zip(sorted(serving), lost, strict=True):
            series = self._series.get(place)
            if series is None:
                series = self._series[place] = _Series(self._born, now)
                self._born += 1
            if gone:
                continue
            scrapes = series.scrapes
            scrapes.append(
                (
                    now,
                    self._engines.counters(place),
                    self._engines.held(place),
                    self._engines.waits_for_capacity(place),
                )
            )
            while scrapes[0][0] < now - self._settings.window_seconds:
                scrapes.popleft()

    def read(
        self, fleet: Fleet, now: float
    ) -> tuple[tuple[EngineObservation, ...], tuple[float, ...]]:
        """Return the numbers of every replica that has some, and how old the others are."""
        found: list[EngineObservation] = []
        unseen: list[float] = []
        for pod in fleet.serving:
            one = self._one(pod, now)
            if one is not None:
                found.append(one)
            else:
                series = self._series.get(pod.place)
                unseen.append(now - series.born if series is not None else 0.0)
        return tuple(found), tuple(unseen)

    def _one(self, pod: Pod, now: float) -> EngineObservation | None:
        series = self._series.get(pod.place)
        if series is None or len(series.scrapes) < 2:
            return None
        then, earlier, _, _ = series.scrapes[0]
        newest, latest, (decode, prefilling, waiting), full = series.scrapes[-1]
        if now - newest > self._settings.stale_after_seconds or newest <= then:
            return None
        noise = 1.0 + self._settings.noise * self._rng.standard_normal(len(latest))
        rates = (latest - earlier) / (newest - then) * np.maximum(0.0, noise)
        finished = rates[kernel.FINISHED]
        exact = latest - earlier
        return EngineObservation(
            name=f"pod-{series.number}",
            profile=self._names[pod.profile],
            ready_seconds=now - series.born,
            age_seconds=now - newest,
            decode_concurrency=float(rates[kernel.DECODE_SECONDS]),
            generated_tokens_per_second=float(rates[kernel.TOKENS]),
            request_steps_per_second=float(rates[kernel.REQUEST_STEPS]),
            steps_per_second=float(rates[kernel.STEPS]),
            running=float(decode + prefilling),
            waiting=float(waiting),
            waiting_for_capacity=float(waiting if full else 0),
            queue_seconds_per_second=float(rates[kernel.QUEUE_SECONDS]),
            prompt_tokens_per_second=float(rates[kernel.PROMPT_TOKENS]),
            mean_prompt_tokens=_mean(exact, kernel.FINISHED_PROMPT) if finished > 0 else None,
            mean_output_tokens=_mean(exact, kernel.FINISHED_OUTPUT) if finished > 0 else None,
        )


def _mean(difference: Floats, counter: int) -> float:
    return float(difference[counter] / difference[kernel.FINISHED])
