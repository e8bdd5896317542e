"""One simulation: traffic, replicas, telemetry and a control law, from the first tick to rest."""

from dataclasses import dataclass, field

import numpy as np

from ridgeline.sim.requests import kernel
from ridgeline.sim.requests.arrays import Bools, Floats, Ints
from ridgeline.sim.requests.autoscaler import Autoscaler
from ridgeline.sim.requests.controller import Controller, Observation
from ridgeline.sim.requests.engines import (
    Arrivals,
    ClosedLoop,
    CompiledEngines,
    Engines,
    Serving,
)
from ridgeline.sim.requests.fleet import Fleet, RollSettings
from ridgeline.sim.requests.flow import Flow
from ridgeline.sim.requests.fluid_engines import FluidEngines
from ridgeline.sim.requests.telemetry import Telemetry, TelemetrySettings
from ridgeline.sim.requests.traffic import TICK_SECONDS, Demand, Trace
from ridgeline.sim.requests.truth import Truth

LONGEST_REST_SECONDS = 48 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything of a simulation that is not the control law.

    Attributes:
        truth: The deployment.
        replicas: Replicas at the start.
        seconds: Length; afterwards nothing arrives any more and the rest is served.
        first_profile: Profile at the start.
        trace: Requests of an open loop; `None` in a closed one.
        loop: Users of a closed loop; `None` in an open one.
        flow: Demand of a fluid, in place of single requests.
        loop_demand: Activity of the users through the week; they think the less the higher it is.
        loop_think_seconds: Their mean thinking time at an activity of 1.
        serving: Router, queue and cache.
        rolls: How replicas are replaced.
        telemetry: How well the fleet is seen.
        most_replicas: Most that an autoscaler may ask for.
        scale_target: Requests per replica that an autoscaler aims at; `None` without one.
        tick_seconds: How often the control law is asked, a multiple of 15 s.
        observed: Whether the replicas are scraped; a control law that does not look at them is
            simulated sooner without.
        seed: Seed of start-up times, noise and losses; equal for all control laws compared.
    """

    truth: Truth
    replicas: int = 4
    seconds: float
    first_profile: str
    trace: Trace | None = None
    loop: ClosedLoop | None = None
    flow: Flow | None = None
    loop_demand: Demand = field(default_factory=lambda: Demand(plateau=1.0, flat=True))
    loop_think_seconds: float = 10.0
    serving: Serving = field(default_factory=Serving)
    rolls: RollSettings = field(default_factory=RollSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    most_replicas: int = 0
    scale_target: float | None = None
    tick_seconds: float = TICK_SECONDS
    observed: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A roll that a control law asked for."""

    time: float
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a simulation.

    Attributes:
        mean_latency_seconds: Mean time from a request's first arrival to its last token.
        arrived: Requests that arrived.
        completed: Those that were served.
        shed: Those that were given up.
        retried: Further tries.
        waiting: Those still in the system, after the rest had its time.
        served_tokens: Output tokens, those of lost answers included.
        switches: The rolls.
        in_system: Mean requests in the system, by tick.
        serving: Replicas in service, by tick.
        tokens_per_second: Output tokens/s delivered, by tick.
        active: Place of the profile that is asked for among the truth's, by tick.
        rolling: Whether a roll, a start or a drain is under way, by tick.
        seconds: Length without the rest.
    """

    mean_latency_seconds: float
    arrived: int
    completed: int
    shed: int
    retried: int
    waiting: int
    served_tokens: float
    switches: tuple[Switch, ...]
    in_system: Floats
    serving: Floats
    tokens_per_second: Floats
    active: Ints
    rolling: Bools
    seconds: float

    @property
    def rolls_per_day(self) -> float:
        """Rolls per 24 hours."""
        return len(self.switches) * 86_400.0 / self.seconds

    @property
    def most_rolls_in_a_day(self) -> int:
        """Most rolls that began within any 24 hours."""
        begun = [each.time for each in self.switches]
        return max((sum(t <= u < t + 86_400.0 for u in begun) for t in begun), default=0)


def simulate(setting: Setting, controller: Controller) -> Result:
    """Run a simulation: a function of the setting and the control law, nothing else."""
    return _Run(setting).through(controller)


def _engines(setting: Setting, *, places: int) -> Engines:
    if setting.flow is not None:
        return FluidEngines(setting.truth, setting.serving, setting.flow, places=places)
    return CompiledEngines(setting.truth, setting.serving, places=places, loop=setting.loop)


@dataclass(slots=True)
class _Ticks:
    """What is written down at each tick."""

    in_system: Floats
    serving: Floats
    tokens_per_second: Floats
    active: Ints
    rolling: Bools

    @classmethod
    def so_many(cls, count: int) -> "_Ticks":
        return cls(
            np.zeros(count),
            np.zeros(count),
            np.zeros(count),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.bool_),
        )


class _Run:
    def __init__(self, setting: Setting) -> None:
        truth = setting.truth
        most = max(setting.replicas, setting.most_replicas)
        self.setting = setting
        self.names = tuple(each.name for each in truth.profiles)
        starts, noise = np.random.default_rng(setting.seed).spawn(2)
        self.engines = _engines(setting, places=most + setting.rolls.surge)
        self.fleet = Fleet(
            self.engines,
            replicas=setting.replicas,
            most_replicas=most,
            profile=truth.index_of(setting.first_profile),
            rolls=setting.rolls,
            rng=starts,
        )
        self.telemetry = Telemetry(self.engines, setting.telemetry, self.names, noise)
        self.scaler = None
        if setting.scale_target is not None:
            self.scaler = Autoscaler(
                target=setting.scale_target, least=setting.replicas // 2 or 1, most=most
            )
        self.switches: list[Switch] = []

    def through(self, controller: Controller) -> Result:
        setting = self.setting
        times = np.arange(0.0, setting.seconds, TICK_SECONDS)
        activity = setting.loop_demand.expected(times)
        every = max(1, round(setting.tick_seconds / TICK_SECONDS))
        ticks = _Ticks.so_many(len(times))
        if setting.trace is not None:
            sizes = setting.trace.sizes
            self.engines.offer(
                Arrivals(times=setting.trace.times, prompts=sizes.prompts, outputs=sizes.outputs)
            )
        before = self.engines.totals()[0]
        for tick, begins in enumerate(times):
            now = float(begins) + TICK_SECONDS
            self.engines.set_think_seconds(setting.loop_think_seconds / max(activity[tick], 0.01))
            self.engines.run(now)
            self.fleet.step(now)
            before = self._note(ticks, tick, before)
            if setting.observed:
                self.telemetry.scrape(self.fleet, now)
            if tick % every == 0:
                self._ask(controller, now)
        return self._result(ticks)

    def _note(self, ticks: _Ticks, tick: int, before: Floats) -> Floats:
        """Write down what happened in a tick; return the totals at its end."""
        totals, _ = self.engines.totals()
        passed = (totals - before) / TICK_SECONDS
        ticks.in_system[tick] = passed[kernel.IN_SYSTEM_SECONDS]
        ticks.tokens_per_second[tick] = passed[kernel.SERVED_TOKENS]
        ticks.serving[tick] = len(self.fleet.serving)
        ticks.active[tick] = self.fleet.profile
        ticks.rolling[tick] = self.fleet.rolling
        return totals

    def _ask(self, controller: Controller, now: float) -> None:
        fleet = self.fleet
        rolling = fleet.rolling
        engines, unseen = self.telemetry.read(fleet, now)
        seen = Observation(
            active_profile=self.names[fleet.profile],
            replicas=fleet.replicas,
            rolling=rolling,
            serving=len(fleet.serving),
            engines=engines,
            unseen_seconds=unseen,
        )
        wanted = controller.decide(seen, now)
        if wanted is not None and wanted != seen.active_profile and not rolling:
            self.switches.append(Switch(time=now, profile=wanted))
            fleet.roll_to(self.setting.truth.index_of(wanted))
        elif self.scaler is not None:
            fleet.scale_to(self.scaler.replicas(seen, now))

    def _result(self, ticks: _Ticks) -> Result:
        self._rest()
        totals, (arrived, completed, shed, retried) = self.engines.totals()
        return Result(
            mean_latency_seconds=float(totals[kernel.LATENCY]) / max(1, completed),
            arrived=arrived,
            completed=completed,
            shed=shed,
            retried=retried,
            waiting=arrived - completed - shed,
            served_tokens=float(totals[kernel.SERVED_TOKENS]),
            switches=tuple(self.switches),
            in_system=ticks.in_system,
            serving=ticks.serving,
            tokens_per_second=ticks.tokens_per_second,
            active=ticks.active,
            rolling=ticks.rolling,
            seconds=self.setting.seconds,
        )

    def _rest(self) -> None:
        """Serve what is left, so that the cost of a queue at the end is counted."""
        if self.setting.loop is not None:
            return
        now = self.setting.seconds
        while now < self.setting.seconds + LONGEST_REST_SECONDS:
            _, (arrived, completed, shed, _) = self.engines.totals()
            if arrived == completed + shed and not self.fleet.rolling:
                return
            now += TICK_SECONDS
            self.engines.run(now)
            self.fleet.step(now)
