"""The facts behind an explanation, each with its age."""

from collections.abc import Iterator
from typing import Final

from ridgeline.controller.explain_fact import Fact
from ridgeline.controller.view import View
from ridgeline.policy.facts import EngineFacts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.policy.wording import number
from ridgeline.terms.times import epoch_seconds

MOST_REPLICAS: Final = 120
"""Replicas that are told one by one; the rest is counted."""

MOST_STARTS: Final = 20
"""Pods that are not Ready and told one by one."""

REPLICA: Final = "replica "
"""How what is told of a replica begins."""


def facts_told(view: View, out_of_reach: tuple[str, ...]) -> tuple[Fact, ...]:
    """Return what is known of a serving's target, replicas and telemetry.

    Args:
        view: What a pass would know.
        out_of_reach: Kinds that the person's rights do not reach, by their plural names.
    """
    return (
        *_decided(view),
        *_target(view, out_of_reach),
        *_replicas(view, out_of_reach),
        *_telemetry(view),
        *_learned(view),
        *(
            Fact(what=kind, value="not known: your rights do not reach them")
            for kind in out_of_reach
        ),
    )


def _decided(view: View) -> Iterator[Fact]:
    last = view.serving.status.get("lastDecision") or {}
    if "reason" in last:
        at = epoch_seconds(str(last["time"])) if "time" in last else None
        age = None if at is None else max(0.0, view.now - at)
        yield Fact(what="the operator's decision", value=str(last["reason"]), age_seconds=age)


def _target(view: View, out_of_reach: tuple[str, ...]) -> Iterator[Fact]:
    target = view.facts.target
    if "deployments" in out_of_reach:
        yield Fact(what="target", value="not known: your rights do not reach Deployments here")
    elif isinstance(target, Problem):
        yield Fact(what="target", value=f"{target.reason.value}: {target.message}")
    else:
        profile = target.active_profile or "none of the profiles"
        wrote = f", last written by {target.last_writer}" if target.last_writer else ""
        age = max(0.0, view.now - target.last_writer_at) if target.last_writer_at else None
        yield Fact(
            what="target",
            value=f"{target.desired_replicas} replicas wanted, its template runs {profile}{wrote}",
            age_seconds=age,
        )
        if target.rollout is not None:
            roll = target.rollout
            yield Fact(
                what="rollout",
                value=f"{roll.updated} of {roll.desired} Pods are new, {roll.available} available"
                + (", paused" if roll.paused else ""),
            )


def _replicas(view: View, out_of_reach: tuple[str, ...]) -> Iterator[Fact]:
    if "pods" in out_of_reach:
        yield Fact(what="replicas", value="not known: your rights do not reach Pods here")
        return
    replicas = sorted(view.facts.replicas, key=lambda each: each.name)
    ages = view.facts.telemetry
    since_read = ages.read_seconds_ago if isinstance(ages, TelemetryFacts) else 0.0
    for each in replicas[:MOST_REPLICAS]:
        yield Fact(
            what=f"{REPLICA}{each.name}",
            value=_replica(each, since_read),
            age_seconds=each.ready_seconds,
        )
    if len(replicas) > MOST_REPLICAS:
        yield Fact(what="more replicas", value=str(len(replicas) - MOST_REPLICAS))
    for start in view.facts.starts[:MOST_STARTS]:
        why = start.waiting_reason or start.unschedulable or f"{start.restarts} restarts"
        yield Fact(
            what=f"Pod {start.name}", value=f"not Ready: {why}", age_seconds=start.age_seconds
        )


def _replica(replica: ReplicaFacts, since_read: float) -> str:
    engines = replica.engines
    profile = replica.profile or "no profile named"
    if not engines:
        return f"Ready, {profile}, no sample"
    oldest = since_read + max(each.age_seconds for each in engines)
    return f"Ready, {profile}, {_concurrency(engines)}, sample {number(oldest)} s old"


def _concurrency(engines: tuple[EngineFacts, ...]) -> str:
    known = [each.decode_concurrency for each in engines if each.decode_concurrency is not None]
    if not known:
        return "requests in decode not known"
    told = f"{number(sum(known) / len(known))} requests in decode"
    return told if len(engines) == 1 else f"{told} per engine ({len(engines)} engines)"


def _telemetry(view: View) -> Iterator[Fact]:
    telemetry = view.facts.telemetry
    if isinstance(telemetry, Problem):
        yield Fact(what="telemetry", value=telemetry.message)
        return
    wrong = telemetry.error or "; ".join((*telemetry.partial, *telemetry.warnings))
    age = None
    if telemetry.answered_at is not None:
        age = max(0.0, view.now - telemetry.answered_at)
    yield Fact(
        what=f"telemetry ({telemetry.endpoint})",
        value=wrong
        or f"answered; means over {number(telemetry.window_seconds)} s, stale after "
        f"{number(telemetry.stale_after_seconds)} s",
        age_seconds=age,
    )


def _learned(view: View) -> Iterator[Fact]:
    learned = view.memory.slow.learned
    if learned is not None:
        written = learned.written_at
        age = max(0.0, view.now - written) if written else None
        yield Fact(what="learned", value=f"for {learned.basis}", age_seconds=age)
