"""The operator itself in the simulator: observations in, its own `decide`, a profile out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision, Outcome
from ridgeline.policy.facts import (
    EngineFacts,
    Facts,
    ReplicaFacts,
    RolloutFacts,
    TargetFacts,
    TelemetryFacts,
)
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.memory import SlowMemory as LawSlowMemory
from ridgeline.policy.law.peak import PeakSketch
from ridgeline.policy.lifecycle import finish_switch, unfinished_switch
from ridgeline.policy.memory import Memory
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.policy.schedule import ScheduleState
from ridgeline.policy.scheduled import lead_of
from ridgeline.policy.settings import PolicySettings
from ridgeline.sim.requests.controller import EngineObservation, Observation
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.terms.reasons import Reason

EPOCH: Final = 20_006 * 86_400.0
"""Epoch seconds at the simulation's midnight: a Thursday in UTC, as the traffic has it."""

_ENDPOINT: Final = "simulated"

MOST_NOTES: Final = 2000
"""Changes of a decision that are kept of one simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A decision that differs from the one before in what is done, why, or to what.

    Attributes:
        time: Seconds since the simulation began.
        outcome: What is done.
        profile: Profile that is wanted or kept.
        reason: Why.
        message: The same for a person.
    """

    time: float
    outcome: Outcome
    profile: str | None
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsAt:
    """Where the law last said that it acts, in requests in decode per engine."""

    quieter: str
    busier: str
    off_concurrency: float | None
    on_concurrency: float


@dataclass(kw_only=True)
class OperatorLaw:
    """A control law that is the operator's.

    Canaries and trials are rolled as a whole here, and nothing is learned on the way: acceptance
    and step times stay as they are believed.

    Attributes:
        settings: What a person asked for, the cut-offs included.
        surge: Pods that a roll adds first.
        telemetry: How the fleet is seen.
        peak: The demand of the time before.
        schedules: What schedules ask for at an epoch second with a lead; `None` without any.
        notes: Decisions where they changed, oldest first.
        acts_at: Where the law acts; `None` before it told.
    """

    settings: PolicySettings
    surge: int
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    peak: PeakSketch = field(default_factory=PeakSketch)
    schedules: Callable[[float, float], ScheduleState | None] | None = None
    notes: list[Note] = field(default_factory=list)
    acts_at: ActsAt | None = None
    concurrency: float | None = None
    _memory: Memory | None = None

    def decide(self, observation: Observation, now: float) -> str | None:
        """See Controller."""
        at = EPOCH + now
        memory = self._memory or Memory(law=LawMemory(slow=LawSlowMemory(peak=self.peak)))
        if not observation.rolling and unfinished_switch(memory) is not None:
            memory = finish_switch(memory, at)
        settings = self.settings
        if self.schedules is not None:
            settings = replace(settings, schedule=self.schedules(at, lead_of(memory.slow, at)))
        decision = decide(self._facts(observation, at), settings, memory, at)
        begins = decision.outcome is Outcome.SWITCH and not observation.rolling
        self._memory = decision.memory
        self._note(decision, now)
        return decision.profile if begins else None

    def _note(self, decision: Decision, now: float) -> None:
        told = decision.diagnostics
        if told.estimates.concurrency is not None:
            self.concurrency = told.estimates.concurrency
        act_at = told.law.act_at if told.law is not None else None
        if act_at is not None:
            self.acts_at = ActsAt(
                quieter=act_at.quieter,
                busier=act_at.busier,
                off_concurrency=act_at.off_concurrency,
                on_concurrency=act_at.on_concurrency,
            )
        last = self.notes[-1] if self.notes else None
        known = (decision.outcome, decision.profile, decision.reason)
        if last is not None and (last.outcome, last.profile, last.reason) == known:
            return
        if len(self.notes) < MOST_NOTES:
            self.notes.append(
                Note(
                    time=now,
                    outcome=decision.outcome,
                    profile=decision.profile,
                    reason=decision.reason,
                    message=decision.message,
                )
            )

    def _facts(self, seen: Observation, at: float) -> Facts:
        return Facts(
            target=self._target(seen),
            replicas=(
                *(_replica(each, self._speculates(each.profile)) for each in seen.engines),
                *(
                    ReplicaFacts(
                        name=f"unseen-{index}",
                        ready_seconds=seconds,
                        profile=None,
                        engines=(),
                    )
                    for index, seconds in enumerate(seen.unseen_seconds)
                ),
            ),
            telemetry=TelemetryFacts(
                endpoint=_ENDPOINT,
                window_seconds=self.telemetry.window_seconds,
                stale_after_seconds=self.telemetry.stale_after_seconds,
                answered_at=at,
            ),
            plan=RollPlan(
                replicas=seen.replicas,
                max_surge=self.surge,
                max_unavailable=0 if self.surge else 1,
                room=Room(pods=self.surge, why=f"{self.surge} spare GPUs are simulated"),
            ),
        )

    def _target(self, seen: Observation) -> TargetFacts:
        rollout = None
        if seen.rolling:
            rollout = RolloutFacts(
                updated=sum(each.profile == seen.active_profile for each in seen.engines),
                available=seen.serving,
                desired=seen.replicas,
            )
        return TargetFacts(
            uid=_ENDPOINT,
            desired_replicas=seen.replicas,
            active_profile=seen.active_profile,
            active_config="",
            rollout=rollout,
        )

    def _speculates(self, profile: str) -> bool:
        method = self.settings.methods.get(profile)
        return method is not None and method.speculates


def _replica(seen: EngineObservation, speculates: bool) -> ReplicaFacts:
    drafts = seen.request_steps_per_second if speculates else None
    engine = EngineFacts(
        engine="0",
        age_seconds=seen.age_seconds,
        decode_concurrency=seen.decode_concurrency,
        request_steps_per_second=seen.request_steps_per_second,
        steps_per_second=seen.steps_per_second,
        generated_tokens_per_second=seen.generated_tokens_per_second,
        acceptance_length=_ratio(seen.generated_tokens_per_second, seen.request_steps_per_second),
        tpot_seconds=_ratio(seen.decode_concurrency, seen.generated_tokens_per_second),
        drafts_per_second=drafts,
        running=seen.running,
        waiting=seen.waiting,
        prompt_tokens_per_second=seen.prompt_tokens_per_second,
        mean_prompt_tokens=seen.mean_prompt_tokens,
        mean_output_tokens=seen.mean_output_tokens,
        waiting_for_capacity=seen.waiting_for_capacity,
        queue_seconds_per_second=seen.queue_seconds_per_second,
        preemptions_per_second=0.0,
    )
    return ReplicaFacts(
        name=seen.name,
        ready_seconds=seen.ready_seconds,
        profile=seen.profile,
        engines=(engine,),
    )


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None
