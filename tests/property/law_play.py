"""A small fluid fleet that is played against the law: queues, rolls, open and closed loops.

Engines have step times t0 + t1·B, so X(B) = length·B / (t0 + t1·B) up to the most requests that an
engine admits. What the law believes of the curves may differ from what is true. All replicas that
serve have the same concurrency; what they cannot deliver waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.decision import LawDecision
from ridgeline.policy.law.inputs import LawInputs, RollState, RollStrategy, ScheduleNow
from ridgeline.policy.law.law import step
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.settings import LawSettings

TICK = 15.0
START = 1_000_000_000.0
DAY = 86_400.0
OUTPUT = 300.0
BUDGET = 6

NONE_STEP = (0.010, 0.00005)
"""Seconds of a step without speculation at no load, and more per request."""


def curve(profile: str, *, length: float, t0: float, t1: float, most: float) -> Curve:
    """Return the curve of an engine with straight step times."""
    points = sorted({*(most * (i / 24.0) ** 2 for i in range(1, 25))})
    return Curve(
        profile=profile,
        concurrency=tuple(points),
        tokens_per_second=tuple(length * b / (t0 + t1 * b) for b in points),
    )


def speculating(
    profile: str, *, cutoff: float, most: float, length: float = 2.2, t0: float = 0.013
) -> Curve:
    """Return the curve of a profile whose cut-off against none lies at a concurrency."""
    plain, per_request = NONE_STEP
    t1 = length * per_request + (length * plain - t0) / cutoff
    return curve(profile, length=length, t0=t0, t1=t1, most=most)


def plain(most: float) -> Curve:
    """Return the curve without speculation."""
    t0, t1 = NONE_STEP
    return curve("none", length=1.0, t0=t0, t1=t1, most=most)


@dataclass(kw_only=True)
class Made:
    """A switch as it was decided."""

    at: float
    source: str
    target: str
    busier: bool
    decision: LawDecision


@dataclass(kw_only=True)
class LawPlay:
    """The fleet. Give demand in tokens/s (open loop) or users (closed loop) with each tick."""

    true: tuple[Curve, ...]
    believed: tuple[Curve, ...]
    running: str
    replicas: int = 4
    surge: int = 0
    unavailable: int = 1
    engines_per_replica: int = 1
    start_seconds: float = 210.0
    settings: LawSettings = field(default_factory=LawSettings)
    memory: LawMemory = field(default_factory=LawMemory)
    now: float = START
    backlog: float = 0.0
    served: float = 0.0
    roll_began: float | None = None
    roll_started: float | None = None
    roll_ended: float | None = None
    old: str = ""
    made: list[Made] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    schedule: ScheduleNow = field(default_factory=ScheduleNow)
    obey: bool = True
    last: LawDecision | None = None

    def tick(
        self,
        *,
        demand: float | None = None,
        users: float | None = None,
        seconds: float = TICK,
        spoil: Callable[[LawInputs], LawInputs] | None = None,
    ) -> LawDecision:
        """Let time pass under a load, then ask the law and do what it says."""
        self.now += seconds
        self._roll_on()
        inputs = self._serve(demand, users, seconds)
        decision = step(spoil(inputs) if spoil else inputs, self.settings, self.memory, self.now)
        self.memory, self.last = decision.memory, decision
        if decision.go and self.obey:
            self._begin(decision)
        return decision

    def run(self, hours: float, *, demand: float | None = None, users: float | None = None) -> None:
        """Tick for some hours under one load."""
        for _ in range(round(hours * 3600.0 / TICK)):
            self.tick(demand=demand, users=users)

    def restart(self) -> None:
        """Lose fast memory."""
        self.memory = LawMemory(slow=self.memory.slow)

    def curve_of(self, profile: str) -> Curve:
        """Return the true curve of a profile."""
        return next(each for each in self.true if each.profile == profile)

    @property
    def switches_left(self) -> int:
        """Switches left of 24 hours' budget."""
        return max(0, BUDGET - sum(1 for each in self.made if self.now - each.at < DAY))

    def _begin(self, decision: LawDecision) -> None:
        order = [each.profile for each in self.believed]
        self.made.append(
            Made(
                at=self.now,
                source=self.running,
                target=decision.wish,
                busier=order.index(decision.wish) > order.index(self.running),
                decision=decision,
            )
        )
        self.old, self.running = self.running, decision.wish
        self.roll_began = self.roll_started = self.now

    def _groups(self) -> tuple[tuple[str, int], ...]:
        """Return profile and replicas of those that serve."""
        if self.roll_began is None:
            return ((self.running, self.replicas),)
        at_once = self.surge + self.unavailable
        done = int((self.now - self.roll_began) / self.start_seconds) * at_once
        total = self.replicas - self.unavailable
        new = min(done, total)
        return ((self.old, total - new), (self.running, new))

    def _roll_on(self) -> None:
        if self.roll_began is None:
            return
        batches = -(-self.replicas // (self.surge + self.unavailable))
        if self.now - self.roll_began >= batches * self.start_seconds:
            self.roll_ended = self.now
            self.ends.append(self.now)
            self.roll_began = None

    def _serve(self, demand: float | None, users: float | None, seconds: float) -> LawInputs:
        groups = [
            (self.curve_of(profile), count * self.engines_per_replica)
            for profile, count in self._groups()
        ]
        engines = sum(count for _, count in groups)
        most = self.true[0].concurrency[-1]

        def tokens(level: float) -> float:
            return sum(count * each.tokens_at(level) for each, count in groups)

        if engines == 0:
            self.served = level = 0.0
            self.backlog += 0.0 if demand is None else demand * seconds / OUTPUT
        elif users is not None:
            level = min(users / engines, most)
            self.served, self.backlog = tokens(level), max(0.0, users - engines * most)
        else:
            assert demand is not None
            wanted = demand + self.backlog * OUTPUT / seconds
            self.served = min(wanted, tokens(most))
            self.backlog = max(0.0, (wanted - self.served) * seconds / OUTPUT)
            level = most if wanted >= tokens(most) else _level(tokens, self.served, most)
        serving = engines // self.engines_per_replica
        return LawInputs(
            running=self.running,
            curves=self.believed,
            engines=engines,
            replicas=serving,
            strategy=RollStrategy(
                replicas=self.replicas, surge=self.surge, unavailable=self.unavailable
            ),
            generated_tokens_per_second=self.served,
            waiting_requests=self.backlog,
            mean_output_tokens=OUTPUT,
            concurrency=level,
            waiting_for_capacity=self.backlog,
            preemptions_per_second=0.0,
            roll=RollState(
                rolling=self.roll_began is not None,
                started_at=self.roll_started,
                finished_at=self.roll_ended,
            ),
            schedule=self.schedule,
            switches_left=self.switches_left,
        )


def _level(tokens: Callable[[float], float], served: float, most: float) -> float:
    low, high = 0.0, most
    for _ in range(26):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tokens(middle) < served else (low, middle)
    return high


def two_profiles(
    *, error: float = 0.0, cutoff: float = 40.0, most: float = 64.0, **others: object
) -> LawPlay:
    """Return a fleet with one speculating profile whose believed cut-off is off by a share."""
    play = LawPlay(
        true=(speculating("eagle", cutoff=cutoff, most=most), plain(most)),
        believed=(speculating("eagle", cutoff=cutoff * (1.0 + error), most=most), plain(most)),
        running="eagle",
    )
    return replace(play, **others)  # type: ignore[arg-type]
