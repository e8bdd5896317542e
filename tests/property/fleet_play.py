"""A fleet that is played against `decide`: load, rolls that take time, look-back, restarts.

What a rate window shows is the mean of the level over the window. While a roll replaces one replica
after the other, one is always out, so the level on the others is higher: by N/(N−1).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import EngineFacts, Facts, ReplicaFacts, RolloutFacts
from ridgeline.policy.lifecycle import finish_switch
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from tests.unit.policy import moments

WINDOW = moments.WINDOW
TICK = 15.0

Spoil = Callable[[list[ReplicaFacts]], list[ReplicaFacts]]


@dataclass(kw_only=True)
class Made:
    """A switch, and the fleet's clock and memory when it was decided."""

    at: float
    clock: float
    decision: Decision
    level: float
    dwelled_on: tuple[tuple[float, float], ...]


@dataclass(kw_only=True)
class FleetPlay:
    """The played fleet. `clock_error` is added to the time that `decide` is told."""

    settings: PolicySettings
    active: str = "eagle2"
    count: int = 4
    roll_seconds: float = 840.0
    time: float = moments.NOW
    clock_error: float = 0.0
    memory: Memory = field(default_factory=Memory)
    ready_since: list[float] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)
    roll_began: float | None = None
    levels: list[tuple[float, float]] = field(default_factory=list)
    clean: list[tuple[float, float]] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    roll_ends: list[float] = field(default_factory=list)
    last: Decision | None = None

    def __post_init__(self) -> None:
        self.ready_since = [self.time - 86_400.0] * self.count
        self.profiles = [self.active] * self.count

    @property
    def clock(self) -> float:
        return self.time + self.clock_error

    @property
    def rolling(self) -> bool:
        return self.roll_began is not None

    def tick(self, load: float, seconds: float = TICK, spoil: Spoil | None = None) -> Decision:
        """Let time pass at a load (requests in decode per engine with all replicas), and decide."""
        self.time += seconds
        self._roll_on()
        self.levels.append((self.time, load * self.count / (self.count - self.rolling)))
        facts = self._facts(spoil)
        decision = decide(facts, self.settings, self.memory, self.clock)
        self.memory, self.last = decision.memory, decision
        level = decision.diagnostics.estimates.concurrency
        if decision.memory.fast.crossing is None and decision.outcome is not Outcome.SWITCH:
            self.clean = []
        elif level is not None:
            self.clean.append((self.clock, level))
        if decision.outcome is Outcome.SWITCH:
            self._begin(decision)
        return decision

    def restart(self) -> None:
        self.memory = Memory(slow=self.memory.slow)
        self.clean = []

    def replace_pod(self, index: int) -> None:
        """A Pod died and its successor has just become Ready."""
        self.ready_since[index] = self.time

    def observed(self) -> float:
        """What the rate window shows now."""
        inside = [level for at, level in self.levels if at > self.time - WINDOW]
        return sum(inside) / len(inside)

    def _begin(self, decision: Decision) -> None:
        assert decision.profile is not None
        self.made.append(
            Made(
                at=self.time,
                clock=self.clock,
                decision=decision,
                level=self.observed(),
                dwelled_on=tuple(self.clean),
            )
        )
        self.clean = []
        self.roll_began = self.time
        self.active = decision.profile

    def _roll_on(self) -> None:
        if self.roll_began is None:
            return
        done = int((self.time - self.roll_began) / self.roll_seconds * self.count)
        for index in range(min(done, self.count)):
            if self.profiles[index] != self.active:
                self.profiles[index] = self.active
                self.ready_since[index] = self.time
        if done >= self.count:
            self.roll_began = None
            self.roll_ends.append(self.clock)
            self.memory = finish_switch(self.memory, self.clock)

    def _facts(self, spoil: Spoil | None) -> Facts:
        seen = self.observed()
        replicas = [self._replica(index, seen) for index in range(self.count)]
        rollout = None
        # The rollout becomes visible a tick after it was asked for.
        if self.roll_began is not None and self.time - self.roll_began > TICK:
            done = sum(1 for each in self.profiles if each == self.active)
            rollout = RolloutFacts(updated=done, available=self.count - 1, desired=self.count)
        return moments.facts(
            active=self.active,
            replicas=spoil(replicas) if spoil else replicas,
            desired=self.count,
            rollout=rollout,
            now=self.clock,
        )

    def _replica(self, index: int, level: float) -> ReplicaFacts:
        profile = self.profiles[index]
        drafts = 30.0 if self.settings.methods[profile].speculates else None
        engine = EngineFacts(
            engine="0",
            age_seconds=5.0,
            decode_concurrency=level,
            steps_per_second=40.0,
            drafts_per_second=drafts,
        )
        return ReplicaFacts(
            name=f"pod-{index}",
            ready_seconds=self.time - self.ready_since[index],
            profile=profile,
            engines=(engine,),
        )
