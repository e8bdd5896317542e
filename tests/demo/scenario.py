"""What the demo does and expects: phases, each with a load and a profile that must follow.

Pure: frames in, the next load out. The same scenario plays on a real cluster and in simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.demo.frame import Frame

QUIET_USERS = 20
BUSY_USERS = 140
MEASURE_S = 12.0


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One load, and the profile that must be in force before the next phase begins.

    Attributes:
        title: What is shown.
        users: Users during the phase.
        profile: Profile that the operator must have rolled to; the phase ends a little after.
        longest_s: The phase fails after this time.
    """

    title: str
    users: int
    profile: str
    longest_s: float = 240.0


PHASES = (
    Phase(title="quiet: EAGLE should come on", users=QUIET_USERS, profile="eagle"),
    Phase(title="busy: EAGLE should go off", users=BUSY_USERS, profile="none"),
    Phase(title="quiet again: EAGLE should come back", users=QUIET_USERS, profile="eagle"),
)


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Tokens per second at the same number of users, before and after a roll."""

    users: int
    from_profile: str
    to_profile: str
    before: float
    after: float

    @property
    def percent(self) -> float:
        """How much more (or less) the fleet delivers after the roll."""
        return 100.0 * (self.after / self.before - 1.0)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the scenario ended.

    Attributes:
        rolls: Profiles that the operator rolled to, in order.
        gains: What each roll changed.
        failure: Why it was not what was expected; None when it was.
    """

    rolls: tuple[str, ...]
    gains: tuple[Gain, ...]
    failure: str | None


@dataclass
class Scenario:
    """Plays the phases: feed it frames, ask it for users and whether it is over."""

    phases: tuple[Phase, ...] = PHASES
    _index: int = 0
    _began_s: float = 0.0
    _rolled_at_s: float | None = None
    _before: list[float] = field(default_factory=list)
    _after: list[float] = field(default_factory=list)
    _gains: list[Gain] = field(default_factory=list)
    _rolls: tuple[str, ...] = ()
    _from: str = "none"
    _failure: str | None = None
    _seen: bool = False

    @property
    def started(self) -> bool:
        """Whether it has seen anything."""
        return self._seen

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self._failure is not None or self._index >= len(self.phases)

    @property
    def users(self) -> int:
        """Users that should send requests now."""
        return self.phases[min(self._index, len(self.phases) - 1)].users

    @property
    def title(self) -> str:
        """What is being waited for."""
        return self.phases[self._index].title if not self.over else "done"

    def feed(self, frame: Frame) -> None:
        """Take one look into account."""
        self._seen = True
        if self.over:
            return
        phase = self.phases[self._index]
        self._rolls = frame.finished
        if len(frame.finished) > self._index + 1 or (
            len(frame.finished) == self._index + 1 and frame.finished[-1] != phase.profile
        ):
            self._failure = f"in phase {phase.title!r} it rolled to {frame.finished}"
            return
        if len(frame.finished) <= self._index:
            if frame.settled and frame.users == phase.users and not frame.rolling:
                self._before.append(frame.tokens_per_s or 0.0)
            if frame.elapsed_s - self._began_s > phase.longest_s:
                self._failure = (
                    f"in phase {phase.title!r} no roll to {phase.profile} was finished within "
                    f"{phase.longest_s:.0f} s; last decision: {frame.reason}: {frame.message}"
                )
            return
        self._measure(frame, phase)

    def outcome(self) -> Outcome:
        """Return how it ended, or how it stands."""
        failure = self._failure
        if failure is None and self._index < len(self.phases):
            failure = f"it was stopped in phase {self.title!r}"
        return Outcome(rolls=self._rolls, gains=tuple(self._gains), failure=failure)

    def _measure(self, frame: Frame, phase: Phase) -> None:
        if self._rolled_at_s is None:
            self._rolled_at_s = frame.elapsed_s
        if frame.settled:
            self._after.append(frame.tokens_per_s or 0.0)
        known_for = frame.elapsed_s - self._rolled_at_s
        if known_for < MEASURE_S or len(self._after) < 3:
            if frame.elapsed_s - self._began_s > 2 * phase.longest_s:
                self._failure = f"after the roll to {phase.profile} no numbers came"
            return
        # The last look before the roll: earlier ones still hold the load of the phase before.
        if self._before and self._before[-1] > 0:
            self._gains.append(
                Gain(
                    users=phase.users,
                    from_profile=self._from,
                    to_profile=phase.profile,
                    before=self._before[-1],
                    after=self._after[-1],
                )
            )
        self._from = phase.profile
        self._index += 1
        self._began_s, self._rolled_at_s = frame.elapsed_s, None
        self._before, self._after = [], []


Show = Callable[[Frame], None]
