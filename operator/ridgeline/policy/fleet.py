"""Which replicas count: the join of live, Ready Pods with what telemetry knows of them.

A Ready Pod younger than the rate window is *pending*: a rate over the window would reach back
before it was Ready. The others are *expected*. An expected Pod is *joined* when every engine it
should show has one fresh, finite sample of the signal that decisions rest on; else it is stale,
not finite, silent (no sample at all) or partial (some engine is missing or ambiguous).
"""

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from ridgeline.policy.facts import EngineFacts, ReplicaFacts, TelemetryFacts

NEEDED_SIGNAL: Final = "decode_concurrency"
"""The one signal that every decision needs; named as the field of `EngineFacts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The Ready Pods of a target, sorted by how well they can be seen.

    Attributes:
        pending: Pods Ready for less than the window.
        joined: Pods that count.
        stale: Pods with an engine whose newest sample is too old.
        not_finite: Pods with an engine whose needed signal is NaN or infinite.
        silent: Pods of which telemetry has no sample.
        partial: Pods that lack an engine, or show one twice.
        newest_stale_age: Seconds between now and the nearest sample that is not fresh, if any.
        read_seconds_ago: How long ago the engines' numbers were read.
        expected: Ready Pods older than the window.
        engines: The engines of all joined Pods.
    """

    pending: tuple[ReplicaFacts, ...] = ()
    joined: tuple[ReplicaFacts, ...] = ()
    stale: tuple[ReplicaFacts, ...] = ()
    not_finite: tuple[ReplicaFacts, ...] = ()
    silent: tuple[ReplicaFacts, ...] = ()
    partial: tuple[ReplicaFacts, ...] = ()
    newest_stale_age: float | None = None
    read_seconds_ago: float = 0.0
    expected: int = field(init=False, compare=False, repr=False)
    engines: tuple[EngineFacts, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Gather what every check asks for: once for all of them."""
        unseen = len(self.stale) + len(self.not_finite) + len(self.silent) + len(self.partial)
        object.__setattr__(self, "expected", len(self.joined) + unseen)
        engines = tuple([engine for replica in self.joined for engine in replica.engines])
        object.__setattr__(self, "engines", engines)


_NAME: Final = attrgetter("name")


def join(replicas: tuple[ReplicaFacts, ...], telemetry: TelemetryFacts) -> Fleet:
    """Sort the replicas by name into the groups of `Fleet`: their order never matters."""
    groups: dict[str, list[ReplicaFacts]] = {
        name: [] for name in ("pending", "joined", "stale", "not_finite", "silent", "partial")
    }
    stale_ages: list[float] = []
    for replica in sorted(replicas, key=_NAME):
        group = _group(replica, telemetry)
        groups[group].append(replica)
        if group == "stale":
            stale_ages += (
                abs(_age(engine, telemetry))
                for engine in replica.engines
                if math.isfinite(engine.age_seconds) and not _fresh(engine, telemetry)
            )
    return Fleet(
        pending=tuple(groups["pending"]),
        joined=tuple(groups["joined"]),
        stale=tuple(groups["stale"]),
        not_finite=tuple(groups["not_finite"]),
        silent=tuple(groups["silent"]),
        partial=tuple(groups["partial"]),
        newest_stale_age=min(stale_ages, default=None),
        read_seconds_ago=telemetry.read_seconds_ago,
    )


def _group(replica: ReplicaFacts, telemetry: TelemetryFacts) -> str:
    # Written so that an age which is not a number counts as young: nothing is known of it.
    if not replica.ready_seconds >= telemetry.window_seconds:
        return "pending"
    if not replica.engines:
        return "silent"
    alone = len(replica.engines) == 1 and replica.expected_engines <= 1
    if alone and _plainly_seen(replica.engines[0], telemetry):
        return "joined"
    if any(_is_not_finite(engine) for engine in replica.engines):
        return "not_finite"
    if not all(_fresh(engine, telemetry) for engine in replica.engines):
        return "stale"
    return "joined" if _complete(replica) else "partial"


def _plainly_seen(engine: EngineFacts, telemetry: TelemetryFacts) -> bool:
    """Tell whether an only engine has one fresh number, as nearly all have.

    Comparisons with what is not a number, or infinite, fail.
    """
    value, age = engine.decode_concurrency, engine.age_seconds + telemetry.read_seconds_ago
    limit = telemetry.stale_after_seconds
    return (
        value is not None
        and 0.0 <= value < math.inf
        and not engine.not_finite
        and -math.inf < age < math.inf
        and -limit <= age <= limit
    )


def _is_not_finite(engine: EngineFacts) -> bool:
    value = engine.decode_concurrency
    return NEEDED_SIGNAL in engine.not_finite or (value is not None and not math.isfinite(value))


def _fresh(engine: EngineFacts, telemetry: TelemetryFacts) -> bool:
    # A sample from the future by more than the limit is as unusable as one from the past.
    age = _age(engine, telemetry)
    return math.isfinite(age) and abs(age) <= telemetry.stale_after_seconds


def _age(engine: EngineFacts, telemetry: TelemetryFacts) -> float:
    return engine.age_seconds + telemetry.read_seconds_ago


def _complete(replica: ReplicaFacts) -> bool:
    labels = {engine.engine for engine in replica.engines}
    return (
        len(labels) == len(replica.engines)
        and len(labels) >= replica.expected_engines
        and all(
            engine.decode_concurrency is not None and engine.decode_concurrency >= 0
            for engine in replica.engines
        )
    )
