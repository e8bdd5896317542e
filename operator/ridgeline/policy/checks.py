"""The checks that stand before every comparison with a cut-off, in order; the first hit decides.

Each is named by what it guards and passes when it has nothing to say. The order puts causes before
consequences: a target that is being rolled has replicas without samples, so the rollout speaks
first; an endpoint that is down leaves every replica silent, so the endpoint speaks first.
"""

from collections.abc import Callable
from typing import Final

from ridgeline.policy import sight
from ridgeline.policy.facts import Problem
from ridgeline.policy.lifecycle import last_finish, unfinished_switch
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import PASSED, Verdict, at_least, held, passed
from ridgeline.policy.wording import duration, number, number_beside
from ridgeline.terms.names import FORCE_ANNOTATION
from ridgeline.terms.reasons import Reason

Check = Callable[[Situation], Verdict]


def target(situation: Situation) -> Verdict:
    """Guard that the target was found and can be changed."""
    problem = situation.facts.target
    return held(problem.reason, problem.message) if isinstance(problem, Problem) else PASSED


def cutoff(situation: Situation) -> Verdict:
    """Guard that there is a cut-off table, and that the serving has every profile it names."""
    table = situation.settings.cutoff
    if isinstance(table, Problem):
        return held(table.reason, table.message)
    unknown = [row.profile for row in table.rows if row.profile not in situation.settings.methods]
    if unknown:
        known = ", ".join(sorted(situation.settings.methods)) or "none"
        return held(
            Reason.SPEC_INVALID,
            f"spec.cutoff names profile {unknown[0]!r}, which spec.profiles does not define "
            f"(defined: {known}): add it there, or correct spec.cutoff",
        )
    return PASSED


def rollout(situation: Situation) -> Verdict:
    """Guard that no rollout or scaling of the target is under way, whoever began it."""
    under_way = situation.target.rollout if situation.target is not None else None
    if under_way is None:
        return PASSED
    progress = (
        f"{under_way.updated} of {under_way.desired} Pods updated, {under_way.available} available"
    )
    if under_way.paused:
        return held(
            Reason.ROLLOUT_PAUSED,
            f"the target's rollout is paused ({progress}): resume it with kubectl rollout resume",
        )
    if under_way.deadline_exceeded:
        return held(
            Reason.ROLLOUT_STALLED,
            f"the target's rollout passed its progress deadline ({progress}): "
            "look at its new Pods with kubectl describe pod",
        )
    return held(Reason.ROLLOUT_UNDER_WAY, f"a rollout of the target has not ended yet: {progress}")


def own_roll(situation: Situation) -> Verdict:
    """Guard that our last switch was closed: its roll may be about to become visible."""
    switch = unfinished_switch(situation.memory)
    if switch is None:
        return PASSED
    since = max(0.0, situation.now - switch.started_at)
    return held(
        Reason.ROLLOUT_UNDER_WAY,
        f"the roll to {switch.to_profile} that was decided {duration(since)} ago "
        "is not confirmed as ended yet",
    )


def active_profile(situation: Situation) -> Verdict:
    """Guard that the active profile is known and stands in the table."""
    if situation.target is None or situation.table is None:
        return PASSED
    if situation.row is not None or situation.must_leave:
        return PASSED
    active = situation.target.active_profile
    listed = ", ".join(row.profile for row in situation.table.rows)
    if active is None:
        config = situation.target.active_config or "none (the value is empty)"
        return held(
            Reason.ACTIVE_PROFILE_UNKNOWN,
            f"the target runs a speculative config that no profile describes: {config}; "
            f"describe it in spec.profiles (the cut-off table has: {listed}), remove it, or order "
            f"a profile once with the annotation {FORCE_ANNOTATION}",
        )
    return held(
        Reason.ACTIVE_PROFILE_UNKNOWN,
        f"the target runs profile {active!r}, which has no row in the cut-off table "
        f"(it has: {listed}): {_way_to_a_row(situation)}",
    )


def _way_to_a_row(situation: Situation) -> str:
    table = situation.table
    if situation.settings.prediction is None or table is None:
        return "add one to spec.cutoff"
    return f"it was not compared with the others ({'; '.join(table.reasons)})"


def telemetry(situation: Situation) -> Verdict:
    """Guard that the endpoint is known, answers, and answered lately."""
    endpoint = situation.facts.telemetry
    if isinstance(endpoint, Problem):
        return held(endpoint.reason, endpoint.message)
    if endpoint.error is not None:
        return held(
            Reason.TELEMETRY_UNAVAILABLE,
            f"telemetry endpoint {endpoint.endpoint!r} could not be read: {endpoint.error}",
        )
    if endpoint.answered_at is None:
        return held(
            Reason.TELEMETRY_UNAVAILABLE,
            f"telemetry endpoint {endpoint.endpoint!r} has not answered yet",
        )
    age = max(0.0, situation.now - endpoint.answered_at)
    limit = endpoint.stale_after_seconds
    compared = sight.age_within("age of the endpoint's answer, seconds", age, limit)
    if age > limit:
        return held(
            Reason.STALE_DATA,
            f"telemetry endpoint {endpoint.endpoint!r} last answered {duration(age)} ago "
            f"(acted on up to {duration(limit)})",
            compared,
        )
    return passed(compared)


def ready_replicas(situation: Situation) -> Verdict:
    """Guard that somebody serves."""
    if situation.target is not None and situation.target.desired_replicas <= 0:
        return held(Reason.NO_READY_REPLICAS, "the target is scaled to 0 replicas")
    if situation.facts.replicas:
        return PASSED
    wanted = situation.target.desired_replicas if situation.target is not None else 0
    return held(
        Reason.NO_READY_REPLICAS,
        f"the target has no Ready Pod ({wanted} asked for): look at why its Pods fail",
    )


def settling(situation: Situation) -> Verdict:
    """Guard that no look-back spans a roll of ours, nor any Pod's time before it was Ready."""
    if situation.telemetry is None:
        return PASSED
    window = situation.telemetry.window_seconds
    ended = last_finish(situation.memory)
    compared = []
    if ended is not None:
        since = max(0.0, situation.now - ended)
        compared.append(
            at_least(
                "seconds since the last roll ended",
                since,
                window,
                met="the rate window no longer spans it",
                missed="the rate window spans it",
            )
        )
        if since < window:
            return held(
                Reason.REPLICAS_SETTLING,
                f"the last roll ended {number_beside(since, window)} s ago; "
                f"its effect leaves the rate window of {number(window)} s after that time",
                *compared,
            )
    if situation.fleet.expected == 0 and situation.fleet.pending:
        oldest = max(replica.ready_seconds for replica in situation.fleet.pending)
        return held(
            Reason.REPLICAS_SETTLING,
            f"all {len(situation.fleet.pending)} Ready Pods are younger than the rate window of "
            f"{number(window)} s (the oldest is Ready for {number_beside(oldest, window)} s)",
            *compared,
            at_least(
                "Ready seconds of the oldest Pod",
                oldest,
                window,
                met="it counts",
                missed="it is pending",
            ),
        )
    return passed(*compared)


CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("target", target),
    ("cutoff", cutoff),
    ("rollout", rollout),
    ("own_roll", own_roll),
    ("active_profile", active_profile),
    ("telemetry", telemetry),
    ("ready_replicas", ready_replicas),
    ("settling", settling),
    ("finite_data", sight.finite_data),
    ("data", sight.data),
    ("completeness", sight.completeness),
    ("profile_match", sight.profile_match),
)
"""All checks before the cut-offs, in order. `suspended` stands before them, in `decide`."""
