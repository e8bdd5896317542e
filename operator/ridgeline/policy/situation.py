"""One moment of one serving, with what every check derives from the facts derived once."""

from dataclasses import dataclass

from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.decision import Estimates
from ridgeline.policy.estimate import estimate
from ridgeline.policy.facts import Facts, Problem, TargetFacts, TelemetryFacts
from ridgeline.policy.fleet import Fleet, join
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.terms.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Facts, settings, memory and time, and what follows from them.

    Attributes:
        facts: As told.
        settings: As resolved.
        memory: As remembered, with times mended.
        now: Epoch seconds.
        target: `None` when the target has a problem.
        telemetry: `None` when the endpoint has a problem.
        table: `None` when there is no cut-off.
        row: Row of the active profile in the table; `None` when it has none.
        fleet: The join; empty when the endpoint has a problem.
        estimates: What the fleet does now.
    """

    facts: Facts
    settings: PolicySettings
    memory: Memory
    now: float
    target: TargetFacts | None
    telemetry: TelemetryFacts | None
    table: CutoffTable | None
    row: int | None
    fleet: Fleet
    estimates: Estimates

    @property
    def must_leave(self) -> bool:
        """Whether the active profile has no row because it is best at no concurrency.

        A rule that says no speculation pays, or a prediction in which another profile wins
        everywhere, leaves it out; a person who gave the table may have forgotten it, and a
        profile that could not be predicted was never compared.
        """
        table, active = self.table, self.active
        if table is None or active not in self.settings.methods or self.row is not None:
            return False
        compared = table.curve(active) is not None
        return compared or table.verdict is Verdict.NO

    @property
    def active(self) -> str | None:
        """Name of the profile that the Pod template carries."""
        return self.target.active_profile if self.target is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What follows from the facts alone, whatever is asked for and remembered."""

    fleet: Fleet
    estimates: Estimates


def see(facts: Facts) -> Seen:
    """Join the replicas with their telemetry, and sum them up."""
    telemetry = None if isinstance(facts.telemetry, Problem) else facts.telemetry
    fleet = join(facts.replicas, telemetry) if telemetry is not None else Fleet()
    return Seen(fleet=fleet, estimates=estimate(fleet))


def observe(
    facts: Facts, settings: PolicySettings, memory: Memory, now: float, seen: Seen | None = None
) -> Situation:
    """Derive what the checks share.

    Args:
        facts: What is known now.
        settings: What a person asked for.
        memory: What is remembered.
        now: Epoch seconds.
        seen: `see(facts)`, by whoever has it already.
    """
    seen = seen or see(facts)
    target = None if isinstance(facts.target, Problem) else facts.target
    telemetry = None if isinstance(facts.telemetry, Problem) else facts.telemetry
    table = None if isinstance(settings.cutoff, Problem) else settings.cutoff
    active = target.active_profile if target is not None else None
    return Situation(
        facts=facts,
        settings=settings,
        memory=memory,
        now=now,
        target=target,
        telemetry=telemetry,
        table=table,
        row=table.index_of(active) if table is not None and active is not None else None,
        fleet=seen.fleet,
        estimates=seen.estimates,
    )
