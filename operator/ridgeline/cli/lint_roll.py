"""What a roll needs of a target's manifest: the operator's own checks, on what Git says."""

from collections.abc import Iterator
from typing import Final

from ridgeline.cli.lint_around import Release
from ridgeline.cli.lint_containers import Server
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.shape import ContainerTiming
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.flags import shutdown_timeout_seconds
from ridgeline.policy.placement import Room
from ridgeline.policy.roll_plan import (
    RollCheck,
    RollPlan,
    drain_is_given_time,
    pods_start_alone,
    strategy_moves,
    strategy_serves,
    target_is_its_own,
)

_DRAIN_FLAG: Final = "--shutdown-timeout"
_PRE_STOP: Final = "lifecycle.preStop"
_NOT_ASKED: Final = Room(pods=None, why="no cluster was asked")
_CHECKS: Final[tuple[RollCheck, ...]] = (
    target_is_its_own,
    strategy_serves,
    strategy_moves,
    pods_start_alone,
    drain_is_given_time,
)


def roll_findings(
    deployment: DeploymentObject, server: Server, release: Release
) -> Iterator[Finding]:
    """Yield what keeps the operator from rolling a target, or cuts answers when it does."""
    if deployment.paused:
        yield Finding(
            check="Paused",
            flag="spec.paused",
            value="true",
            consequence="Kubernetes rolls nothing, so the operator changes no profile",
            fix="remove it, or leave the serving suspended as long as you want it",
            severity=Severity.WARNING,
        )
    timing = deployment.shape.timing.get(server.written.name) or ContainerTiming()
    drain = shutdown_timeout_seconds(server.container.words)
    for check in _CHECKS:
        hold = check(_plan(deployment, timing, drain))
        if hold is not None:
            consequence, _, fix = hold.message.rpartition("; ")
            yield Finding(
                check=hold.reason.value,
                flag=f"Deployment {deployment.name}",
                value="",
                consequence=f"no roll is begun: {consequence}",
                fix=fix,
                severity=Severity.WARNING,
            )
    yield from _drain(release, timing, drain)


def _plan(deployment: DeploymentObject, timing: ContainerTiming, drain: float) -> RollPlan:
    shape = deployment.shape
    return RollPlan(
        replicas=deployment.replicas,
        recreate=shape.recreate,
        max_surge=shape.max_surge,
        max_unavailable=shape.max_unavailable,
        room=_NOT_ASKED,
        grace_seconds=shape.grace,
        drain_seconds=timing.pre_stop + drain,
        gang=shape.gang,
        owner=shape.owner,
    )


def _drain(release: Release, timing: ContainerTiming, drain: float) -> Iterator[Finding]:
    has_flag = _DRAIN_FLAG in release.contract.flags
    if drain > 0 and not has_flag and release.told:
        yield _cut(
            "FlagUnknown",
            _DRAIN_FLAG,
            f"vLLM {release.contract.version} has no such flag: the start stops (usage error)",
            "remove it and set a preStop sleep, or use vLLM 0.18 or newer",
            Severity.ERROR,
        )
    elif drain <= 0 and timing.pre_stop <= 0:
        way = (
            f"a preStop sleep of some seconds and {_DRAIN_FLAG}" if has_flag else "a preStop sleep"
        )
        yield _cut(
            "NoDrain",
            _PRE_STOP,
            "a Pod that a roll takes away cuts its running answers, and gets new requests while it "
            "ends",
            f"set {way}, and terminationGracePeriodSeconds to more than both",
            Severity.WARNING,
        )
    elif drain <= 0 and has_flag:
        yield _cut(
            "NoShutdownTimeout",
            _DRAIN_FLAG,
            f"answers that take longer than the preStop sleep of {timing.pre_stop:.0f} s are cut "
            "when a roll takes a Pod away",
            f"set {_DRAIN_FLAG} to what the longest answer takes",
            Severity.INFO,
        )
    elif timing.pre_stop <= 0:
        yield _cut(
            "NoPreStop",
            _PRE_STOP,
            "a Pod that ends still gets requests until every proxy knows, and refuses them",
            "set a preStop sleep of some seconds",
            Severity.INFO,
        )


def _cut(check: str, flag: str, consequence: str, fix: str, severity: Severity) -> Finding:
    return Finding(
        check=check, flag=flag, value="", consequence=consequence, fix=fix, severity=severity
    )
