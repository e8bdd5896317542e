"""What old replicas and canary did in the same windows, summed up one independent window at a time.

Time per token comes from counters (request-seconds ÷ tokens): it needs no finished request, and a
request-step that yields several tokens counts with all of them. A replica's own warm-up is left
out: its first window after the first token, and half a window more.

A canary that has just begun to serve finishes short answers first, whatever it is asked. Its
answers are counted only in windows that begin three mean answers after its first tokens. (With the
output lengths of the public Azure code trace of 2023, all that finished within three mean answers
of the start have 0.52 of the true mean; those that finish later 0.7.)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.policy.facts import Facts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.policy.fleet import join
from ridgeline.policy.sums import exact_sum

WARM_UP_WINDOWS: Final = 1.5
"""Rate windows after a replica's first token that are not counted: kernels are tuned and caches
filled in the first requests."""

SURVIVORS: Final = 3.0
"""Mean answer times that a canary must have served for its answers to be compared."""

Finished = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What one side did; sums over engines and windows.

    Attributes:
        request_seconds: Time that requests spent in decode.
        tokens: Output tokens.
        engine_seconds: Time that its engines were seen for.
        finished: Requests that finished, by their reason; of a canary, once long ones do as well.
        answer_tokens: Tokens of the answers of those whose length is known.
        answers: Number of those answers.
        replicas: Replicas of the last window.
    """

    request_seconds: float = 0.0
    tokens: float = 0.0
    engine_seconds: float = 0.0
    finished: Finished = ()
    answer_tokens: float = 0.0
    answers: float = 0.0
    replicas: int = 0

    @property
    def concurrency(self) -> float:
        """Mean requests in decode per engine; 0 before anything was seen."""
        return self.request_seconds / self.engine_seconds if self.engine_seconds > 0 else 0.0

    @property
    def seconds_per_token(self) -> float | None:
        """Time per output token; `None` before any was made."""
        return self.request_seconds / self.tokens if self.tokens > 0 else None

    @property
    def mean_answer(self) -> float | None:
        """Mean tokens of an answer; `None` before any length was seen."""
        return self.answer_tokens / self.answers if self.answers > 0 else None

    def plus(self, other: "Group") -> "Group":
        """Return the sum of two groups; the replicas are those of `other`."""
        counts = dict(self.finished)
        for reason, count in other.finished:
            counts[reason] = counts.get(reason, 0.0) + count
        return Group(
            request_seconds=self.request_seconds + other.request_seconds,
            tokens=self.tokens + other.tokens,
            engine_seconds=self.engine_seconds + other.engine_seconds,
            finished=tuple(sorted(counts.items())),
            answer_tokens=self.answer_tokens + other.answer_tokens,
            answers=self.answers + other.answers,
            replicas=other.replicas,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that was seen of one canary; lost with the process, which only delays a verdict.

    Attributes:
        started_at: Start of the roll that it is about.
        windows: Windows counted.
        new: The canary.
        old: The replicas beside it.
        next_at: Epoch seconds at which the next window is over.
        first_tokens_at: Epoch seconds at which the canary's first tokens were seen.
    """

    started_at: float
    windows: int = 0
    new: Group = field(default_factory=Group)
    old: Group = field(default_factory=Group)
    next_at: float = 0.0
    first_tokens_at: float | None = None


def gathered(
    before: Evidence | None, facts: Facts, profile: str, started_at: float, now: float
) -> Evidence:
    """Return the evidence with the window that ends now, if it is a whole new one.

    Args:
        before: What was gathered until now; that of another roll is dropped.
        facts: What is known now.
        profile: Profile of the canary.
        started_at: When its roll was announced, in epoch seconds.
        now: Epoch seconds.
    """
    evidence = before
    if evidence is None or evidence.started_at != started_at:
        evidence = Evidence(started_at=started_at)
    telemetry = facts.telemetry
    if isinstance(telemetry, Problem) or telemetry.error is not None:
        return evidence
    window = telemetry.window_seconds
    # A clock that jumped back must not hold the evidence up for ever.
    if window <= 0 or now < evidence.next_at <= now + window:
        return evidence
    canary = [each for each in facts.replicas if each.profile == profile]
    evidence = replace(evidence, first_tokens_at=_first_tokens_at(evidence, canary, telemetry, now))
    first = evidence.first_tokens_at
    warm = [each for each in facts.replicas if _is_warm(each, window)]
    new = _group((each for each in warm if each.profile == profile), telemetry)
    old = _group((each for each in warm if each.profile != profile), telemetry)
    if (
        first is None
        or now < first + WARM_UP_WINDOWS * window
        or not (new.replicas and old.replicas)
    ):
        return evidence
    new, old = evidence.new.plus(_settled(new, evidence, old, now - window)), evidence.old.plus(old)
    return replace(evidence, windows=evidence.windows + 1, new=new, old=old, next_at=now + window)


def _first_tokens_at(
    evidence: Evidence, canary: list[ReplicaFacts], telemetry: TelemetryFacts, now: float
) -> float | None:
    """Return when the canary's first tokens were seen; never later than now, as clocks jump."""
    first = evidence.first_tokens_at
    if first is None:
        return now if _group(canary, telemetry).tokens > 0 else None
    return min(first, now)


def _is_warm(replica: ReplicaFacts, window: float) -> bool:
    """Tell whether a replica's warm-up was over when the window began.

    A Pod that an autoscaler adds meanwhile, on either side, is left out as long as the first one.
    """
    return replica.ready_seconds >= (1.0 + WARM_UP_WINDOWS) * window


def _settled(new: Group, evidence: Evidence, old: Group, began: float) -> Group:
    """Return the canary's window without answers while only short ones can have finished."""
    beside = evidence.old.plus(old)
    speeds = (new.seconds_per_token, beside.seconds_per_token)
    slowest = max((each for each in speeds if each is not None), default=None)
    first, mean = evidence.first_tokens_at, beside.mean_answer
    none = replace(new, finished=(), answer_tokens=0.0, answers=0.0)
    if first is None or slowest is None or mean is None:
        return none
    return new if began >= first + SURVIVORS * mean * slowest else none


def gathered_fleet(
    before: Evidence | None, facts: Facts, profile: str, ended_at: float, now: float
) -> Evidence:
    """Return the evidence of a whole fleet after its roll, as the `new` side.

    Args:
        before: What was gathered until now; that of another roll is dropped.
        facts: What is known now.
        profile: Profile of the fleet.
        ended_at: When the roll ended, in epoch seconds.
        now: Epoch seconds.
    """
    evidence = before
    if evidence is None or evidence.started_at != ended_at:
        evidence = Evidence(started_at=ended_at)
    telemetry = facts.telemetry
    if isinstance(telemetry, Problem) or telemetry.error is not None:
        return evidence
    window = telemetry.window_seconds
    settled = ended_at + WARM_UP_WINDOWS * window
    if window <= 0 or now < settled or now < evidence.next_at <= now + window:
        return evidence
    if any(each.profile != profile for each in facts.replicas):
        return evidence
    fleet = _group(facts.replicas, telemetry)
    if fleet.replicas < len(facts.replicas) or not fleet.replicas:
        return evidence
    return replace(
        evidence,
        windows=evidence.windows + 1,
        new=evidence.new.plus(fleet),
        next_at=now + window,
    )


def _group(replicas: Iterable[ReplicaFacts], telemetry: TelemetryFacts) -> Group:
    """Return what replicas did in one window; those that are not seen whole are left out."""
    window = telemetry.window_seconds
    seen = [each for each in join(tuple(replicas), telemetry).joined if _tells_tokens(each)]
    engines = [engine for each in seen for engine in each.engines]
    finished: dict[str, float] = {}
    answers, answer_tokens = [], []
    for engine in engines:
        count = 0.0
        for reason, per_second in engine.finished_per_second or ():
            finished[reason] = finished.get(reason, 0.0) + per_second * window
            count += per_second * window
        if engine.mean_output_tokens is not None and count > 0:
            answers.append(count)
            answer_tokens.append(count * engine.mean_output_tokens)
    return Group(
        request_seconds=_total((each.decode_concurrency or 0.0) * window for each in engines),
        tokens=_total((each.generated_tokens_per_second or 0.0) * window for each in engines),
        engine_seconds=window * len(engines),
        finished=tuple(sorted(finished.items())),
        answer_tokens=_total(answer_tokens),
        answers=_total(answers),
        replicas=len(seen),
    )


def _total(values: Iterable[float]) -> float:
    return exact_sum(values) or 0.0


def _tells_tokens(replica: ReplicaFacts) -> bool:
    return all(each.generated_tokens_per_second is not None for each in replica.engines)
