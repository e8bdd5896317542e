"""Builders of facts, settings and memory: everything is well unless a test says otherwise."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.decide import decide
from ridgeline.policy.decision import Decision
from ridgeline.policy.facts import (
    EngineFacts,
    Facts,
    Problem,
    ReplicaFacts,
    RolloutFacts,
    TargetFacts,
    TelemetryFacts,
)
from ridgeline.policy.memory import Crossing, FastMemory, Memory, SlowMemory, Switch
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason

NOW = 1_800_000_000.0
WINDOW = 120.0
STALE = 60.0

TWO_ROWS = CutoffTable(
    (
        CutoffRow(profile="eagle2", up_to=20.0, return_below=16.0),
        CutoffRow(profile="none"),
    )
)
THREE_ROWS = CutoffTable(
    (
        CutoffRow(profile="draft-1b", up_to=8.0, return_below=6.0),
        CutoffRow(profile="eagle2", up_to=20.0, return_below=16.0),
        CutoffRow(profile="none"),
    )
)
METHODS = {
    "draft-1b": Method.DRAFT_MODEL,
    "eagle2": Method.EAGLE,
    "ngram": Method.NGRAM,
    "suffix": Method.SUFFIX,
    "none": Method.DISABLED,
}


def engine(concurrency: float | None = 10.0, label: str = "0", **other: Any) -> EngineFacts:
    usual = EngineFacts(
        engine=label,
        age_seconds=5.0,
        decode_concurrency=concurrency,
        steps_per_second=40.0,
    )
    return replace(usual, **other)


def replica(
    name: str = "pod-0", *engines: EngineFacts, ready: float = 3600.0, **other: Any
) -> ReplicaFacts:
    usual = ReplicaFacts(name=name, ready_seconds=ready, profile=None, engines=engines)
    return replace(usual, **other)


def pods(concurrency: float, count: int = 4, drafts: float | None = 30.0) -> list[ReplicaFacts]:
    return [
        replica(f"pod-{i}", engine(concurrency, drafts_per_second=drafts)) for i in range(count)
    ]


def facts(
    concurrency: float = 10.0,
    *,
    active: str | None = "eagle2",
    replicas: Sequence[ReplicaFacts] | None = None,
    desired: int = 4,
    rollout: RolloutFacts | None = None,
    target: Problem | None = None,
    telemetry: TelemetryFacts | Problem | None = None,
    now: float = NOW,
) -> Facts:
    drafts = None if active == "none" else 30.0
    return Facts(
        target=target
        or TargetFacts(
            uid="uid-1",
            desired_replicas=desired,
            active_profile=active,
            active_config='{"method":"eagle"}',
            rollout=rollout,
        ),
        replicas=tuple(pods(concurrency, drafts=drafts) if replicas is None else replicas),
        telemetry=telemetry or endpoint(now=now),
    )


def endpoint(now: float = NOW, **other: Any) -> TelemetryFacts:
    usual = TelemetryFacts(
        endpoint="default",
        window_seconds=WINDOW,
        stale_after_seconds=STALE,
        answered_at=now,
    )
    return replace(usual, **other)


def settings(**other: Any) -> PolicySettings:
    usual = PolicySettings(
        mode=Mode.AUTOMATIC,
        suspended=False,
        methods=METHODS,
        cutoff=TWO_ROWS,
        stabilization=Stabilization(busier_seconds=60.0, quieter_seconds=600.0),
        cooldown_seconds=1800.0,
        max_switches_per_day=6,
    )
    return replace(usual, **other)


def switch(ended_ago: float | None, *, began_ago: float | None = None, to: str = "none") -> Switch:
    """A switch that ended so many seconds before NOW; `None`: it has not ended."""
    began = began_ago if began_ago is not None else (ended_ago or 0.0) + 300.0
    return Switch(
        started_at=NOW - began,
        finished_at=None if ended_ago is None else NOW - ended_ago,
        from_profile="eagle2",
        to_profile=to,
        reason=Reason.ABOVE_CUTOFF,
    )


def memory(*switches: Switch, towards: str | None = None, crossed_ago: float = 1000.0) -> Memory:
    crossing = None if towards is None else Crossing(towards=towards, since=NOW - crossed_ago)
    return Memory(slow=SlowMemory(switches=switches), fast=FastMemory(crossing=crossing))


def about_to_switch(concurrency: float = 30.0, **changed: Any) -> Decision:
    """Decide where everything is ripe for a switch from eagle2 to none, but for what is changed."""
    given: dict[str, Any] = {
        "facts": facts(concurrency),
        "settings": settings(),
        "memory": memory(towards="none"),
        "now": NOW,
    } | changed
    return decide(given["facts"], given["settings"], given["memory"], given["now"])


def about_to_return(concurrency: float = 5.0, **changed: Any) -> Decision:
    """Decide where everything is ripe for a switch from none back to eagle2."""
    given: dict[str, Any] = {
        "facts": facts(concurrency, active="none"),
        "settings": settings(),
        "memory": memory(towards="eagle2"),
        "now": NOW,
    } | changed
    return decide(given["facts"], given["settings"], given["memory"], given["now"])


def with_replica(base: Facts, index: int, **changed: Any) -> Facts:
    """The same facts with one replica changed."""
    replicas = list(base.replicas)
    replicas[index] = replace(replicas[index], **changed)
    return replace(base, replicas=tuple(replicas))
