"""Ticks of a small serving, for tests of records."""

from dataclasses import replace

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decision import Outcome
from ridgeline.policy.facts import EngineFacts, Facts, ReplicaFacts, TargetFacts, TelemetryFacts
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.telemetry.record import OPERATOR, RecordedDecision, RecordedTick, RecordHeader
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason

HEADER = RecordHeader(ridgeline="1.2.3", source=OPERATOR, window_seconds=120.0)
NOW = 1_800_000_000.0
SETTINGS = PolicySettings(
    mode=Mode.AUTOMATIC,
    suspended=False,
    methods={"eagle2": Method.EAGLE, "none": Method.DISABLED},
    cutoff=CutoffTable(
        (CutoffRow(profile="eagle2", up_to=20.0, return_below=16.0), CutoffRow(profile="none"))
    ),
    stabilization=Stabilization(busier_seconds=30.0, quieter_seconds=60.0),
    cooldown_seconds=120.0,
    max_switches_per_day=6,
)


def facts(concurrency: float = 5.0, error: str | None = None) -> Facts:
    """Two replicas of one engine each."""
    return Facts(
        target=TargetFacts(
            uid="uid-1",
            desired_replicas=2,
            active_profile="eagle2",
            active_config='{"method":"eagle"}',
            rollout=None,
        ),
        replicas=tuple(
            ReplicaFacts(
                name=f"llama-{n}",
                ready_seconds=3600.0,
                profile="eagle2",
                engines=(
                    EngineFacts(
                        engine="0",
                        age_seconds=4.0,
                        decode_concurrency=concurrency,
                        request_steps_per_second=400.0,
                        generated_tokens_per_second=900.0,
                        acceptance_length=2.25,
                        drafts_per_second=400.0,
                        drafted_share=1.0,
                        tpot_p99_bounds=(0.02, 0.03),
                        acceptance=(0.7, 0.5),
                        finished_per_second=(("length", 0.5), ("stop", 2.25)),
                        longest_answer_seconds=7680.0,
                        longest_answer_unbounded=True,
                    ),
                ),
            )
            for n in range(2)
        ),
        telemetry=TelemetryFacts(
            endpoint="default",
            window_seconds=120.0,
            stale_after_seconds=60.0,
            answered_at=NOW,
            error=error,
        ),
    )


def tick(number: int = 0, *, serving: str = "llama", concurrency: float = 5.0) -> RecordedTick:
    """The tick of that number, 15 seconds apart."""
    return RecordedTick(
        at=NOW + 15.0 * number,
        namespace="inference",
        serving=serving,
        facts=facts(concurrency),
        settings=SETTINGS,
        memory=Memory(),
        decision=RecordedDecision(
            outcome=Outcome.KEEP,
            profile="eagle2",
            recommended="eagle2",
            reason=Reason.BEST_PROFILE_ACTIVE,
            message="5 < 16",
        ),
    )


def ticks(count: int, *, serving: str = "llama") -> list[RecordedTick]:
    """So many ticks, each with another load."""
    return [tick(n, serving=serving, concurrency=5.0 + n / 7) for n in range(count)]


def with_error(error: str) -> RecordedTick:
    """A tick whose endpoint said this."""
    return replace(tick(), facts=facts(error=error))
