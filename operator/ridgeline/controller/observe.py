"""Joins what the watch store and telemetry know of one serving into its facts."""

from collections.abc import Collection, Mapping
from functools import lru_cache

from ridgeline.cluster.objects import PodObject
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.plan import roll_plan
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.starts import pod_starts
from ridgeline.engine.flags import data_parallel_size
from ridgeline.policy.facts import EngineFacts, Facts, Problem, ReplicaFacts, TelemetryFacts
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.parents import ParentKind


def facts_of(
    target: ResolvedTarget | Problem,
    pods: tuple[PodObject, ...],
    snapshot: TelemetrySnapshot | Problem,
    *,
    stale_after_seconds: float,
    now: float,
    around: Surroundings | None = None,
    learned_starts: Mapping[str, float] | None = None,
    parents: Collection[ParentKind] = (),
) -> Facts:
    """Return the facts of one serving at `now`.

    Only live, Ready Pods become replicas: samples of Pods that are gone are never looked at.
    """
    if isinstance(snapshot, Problem):
        telemetry: TelemetryFacts | Problem = snapshot
        engines: Mapping[tuple[str, str], tuple[EngineFacts, ...]] = {}
        since_read = 0.0
    else:
        since_read = max(0.0, now - snapshot.taken_at)
        telemetry = TelemetryFacts(
            endpoint=snapshot.endpoint,
            window_seconds=snapshot.window_seconds,
            stale_after_seconds=stale_after_seconds,
            error=snapshot.error,
            answered_at=snapshot.answered_at,
            warnings=snapshot.warnings,
            partial=snapshot.partial,
            read_seconds_ago=since_read,
        )
        engines = snapshot.engines
    if isinstance(target, Problem):
        return Facts(target=target, replicas=(), telemetry=telemetry)
    expected = _expected_engines(target.container.words)
    stale = _stale_label(target)
    replicas = tuple(
        _replica(pod, stale, engines.get((pod.namespace, pod.name), ()), expected, since_read, now)
        for pod in pods
        if pod.ready_since is not None and not pod.deleting
    )
    return Facts(
        target=target.facts,
        replicas=replicas,
        telemetry=telemetry,
        plan=roll_plan(
            target,
            pods,
            around,
            learned_starts=learned_starts,
            longest_answer_seconds=_longest_answer(replicas),
            parents=parents,
        ),
        starts=pod_starts(pods, now),
    )


@lru_cache(maxsize=4096)
def _expected_engines(words: tuple[str, ...]) -> int:
    """Return how many engines a command line starts; the same one is met in every pass."""
    return data_parallel_size(words)


def _longest_answer(replicas: tuple[ReplicaFacts, ...]) -> float | None:
    known = [engine.longest_answer_seconds for each in replicas for engine in each.engines]
    return max([each for each in known if each is not None], default=None)


def _stale_label(target: ResolvedTarget) -> str | None:
    """Return the profile that the template's label names although its env item says another.

    Somebody took the item and left the label: Pods with that label were not started as it says.
    """
    labelled = target.deployment.template_profile
    return labelled if labelled != target.facts.active_profile else None


def _replica(
    pod: PodObject,
    stale_label: str | None,
    engines: tuple[EngineFacts, ...],
    expected_engines: int,
    since_read: float,
    now: float,
) -> ReplicaFacts:
    ready_since = pod.ready_since if pod.ready_since is not None else now
    return ReplicaFacts(
        name=pod.name,
        # The window of the last reading ended when it was read, so a Pod is as old as it was then.
        ready_seconds=max(0.0, now - since_read - ready_since),
        profile=None if pod.profile == stale_label else pod.profile,
        engines=engines,
        expected_engines=expected_engines,
    )
