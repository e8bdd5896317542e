"""One moment of one fleet, with what every rule derives from it derived once."""

from dataclasses import dataclass

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.borders import Border, roll_pair
from ridgeline.policy.law.capacity import RollPair, batches
from ridgeline.policy.law.inputs import LawInputs
from ridgeline.policy.law.look import Look
from ridgeline.policy.law.memory import SlowMemory
from ridgeline.policy.law.roll_cost import DEFAULT_OUTPUT, requests_in_flight, roll_cost
from ridgeline.policy.law.settings import LawSettings
from ridgeline.policy.law.terms import LawReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Inputs, settings, memory and time, and what follows from them.

    Attributes:
        inputs: As told.
        settings: The constants.
        slow: Slow memory.
        seen: The look.
        row: Row of the running profile among the curves.
        borders: The borders, from the quietest.
        busier_for: Seconds that some sign has asked for a busier profile.
        now: Epoch seconds.
    """

    inputs: LawInputs
    settings: LawSettings
    slow: SlowMemory
    seen: Look
    row: int
    borders: tuple[Border, ...]
    busier_for: float = 0.0
    now: float

    @property
    def curve(self) -> Curve:
        """The running profile's curve."""
        return self.inputs.curves[self.row]

    @property
    def above(self) -> Border | None:
        """The border towards busier profiles."""
        return self.borders[self.row] if self.row < len(self.borders) else None

    @property
    def beneath(self) -> Border | None:
        """The border towards quieter profiles."""
        return self.borders[self.row - 1] if self.row > 0 else None

    @property
    def top(self) -> int:
        """The busiest row that is reached over borders with a cut-off."""
        row = self.row
        while row < len(self.borders) and self.borders[row].off_demand is not None:
            row += 1
        return row

    @property
    def demand_per_engine(self) -> float:
        """Demand of one engine, tokens per second."""
        return self.seen.demand / self.seen.engines

    @property
    def mean_output(self) -> float:
        """Mean answer in tokens."""
        return self.seen.mean_output or DEFAULT_OUTPUT

    def profile(self, row: int) -> str:
        """Return the profile of a row."""
        return self.inputs.curves[row].profile

    def roll_to(self, row: int) -> RollPair:
        """Return the roll from the running profile to a row's."""
        return roll_pair(self.inputs, self.curve, self.inputs.curves[row])

    def start_seconds(self, row: int) -> float:
        """Return how long a replica of a row takes to start, as learned."""
        return dict(self.slow.starts).get(self.profile(row), self.settings.start_seconds)

    def requests_on(self, row: int) -> float:
        """Return the requests in the fleet that a row's curve predicts for the demand."""
        return requests_in_flight(
            self.inputs.curves[row],
            demand=self.seen.demand,
            engines=self.seen.engines,
            mean_output=self.mean_output,
            horizon=self.settings.start_seconds * max(1, batches(self.inputs.strategy)),
        )

    def cost_of(self, row: int) -> float:
        """Return the cost of a roll to a row, request-seconds."""
        return roll_cost(
            self.roll_to(row),
            demand=self.seen.demand,
            mean_output=self.mean_output,
            phase_seconds=self.start_seconds(row),
            cold_seconds=self.settings.cold_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A move that a rule asks for, before the guards.

    Attributes:
        row: Row to move to.
        reason: Why.
        because: The same for a person, the first half of a sentence.
        lasted: Seconds (or request-seconds) that count for it.
        needed: How many it needs.
        unit: Their unit.
    """

    row: int
    reason: LawReason
    because: str
    lasted: float
    needed: float
    unit: str = "s"
