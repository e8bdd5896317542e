"""A canary and the replicas beside it, as few numbers."""

from ridgeline.policy.canary.evidence import Evidence, Group
from ridgeline.policy.facts import EngineFacts, Facts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.terms.reasons import Reason

WINDOW = 60.0
LONG_READY = 9999.0
NO_TARGET = Problem(reason=Reason.NO_DATA, message="not needed here")


def side(
    seconds_per_token: float,
    *,
    concurrency: float = 8.0,
    replicas: int = 1,
    windows: int = 6,
    finished: tuple[tuple[str, float], ...] = (),
    answer: float | None = None,
) -> Group:
    """What some replicas of one engine each did; `answer` is the mean length in tokens."""
    seconds = windows * WINDOW * replicas
    answers = sum(count for _, count in finished) if answer is not None else 0.0
    return Group(
        request_seconds=concurrency * seconds,
        tokens=concurrency * seconds / seconds_per_token,
        engine_seconds=seconds,
        finished=finished,
        answer_tokens=answers * (answer or 0.0),
        answers=answers,
        replicas=replicas,
    )


def evidence(new: Group, old: Group, *, windows: int = 6, first: float | None = 0.0) -> Evidence:
    return Evidence(started_at=0.0, windows=windows, new=new, old=old, first_tokens_at=first)


def replica(
    name: str,
    profile: str | None,
    *,
    concurrency: float | None = 4.0,
    tokens: float | None = 200.0,
    ready: float = LONG_READY,
    age: float = 5.0,
    engines: int = 1,
    expected: int = 1,
    finished: tuple[tuple[str, float], ...] | None = None,
    answer: float | None = None,
) -> ReplicaFacts:
    """A replica whose engines all show the same rates."""
    return ReplicaFacts(
        name=name,
        ready_seconds=ready,
        profile=profile,
        expected_engines=expected,
        engines=tuple(
            EngineFacts(
                engine=str(number),
                age_seconds=age,
                decode_concurrency=concurrency,
                generated_tokens_per_second=tokens,
                finished_per_second=finished,
                mean_output_tokens=answer,
            )
            for number in range(engines)
        ),
    )


def facts(*replicas: ReplicaFacts, error: str | None = None, read_ago: float = 0.0) -> Facts:
    telemetry = TelemetryFacts(
        endpoint="prometheus",
        window_seconds=WINDOW,
        stale_after_seconds=60.0,
        error=error,
        read_seconds_ago=read_ago,
    )
    return Facts(target=NO_TARGET, replicas=replicas, telemetry=telemetry)
