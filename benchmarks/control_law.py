"""The operator's own law in the simulator: observations in, its public step, a profile out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.control_rivals import Rival
from benchmarks.control_scenarios import Knowledge, expected_peak_hours
from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import LawMemory, SlowMemory
from ridgeline.policy.law.peak import SLOT_SECONDS, PeakSketch, from_history
from ridgeline.policy.law.settings import LawSettings
from ridgeline.sim.requests.controller import Controller, EngineObservation, Observation
from ridgeline.sim.requests.published import NONE, SPECULATING
from ridgeline.sim.requests.traffic import DAY, TICK_SECONDS, WEEK

EPOCH = 20_000 * DAY
"""Epoch seconds at the simulation's midnight."""

SWITCHES_PER_DAY = 6


@dataclass(kw_only=True)
class DefaultLaw:
    """The law with its default constants, and a week of history where the traffic has a week.

    Attributes:
        known: What it is told.
        memory: What it remembers.
        window: Hours of a weekday for which a schedule names none, roll ahead of them included.
    """

    known: Knowledge
    memory: LawMemory
    window: tuple[float, float] | None = None
    settings: LawSettings = field(default_factory=LawSettings)
    _last: str | None = None
    _moves: list[float] = field(default_factory=list)
    _started: float | None = None
    _finished: float | None = None

    def decide(self, observation: Observation, now: float) -> str | None:
        """See Controller."""
        self._follow(observation, now)
        decision = step(self._inputs(observation, now), self.settings, self.memory, EPOCH + now)
        self.memory = decision.memory
        if not decision.go or observation.rolling:
            return None
        self._moves.append(now)
        return decision.wish

    def _follow(self, seen: Observation, now: float) -> None:
        """See rolls begin and end."""
        if self._last is not None and seen.active_profile != self._last:
            self._started, self._finished = EPOCH + now, None
        self._last = seen.active_profile
        if self._started is not None and self._finished is None and not seen.rolling:
            self._finished = EPOCH + now

    def _inputs(self, seen: Observation, now: float) -> LawInputs:
        engines = seen.engines
        waiting = _total(engines, "waiting")
        outputs = [each.mean_output_tokens for each in engines if each.mean_output_tokens]
        return LawInputs(
            running=seen.active_profile,
            curves=self._curves(),
            engines=seen.serving,
            replicas=seen.serving,
            strategy=RollStrategy(
                replicas=seen.replicas,
                surge=int(self.known.scenario.surge),
                unavailable=int(not self.known.scenario.surge),
            ),
            seen_share=len(engines) / seen.serving if seen.serving else 0.0,
            generated_tokens_per_second=_total(engines, "generated_tokens_per_second"),
            waiting_requests=waiting,
            mean_output_tokens=sum(outputs) / len(outputs) if outputs else None,
            concurrency=seen.concurrency,
            waiting_for_capacity=_total(engines, "waiting_for_capacity"),
            queued_requests=_total(engines, "queue_seconds_per_second"),
            preemptions_per_second=0.0 if engines else None,
            roll=RollState(
                rolling=seen.rolling,
                updated=sum(each.profile == seen.active_profile for each in engines),
                started_at=self._started,
                finished_at=self._finished,
            ),
            schedule=self._schedule(now),
            switches_left=SWITCHES_PER_DAY - sum(now - each < DAY for each in self._moves),
        )

    def _curves(self) -> tuple[Curve, ...]:
        return (self.known.speculating, self.known.none)

    def _schedule(self, now: float) -> ScheduleNow:
        if self.window is None or (now % WEEK) // DAY in (2.0, 3.0):
            return ScheduleNow()
        busy = self.window[0] * 3600.0 <= now % DAY < self.window[1] * 3600.0
        return ScheduleNow(profile=NONE if busy else None)


def history(known: Knowledge) -> PeakSketch:
    """Return the peak sketch of the week before: the same demand with other noise, no crowds.

    A recorded trace came again and again; a closed loop has no week before.
    """
    scenario = known.scenario
    if scenario.closed_loop:
        return PeakSketch()
    first = int((EPOCH - WEEK) / SLOT_SECONDS)
    if known.recorded_slots is not None:
        week = np.resize(known.recorded_slots / scenario.replicas, int(WEEK / SLOT_SECONDS))
        return from_history((first + slot, float(each)) for slot, each in enumerate(week))
    times = np.arange(-WEEK, 0.0, TICK_SECONDS)
    quiet = replace(scenario.demand, crowds=())
    level = quiet.realised(times - times[0], np.random.default_rng(4242))
    per_slot = level.reshape(-1, int(SLOT_SECONDS / TICK_SECONDS)).mean(axis=1)
    per_engine = per_slot * known.true_cutoff_tokens_per_second / scenario.replicas
    return from_history((first + slot, float(each)) for slot, each in enumerate(per_engine))


def _default(known: Knowledge) -> Controller:
    return DefaultLaw(known=known, memory=LawMemory(slow=SlowMemory(peak=history(known))))


def _with_schedules(known: Knowledge) -> Controller:
    hours = expected_peak_hours(known.scenario.demand, 0.85)
    law = _default(known)
    if isinstance(law, DefaultLaw) and hours is not None:
        lead = known.roll_seconds / 3600.0
        law.window = (hours[0] - lead, hours[1])
    return law


def _total(engines: Sequence[EngineObservation], name: str) -> float | None:
    if not engines:
        return None
    return math.fsum(getattr(each, name) for each in engines)


LAWS: tuple[Rival, ...] = (
    Rival(name="default", first=SPECULATING, build=_default),
    Rival(name="default-with-schedules", first=SPECULATING, build=_with_schedules),
)
"""The operator's law, as the benchmark runs it."""
